/* What the verbs share. Only the files of cli/ print and decide exit codes. */
#ifndef HWS_CLI_H
#define HWS_CLI_H

#include "core/failure.h"
#include "core/printf_like.h"
#include "core/text.h"

#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Prints "hws: message" to stderr and returns the exit code. */
int cli_error(int exit_code, const char *format, ...) PRINTF_LIKE(2, 3);

/* What a status means for the exit code: wrong usage and what cannot be read give 2; what could not be written, kept in
   memory or computed gives 1. */
int cli_exit_code(status_code status);

/* The exit code of work that ended so; prints its message unless that is STATUS_OK. */
int cli_end(status_code status, const failure *failure);

/* Prints a line and closes it. One that memory did not suffice for makes the program end with EXIT_FAILED. */
void cli_print(text *line);

/* Prints the first letters of a word, at most `width` of them, and spaces up to there; behind the
   spaces if width is below 0. */
void cli_put_word(const char *word, int width);

/* Prints that there is no such verb, and which may have been meant. */
int cli_no_verb(const char *name);

/* Prints all verbs. */
void cli_list_verbs(FILE *file);

/* Each verb gets the arguments behind it and returns an exit code. */
int verb_bench(int count, char **arguments);
int bench_train(int count, char **arguments);
int verb_compare(int count, char **arguments);
int verb_evaluate(int count, char **arguments);
int verb_export(int count, char **arguments);
int verb_import(int count, char **arguments);
int verb_fetch(int count, char **arguments);
int verb_phantom(int count, char **arguments);
int verb_plan(int count, char **arguments);
int verb_report(int count, char **arguments);
int verb_train(int count, char **arguments);
int verb_inspect(int count, char **arguments);
int verb_triage(int count, char **arguments);
int verb_help(int count, char **arguments);
int verb_info(int count, char **arguments);
int verb_watch(int count, char **arguments);
int verb_predict(int count, char **arguments);
int verb_evaluate_run(int count, char **arguments);

/* The table of an evaluation. */
struct evaluation;
int print_stratified(const struct evaluation *evaluation);

#endif
