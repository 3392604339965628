#include "cache_progress.h"

#include <stdio.h>

static void show_step(void *context, cache_stage stage, size_t done, size_t total) {
    static const char *const WHAT[] = {"checking the dataset", "preprocessing"};
    cli_progress_show(context, WHAT[stage], done, total);
}

static void show_finding(void *context, const dataset_finding *finding) {
    cli_progress_end(context);
    fprintf(stderr, "%s: %s\n", finding->fatal ? "problem" : "note", finding->sentence);
}

cache_listener cache_progress_listener(cli_progress *progress, int quiet) {
    (void)cli_listen(progress, quiet);
    return (cache_listener){.step = show_step, .finding = show_finding, .context = progress};
}
