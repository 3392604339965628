/*
 * Signals. Ctrl-C, SIGTERM, SIGHUP, SIGUSR1, and a pipe to which nobody listens any more: asked about now and
 * then, so that long work can stop in good order. A second one ends at once. And SIGBUS, which a file raises that
 * is cut short while it is read.
 */
#ifndef HWS_CLI_INTERRUPT_H
#define HWS_CLI_INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t cli_interrupted;

/* Whether nobody listens any more: what is printed from then on is lost, which is no failure. */
extern volatile sig_atomic_t cli_unheard;

void cli_catch_interrupts(void);

/* From now on a mapped file that is cut short ends the program with a message and EXIT_FAILED. */
void cli_catch_lost_files(void);

#endif
