/* hws inspect: the hardest examples of a run. */
#include "cli.h"
#include "options.h"
#include "report/run_results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws inspect RUN [--hardest K] [--csv]\n"
    "\n"
    "Lists the training examples with the largest stale losses, as the run's last recorded epoch left them: hard, or\n"
    "mislabelled? Pictures of the hardest are in RUN/hardest, and hws report shows them.\n"
    "\n";

typedef struct entry {
    double loss;
    size_t row;
} entry;

static int harder_first(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* What the network said at the end; known of the hardest ones only. */
static const char *prediction_of(const run *run, const char *example) {
    for (size_t row = 0; row < run->hardest.data.rows; row++)
        if (strcmp(run_cell(&run->hardest, row, "example"), example) == 0)
            return run_cell(&run->hardest, row, "prediction");
    return "";
}

static void print_summary(const run *run, const entry *entries, size_t count) {
    size_t never = 0;
    double sum = 0;
    for (size_t k = 0; k < count; k++) {
        never += run_number(&run->losses, k, "draws") == 0;
        sum += entries[k].loss;
    }
    printf("%zu examples, %zu never trained on; stale losses: mean %.4g, median %.4g, 95 %% %.4g, largest %.4g\n",
           count, never, sum / (double)count, entries[count / 2].loss, entries[count / 20].loss, entries[0].loss);
    const double ess = run_last(&run->history, "ess");
    if (isfinite(ess)) printf("effective sample size %.1f, largest p %.3g\n", ess, run_last(&run->history, "p_max"));
}

enum { COLUMNS = 7 };

static void print_csv(const char *const cells[COLUMNS]) {
    text line = {0};
    for (int k = 0; k < COLUMNS; k++) {
        if (k) text_add(&line, ",");
        csv_add_field(&line, cells[k]);
    }
    puts(text_string(&line));
    text_close(&line);
}

static void print_entries(const run *run, const entry *entries, size_t count, int csv) {
    const char *const titles[COLUMNS] = {"rank", "example", "label", "prediction", "loss", "draws", "age"};
    if (!csv) printf("\n");
    for (size_t k = 0; k <= count; k++) { /* the titles first */
        char rank[32] = "", loss[32] = "";
        const size_t row = k ? entries[k - 1].row : 0;
        const char *example = run_cell(&run->losses, row, "example");
        const char *const cells[COLUMNS] = {rank,
                                            example,
                                            run_class_name(run, run_cell(&run->losses, row, "label")),
                                            run_class_name(run, prediction_of(run, example)),
                                            loss,
                                            run_cell(&run->losses, row, "draws"),
                                            run_cell(&run->losses, row, "age")};
        const char *const *c = k ? cells : titles;
        if (k) snprintf(rank, sizeof rank, "%zu", k);
        if (k) snprintf(loss, sizeof loss, csv ? "%.9g" : "%.4g", entries[k - 1].loss);
        if (csv) print_csv(c);
        else printf("%5s %12s %8s %10s %10s %8s %8s\n", c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
    }
}

static int inspect(const run *run, long long hardest, int csv) {
    const size_t count = run->losses.data.rows;
    if (!count) return cli_error(EXIT_FAILED, "%s: %s", run->folder, run->losses.problem);
    entry *entries = malloc(count * sizeof *entries);
    if (!entries) return cli_error(EXIT_FAILED, "out of memory");
    for (size_t k = 0; k < count; k++) {
        const double loss = run_number(&run->losses, k, "stale_loss");
        entries[k] = (entry){isfinite(loss) ? loss : -HUGE_VAL, k};
    }
    qsort(entries, count, sizeof *entries, harder_first);
    if (!csv) print_summary(run, entries, count);
    print_entries(run, entries, (size_t)hardest < count ? (size_t)hardest : count, csv);
    free(entries);
    return EXIT_DONE;
}

int verb_inspect(int count, char **arguments) {
    long long hardest = 20;
    int csv = 0;
    const char *folder = NULL;
    const cli_option options[] = {CLI_WHOLE("--hardest", "K", &hardest, 1, 1e12, "how many", NULL),
                                  CLI_FLAG("--csv", &csv, "as CSV")};
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
