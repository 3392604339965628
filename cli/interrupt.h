/* Ctrl-C, SIGTERM, SIGHUP and SIGUSR1: asked about now and then, so that long work can stop in good order. A second one ends at once. */
#ifndef HWS_CLI_INTERRUPT_H
#define HWS_CLI_INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t cli_interrupted;

void cli_catch_interrupts(void);

#endif
