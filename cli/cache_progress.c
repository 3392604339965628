#include "cache_progress.h"

#include <stdio.h>

static void show_step(void *context, cache_stage stage, size_t done, size_t total) {
    static const char *const WHAT[] = {"checking the dataset", "preprocessing"};
    cache_progress *p = context;
    if (!p->started || p->stage != stage) {
        cache_progress_end(p);
        cli_progress_start(&p->progress, WHAT[stage], p->quiet);
        p->started = 1;
        p->stage = stage;
    }
    cli_progress_step(&p->progress, done, total);
}

static void show_finding(void *context, const dataset_finding *finding) {
    cache_progress_end(context);
    fprintf(stderr, "%s: %s\n", finding->fatal ? "problem" : "note", finding->sentence);
}

cache_listener cache_progress_listener(cache_progress *progress) {
    return (cache_listener){.step = show_step, .finding = show_finding, .context = progress};
}

void cache_progress_end(cache_progress *p) {
    if (p->started) cli_progress_end(&p->progress);
    p->started = 0;
}
