/* hws inspect: the hardest examples of a run. */
#include "cli.h"
#include "columns.h"
#include "options.h"
#include "report/run_examples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char USAGE[] =
    "usage: hws inspect RUN [--hardest K] [--csv]\n"
    "\n"
    "Lists the training examples with the largest stale losses, as the run's last recorded epoch left them: hard, or\n"
    "mislabelled? Pictures of the hardest are in RUN/hardest, and hws report shows them. Where the data have groups,\n"
    "it also prints the losses of each group, its share of the hardest examples, and how often its examples are\n"
    "drawn.\n"
    "\n";

static void print_summary(const run *run, const size_t *rows, size_t count) {
    const loss_summary losses = run_loss_summary(run, rows, count);
    printf("%zu examples, %zu never trained on; stale losses: mean %.4g, median %.4g, 95 %% %.4g, largest %.4g\n",
           losses.examples, losses.never_drawn, losses.mean, losses.median, losses.high, losses.largest);
    const double ess = run_last(&run->history, "ess");
    if (isfinite(ess)) printf("effective sample size %.1f, largest p %.3g\n", ess, run_last(&run->history, "p_max"));
}

/* How groups fare: their losses, how many of them are among the hardest twentieth, and how often they are drawn. */
static void print_groups(const run *run, const size_t *rows, size_t count) {
    size_t found;
    group_losses *groups = run_losses_by_group(run, rows, count, &found);
    if (found) printf("\n%-24s %9s %10s %16s %16s\n", "group", "examples", "mean loss", "hardest 5 %", "draws of each");
    for (size_t k = 0; k < found; k++) {
        const group_losses *g = &groups[k];
        if (!g->examples) continue;
        cli_put_word(g->name, 24);
        printf(" %9zu %10.4g %9zu (%3.0f %%) %16.2f\n", g->examples, g->mean_loss, g->hardest,
               100 * (double)g->hardest / (double)g->examples, g->mean_draws);
    }
    free(groups);
}

enum { COLUMNS = 8 };
static const char *const TITLES[COLUMNS] = {"rank", "example", "label", "prediction", "loss", "draws", "age", "group"};

/* Without groups the last one is not shown. */
static int column_count(const run *run) { return csv_column(&run->losses.data, "group") >= 0 ? COLUMNS : COLUMNS - 1; }

/* An example's line; `widths` are those of the columns, or NULL for CSV. Where it `measures`, it only widens
   them. */
static void print_example(const run *run, size_t row, size_t rank, int *widths, int measures) {
    char number[32], loss[32];
    const char *example = run_cell(&run->losses, row, "example");
    snprintf(number, sizeof number, "%zu", rank);
    snprintf(loss, sizeof loss, widths ? "%.4g" : "%.9g", run_stale_loss(run, row));
    const char *const cells[COLUMNS] = {number,
                                        example,
                                        run_class_at(run, run_cell(&run->losses, row, "label")),
                                        run_class_name(run, run_prediction(run, example)),
                                        loss,
                                        run_cell(&run->losses, row, "draws"),
                                        run_cell(&run->losses, row, "age"),
                                        run_cell(&run->losses, row, "group")};
    if (measures) cli_widen(widths, cells, column_count(run));
    else cli_print_row(widths, cells, column_count(run));
}

static void print_table(const run *run, const size_t *rows, size_t count, int csv) {
    int widths[COLUMNS] = {5, 12, 8, 10, 10, 8, 8, 8};
    for (size_t k = 0; k < count && !csv; k++) print_example(run, rows[k], k + 1, widths, 1);
    cli_print_row(csv ? NULL : widths, TITLES, column_count(run));
    for (size_t k = 0; k < count; k++) print_example(run, rows[k], k + 1, csv ? NULL : widths, 0);
}

static const char *why_none(const run *run) {
    if (*run->losses.problem) return run->losses.problem;
    for (size_t row = 0; row < run->losses.data.rows; row++)
        if (*run_cell(&run->losses, row, "stale_loss")) return "no example has a finite loss: training went wrong";
    return "no example has a loss yet";
}

static int inspect(const run *run, long long hardest, int csv) {
    size_t count;
    size_t *rows = run_hardest(run, &count);
    if (!rows) return cli_error(cli_exit_code(STATUS_OUT_OF_MEMORY), "out of memory");
    if (!count) {
        free(rows);
        return cli_error(cli_exit_code(STATUS_CANNOT_READ), "%s: %s", run->folder, why_none(run));
    }
    if (!csv) print_summary(run, rows, count), print_groups(run, rows, count), puts("");
    print_table(run, rows, count < (size_t)hardest ? count : (size_t)hardest, csv);
    free(rows);
    return EXIT_DONE;
}

int verb_inspect(int count, char **arguments) {
    long long hardest = 20;
    int csv = 0;
    const char *folder = NULL;
    const cli_option options[] = {CLI_WHOLE("--hardest", "K", &hardest, 1, 1e12, "how many", NULL),
                                  CLI_FLAG("--csv", &csv, "print CSV")};
    const cli_verb verb = {"inspect", USAGE, options, 2, NULL, &folder, 1};
    int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (!folder) return cli_error(EXIT_USAGE, "inspect which run? See hws inspect --help");
    run run;
    failure failure = {0};
    const status_code status = run_open(&run, folder, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    code = inspect(&run, hardest, csv);
    run_close(&run);
    return code;
}
