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
}
