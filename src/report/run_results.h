/* What came out of a run, as the report shows it (docs/formats.md, "A run's folder"). */
#ifndef HWS_REPORT_RUN_RESULTS_H
#define HWS_REPORT_RUN_RESULTS_H

#include "core/csv.h"
#include "core/failure.h"

#include <stddef.h>

/* A table that may be missing or damaged: then it is empty and `problem` says in words why. */
typedef struct run_table {
    csv data;
    char problem[512];
} run_table;

typedef struct run_setting {
    char *key, *value; /* entries of objects have the key "object.entry"; lists are joined with commas */
} run_setting;

typedef struct run {
    char *folder;
    char *name; /* for people, different for each run of a page: "DRO β=10" */
    int style;  /* colour, dash and marker, see style.h */
    int is_segmentation;
    int is_evaluation; /* of label maps that no run of ours made: it has scores and nothing else */
    run_setting *settings;
    size_t setting_count;
    char **classes;
    size_t class_count;
    run_table history, distribution, losses, hardest, triage, cases, groups, worst;
    run_table rates, strata, confusion, reliability, roc; /* of a classifier that was evaluated; `rates`: classes.csv */
} run;

/* Only a config.json that is missing or damaged is a failure; the run is then closed. */
status_code run_open(run *run, const char *folder, failure *failure);
void run_close(run *run);

/* The same for an evaluation without a run (evaluate/evaluated.h). Its cases, if there is no cases.csv, come from the
   summary and the dataset's groups. */
status_code run_open_evaluation(run *run, const char *name, failure *failure);

/* Other groups than those that the folder has. */
status_code run_use_groups(run *run, const char *path, failure *failure);

/* The setting as text or as a number; NULL or NaN when it is not there. */
const char *run_setting_text(const run *run, const char *key);
double run_setting_number(const run *run, const char *key);

/* Whether it minimises this: "erm", "dro" and so on. */
int run_has_objective(const run *run, const char *name);

/* Whether examples are drawn by their losses: of dro, which those minimise that do not say what. */
int run_draws_by_loss(const run *run);

/* Whether no case was kept apart from training: with --fold -1 a segmentation validates on its training cases. */
int run_trains_on_all(const run *run);

/* What "--keep CLASS=FRACTION" left of a class, 1 if it was not thinned out. */
double run_kept(const run *run, const char *class_key);

/* Whether a class is called so. */
int run_has_class(const run *run, const char *name);

/* The name for people of the class with this key: a number that is no name of a class counts
   into config.json's list. */
const char *run_class_name(const run *run, const char *class_key);
/* The same where a number always counts, as in losses.csv. */
const char *run_class_at(const run *run, const char *class_key);

/* A cell of a table by the column's name; empty when the column is missing. */
const char *run_cell(const run_table *table, size_t row, const char *column);

/* A number of a table by the column's name; NaN when the column is missing or the number is absurd. */
double run_number(const run_table *table, size_t row, const char *column);

/* The last number in a column; NaN if there is none. */
double run_last(const run_table *table, const char *column);

/*
 * The rows of losses.csv that have a loss, the largest first, equal ones in their order: `count` of them, which the
 * caller frees. NULL when memory ran out.
 */
size_t *run_hardest(const run *run, size_t *count);

/* The different values of a column in natural order, without the empty one: `count` of them, which belong to the table;
   the caller frees the list. NULL without such a column, or without memory. */
const char **run_values(const run_table *table, const char *column, size_t *count);

/* Gives names and styles to the runs of a page; `names`, which may be NULL, are as many, separated by commas. */
status_code run_name_all(run *runs, size_t count, const char *names, failure *failure);

#endif
