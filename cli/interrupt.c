#define _XOPEN_SOURCE 700
#include "interrupt.h"
#include "cli.h"

#include "core/clock.h"
#include "core/mapped_file.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

volatile sig_atomic_t cli_interrupted, cli_unheard;

static const int STOPPING[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};

/* The clock when the first signal came; 0: none did. A closed pipe is none. */
static double interrupted;

/* A second one ends the program at once. One that follows the first within a second is the same one again: timeout and
   terminals send it to a process and to its group. */
static void interrupt(int number) {
    if (interrupted == 0) {
        interrupted = clock_seconds();
        cli_interrupted = 1;
        return;
    }
    if (clock_seconds() < interrupted + 1) return;
    signal(number, SIG_DFL);
    raise(number);
}

static void stop_on(int number) {
    struct sigaction action = {.sa_handler = interrupt};
    sigemptyset(&action.sa_mask);
    for (size_t k = 0; k < sizeof STOPPING / sizeof *STOPPING; k++) sigaddset(&action.sa_mask, STOPPING[k]);
    sigaction(number, &action, NULL);
}

/* What is written next goes nowhere either: that must not end the program before it has stopped in good order. */
static void lose_listener(int number) {
    cli_interrupted = cli_unheard = 1;
    signal(number, SIG_IGN);
}

void cli_catch_interrupts(void) {
    /* Ignored, as in the background: it stays so. */
    if (signal(SIGINT, SIG_IGN) != SIG_IGN) stop_on(SIGINT);
    stop_on(SIGTERM);
    /* What schedulers send some time before they end a job, and terminals when they are closed. */
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) stop_on(SIGHUP);
    stop_on(SIGUSR1);
    if (signal(SIGPIPE, SIG_IGN) != SIG_IGN) signal(SIGPIPE, lose_listener);
}

static void say(const char *words) {
    if (write(STDERR_FILENO, words, strlen(words)) < 0) return;
}

/* What is whole on the disk stays so; only what can be called in a signal's handler is called. */
static void lose_file(int number, siginfo_t *info, void *context) {
    (void)context;
    const char *path = mapped_file_at(info->si_addr);
    if (!path) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    say("hws: ");
    say(path);
    say(": was cut short, or its disk failed, while it was read; put it back (hws plan makes files of a cache anew) "
        "and repeat the command: a run goes on with --resume\n");
    _exit(EXIT_FAILED);
}

void cli_catch_lost_files(void) {
    struct sigaction action = {.sa_sigaction = lose_file, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
