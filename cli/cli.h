/* What the verbs share. Only the files of cli/ print and decide exit codes. */
#ifndef HWS_CLI_H
#define HWS_CLI_H

#include "hws.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Prints "hws: message" to stderr and returns the exit code. */
int cli_error(int exit_code, const char *format, ...)
#if defined(__GNUC__) || defined(__clang__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* What a failure means for the exit code: what could not be written, held or computed is 1, what was asked for wrongly 2. */
int cli_exit_code(hws_status status);
/* The same for a failure to read what the user named: 2, but for a lack of memory. */
int cli_input_code(hws_status status);

/* Each verb gets the arguments behind it and returns an exit code. */
int verb_bench(int count, char **arguments);
int bench_train(int count, char **arguments);
int verb_compare(int count, char **arguments);
int verb_evaluate(int count, char **arguments);
int verb_fetch(int count, char **arguments);
int verb_phantom(int count, char **arguments);
int verb_plan(int count, char **arguments);
int verb_report(int count, char **arguments);
int verb_train(int count, char **arguments);
int verb_inspect(int count, char **arguments);
int verb_predict(int count, char **arguments);
int evaluate_run(int count, char **arguments);

#endif
