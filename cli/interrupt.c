#define _XOPEN_SOURCE 700
#include "interrupt.h"
#include "cli.h"

#include "core/mapped_file.h"

#include <string.h>
#include <unistd.h>

volatile sig_atomic_t cli_interrupted;

static void interrupt(int number) {
    cli_interrupted = 1;
    signal(number, SIG_DFL);
}

/* What is written next goes nowhere either: that must not end the program before it has stopped in good order. */
static void lose_listener(int number) {
    cli_interrupted = 1;
    signal(number, SIG_IGN);
}

void cli_catch_interrupts(void) {
    /* Ignored, as in the background: it stays so. */
    if (signal(SIGINT, SIG_IGN) != SIG_IGN) signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    /* What schedulers send some time before they end a job, and terminals when they are closed. */
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) signal(SIGHUP, interrupt);
    signal(SIGUSR1, interrupt);
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
        "and "
        "repeat the command: a run goes on with --resume\n");
    _exit(EXIT_FAILED);
}

void cli_catch_lost_files(void) {
    struct sigaction action = {.sa_sigaction = lose_file, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
