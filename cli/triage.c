/* hws triage: hard or mislabelled? */
#include "cli.h"
#include "columns.h"
#include "options.h"
#include "report/run_examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char USAGE[] =
    "usage: hws triage RUN [--count K] [--csv]\n"
    "\n"
    "Lists the training examples of a run by how much speaks against their labels: first those whose losses stayed\n"
    "furthest above those of the same label (for volumes: of all cases) although they were drawn. Wrong labels behave\n"
    "like this; the losses of rare examples fall once their kind is learnt. The doubt falls along the list as a\n"
    "whole, not from each line to the next. RUN/triage.csv has all examples, RUN/triage has pictures of the first\n"
    "ones, and hws report shows them.\n"
    "\n"
    "  doubt       0 to 1: how much speaks for a wrong label; a reason to look, not a verdict\n"
    "  loss        mean over its draws (about the last 16)\n"
    "  peers       the usual loss of examples with the same label\n"
    "  trend       its last loss minus the mean: far below 0, it is being learnt\n"
    "  prediction  what the network said at the end; margin is the label's score minus that of the best other class. "
    "Both\n"
    "              are given for the first examples only\n"
    "\n";

enum { COLUMNS = 11 };
static const char *const FIELDS[COLUMNS] = {"rank",      "example", "doubt", "label", "prediction", "margin",
                                            "loss_mean", "peers",   "trend", "draws", "group"};
static const char *const TITLES[COLUMNS] = {"rank", "example", "doubt", "label", "prediction", "margin",
                                            "loss", "peers",   "trend", "draws", "group"};

static int is_number(int column) { return column == 2 || (column >= 5 && column <= 8); }

/* Without groups the last one is not shown. */
static int column_count(const run *run) { return csv_column(&run->triage.data, "group") >= 0 ? COLUMNS : COLUMNS - 1; }

/* What is not in doubt must not be rounded so that it looks it. */
static void format_doubt(double doubt, char number[32]) {
    snprintf(number, 32, "%.2f", doubt < RUN_IN_DOUBT ? fmin(doubt, RUN_IN_DOUBT - 0.01) : doubt);
}

static const char *write_number(int column, double value, char number[32]) {
    if (column == 2) format_doubt(value, number);
    else snprintf(number, 32, "%.3f", value);
    return number;
}

/* An example's line; `widths` are those of the columns, or NULL for CSV. Where it `measures`, it only widens them. */
static void print_example(const run *run, size_t row, int *widths, int measures) {
    char numbers[COLUMNS][32];
    const char *cells[COLUMNS];
    for (int k = 0; k < COLUMNS; k++) {
        const double value = run_number(&run->triage, row, FIELDS[k]);
        cells[k] = run_cell(&run->triage, row, FIELDS[k]);
        if (k == 3 || k == 4) cells[k] = run_class_name(run, cells[k]);
        if (is_number(k) && isfinite(value) && widths) cells[k] = write_number(k, value, numbers[k]);
    }
    if (measures) cli_widen(widths, cells, column_count(run));
    else cli_print_row(widths, cells, column_count(run));
}

static void print_table(const run *run, size_t count, int csv) {
    int widths[COLUMNS] = {5, 12, 6, 8, 10, 8, 8, 8, 8, 6, 8};
    for (size_t row = 0; row < count && !csv; row++) print_example(run, row, widths, 1);
    cli_print_row(csv ? NULL : widths, TITLES, column_count(run));
    for (size_t row = 0; row < count; row++) print_example(run, row, csv ? NULL : widths, 0);
}

static void print_groups(const run *run) {
    size_t count;
    group_doubts *groups = run_doubts_by_group(run, &count);
    if (count) printf("%-24s %9s %9s\n", "group", "examples", "in doubt");
    for (size_t g = 0; g < count; g++) {
        cli_put_word(groups[g].name, 24);
        printf(" %9zu %9zu\n", groups[g].examples, groups[g].doubts);
    }
    if (count) puts("");
    free(groups);
}

static void print_summary(const run *run) {
    const group_doubts all = run_doubts(run);
    printf("%zu of %zu labels %s in doubt (%g or more)\n\n", all.doubts, all.examples, all.doubts == 1 ? "is" : "are",
           RUN_IN_DOUBT);
}

static int triage(const run *run, long long count, int csv) {
    const run_table *table = &run->triage;
    if (!table->data.rows)
        return cli_error(cli_exit_code(STATUS_CANNOT_READ),
                         "%s: %s; a run writes it when it ends or is stopped, since there is hws triage", run->folder,
                         *table->problem ? table->problem : "triage.csv is empty");
    if (!csv) print_summary(run), print_groups(run);
    print_table(run, table->data.rows < (size_t)count ? table->data.rows : (size_t)count, csv);
    return EXIT_DONE;
}

int verb_triage(int count, char **arguments) {
    long long shown = 20;
    int csv = 0;
    const char *folder = NULL;
    const cli_option options[] = {CLI_WHOLE("--count", "K", &shown, 1, 1e12, "how many", NULL),
                                  CLI_FLAG("--csv", &csv, "print CSV")};
    const cli_verb verb = {"triage", USAGE, options, 2, NULL, &folder, 1};
    int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (!folder) return cli_error(EXIT_USAGE, "triage which run? See hws triage --help");
    run run;
    failure failure = {0};
    const status_code status = run_open(&run, folder, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    code = triage(&run, shown, csv);
    run_close(&run);
    return code;
}
