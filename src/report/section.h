/* The parts of a page. Each writes its heading and what the runs have to show for it, or why there is nothing. */
#ifndef HWS_REPORT_SECTION_H
#define HWS_REPORT_SECTION_H

#include "core/text.h"
#include "report/run_results.h"

#include <stddef.h>

typedef struct runs {
    run *all;
    size_t count;
    const char **names; /* of all, in order, for legends */
    int *styles;
} runs;

struct report_request;
/* Reads the folders of a request and names the runs. Close them in any case. */
status_code runs_open(runs *runs, const struct report_request *request, failure *failure);
void runs_close(runs *runs);

/* "2 runs of wrn-16-1 on mnist" */
void runs_title(text *page, const runs *runs);

/* How many of them validate on the cases that they are trained on, as segmentations with --fold -1 do. */
size_t runs_without_held_out(const runs *runs);

struct methods;
/* `runs` are those that were trained, maybe none; of what was evaluated in full, if anything was, it tells first. */
void summary_section(text *page, const runs *runs, const struct methods *methods);
void curves_section(text *page, const runs *runs);
void classes_section(text *page, const runs *runs);
void groups_section(text *page, const runs *runs);
void cases_section(text *page, const runs *runs);
void distribution_section(text *page, const runs *runs);
void worst_section(text *page, const runs *runs);
void gallery_section(text *page, const runs *runs);
void triage_section(text *page, const runs *runs);
void settings_section(text *page, const runs *runs);

/* <section> with its heading and a sentence or two; a legend if there are several runs and it is wanted. */
void section_open(text *page, const runs *runs, const char *title, const char *words, int legend);
void section_close(text *page);

/* What comes before a run's own part of a section: its name, if there are several runs, and section_note. */
void section_run(text *page, const runs *runs, const run *run, const run_table *table);

/* A remark that a run's table is missing or incomplete, if it is. */
void section_note(text *page, const runs *runs, const run *run, const run_table *table);

#endif
