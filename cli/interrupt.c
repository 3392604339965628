#define _POSIX_C_SOURCE 200809L
#include "interrupt.h"

volatile sig_atomic_t cli_interrupted;

static void interrupt(int number) {
    cli_interrupted = 1;
    signal(number, SIG_DFL);
}

void cli_catch_interrupts(void) {
    /* Ignored, as in the background: it stays so. */
    if (signal(SIGINT, SIG_IGN) != SIG_IGN) signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
    /* What schedulers send some time before they end a job, and terminals when they are closed. */
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN) signal(SIGHUP, interrupt);
    signal(SIGUSR1, interrupt);
}
