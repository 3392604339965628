/* hws compare: two evaluations side by side. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "options.h"

#include "evaluate/comparison.h"
#include "evaluate/summary.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws compare A/summary.json B/summary.json [options]\n"
    "\n"
    "Shows two evaluations of the same cases (by hws evaluate or nnU-Net v2) side by side, for all cases and each\n"
    "group, with the differences B - A and the p-value of Wilcoxon's paired signed-rank test (two-sided). The\n"
    "better value of two is bold; on a terminal a star follows it.\n"
    "\n"
    "  --groups CSV     groups: the first column is called case, each further one holds a stratum per case\n"
    "  --by LIST        use these columns of the groups only\n"
    "  --metric M       Dice | IoU | HD95 | ASSD                             (Dice)\n"
    "  --format F       text | csv | md | latex                              (text)\n"
    "  --layout L       tall: a row per method and label, the tail in columns\n"
    "                   wide: a row per method, the labels in columns        (tall)\n"
    "  --names A,B      what the methods are called                          (the folders' names)\n"
    "  --common         compare what both have; without it a missing case or label is an error\n";

typedef struct settings {
    const char *groups, *by, *metric, *format, *layout, *names;
    int common;
    const char *paths[2];
    table_format table;
    comparison_layout shape;
    metric measure;
    char called[2][64];
} settings;

/* "runs/dro/summary.json" is called dro; a file of another name is called by that. */
static void name_after(const char *path, char *name, size_t room) {
    const char *end = path + strlen(path), *slash = strrchr(path, '/');
    if (slash && strcmp(slash, "/summary.json") == 0) {
        for (end = slash; end > path && end[-1] == '/';) end--;
    } else {
        const char *dot = strrchr(path, '.');
        if (dot && dot > (slash ? slash + 1 : path)) end = dot;
    }
    const char *start = end;
    while (start > path && start[-1] != '/') start--;
    snprintf(name, room, "%.*s", (int)(end - start), start);
}

static int choose_names(settings *settings) {
    for (int k = 0; k < 2; k++) name_after(settings->paths[k], settings->called[k], sizeof settings->called[k]);
    if (strcmp(settings->called[0], settings->called[1]) == 0 || !*settings->called[0] || !*settings->called[1]) {
        strcpy(settings->called[0], "A");
        strcpy(settings->called[1], "B");
    }
    if (!settings->names) return EXIT_DONE;
    const size_t first = strcspn(settings->names, ","), length = strlen(settings->names);
    if (first == 0 || first > 63 || length < first + 2 || length - first > 64 ||
        strchr(settings->names + first + 1, ','))
        return cli_error(EXIT_USAGE, "--names %.200s is not two names such as ERM,DRO", settings->names);
    snprintf(settings->called[0], 64, "%.*s", (int)first, settings->names);
    snprintf(settings->called[1], 64, "%s", settings->names + first + 1);
    return EXIT_DONE;
}

static int check(settings *settings) {
    settings->measure = settings->metric ? metric_by_name(settings->metric) : METRIC_DICE;
    if (settings->measure == METRICS)
        return cli_error(EXIT_USAGE, "--metric %s is not one; Dice, IoU, HD95 and ASSD are", settings->metric);
    if (settings->format && !table_format_parse(settings->format, &settings->table))
        return cli_error(EXIT_USAGE, "--format %s is not one; text, csv, md and latex are", settings->format);
    if (settings->layout && strcmp(settings->layout, "wide") == 0) settings->shape = COMPARISON_WIDE;
    else if (settings->layout && strcmp(settings->layout, "tall") != 0)
        return cli_error(EXIT_USAGE, "--layout %s is not one; tall and wide are", settings->layout);
    if (settings->by && !settings->groups) return cli_error(EXIT_USAGE, "--by needs --groups");
    return choose_names(settings);
}

typedef struct job {
    scores scores[2];
    groups groups;
    strata strata;
    comparison comparison;
} job;

static status_code prepare(const settings *settings, job *job, failure *failure) {
    text lacking = {0};
    status_code status = summary_read(settings->paths[0], &job->scores[0], failure);
    if (status == STATUS_OK) status = summary_read(settings->paths[1], &job->scores[1], failure);
    if (status == STATUS_OK) status = scores_align(&job->scores[0], &job->scores[1], settings->common, failure);
    if (status == STATUS_OK && settings->groups) status = groups_read(&job->groups, settings->groups, failure);
    if (status == STATUS_OK)
        status = strata_open(&job->strata, settings->groups ? &job->groups : NULL, settings->by, &job->scores[0],
                             &lacking, failure);
    if (status == STATUS_OK && lacking.size > 0)
        cli_error(EXIT_DONE, "these cases are in no row of the groups and count in 'all' only: %.600s",
                  text_string(&lacking));
    text_close(&lacking);
    if (status == STATUS_OK)
        status = comparison_open(&job->comparison, &job->scores[0], &job->scores[1], settings->called[0],
                                 settings->called[1], &job->strata, settings->measure, failure);
    return status;
}

static int compare(const settings *settings) {
    job job = {0};
    failure failure;
    text out = {0};
    status_code status = prepare(settings, &job, &failure);
    int code = EXIT_DONE;
    if (status != STATUS_OK) {
        code = cli_error(EXIT_USAGE, "%s", failure.message);
    } else {
        status = comparison_write(&job.comparison, settings->shape, settings->table, &out, &failure);
        if (status == STATUS_OK) fputs(text_string(&out), stdout);
        else code = cli_error(EXIT_FAILED, "%s", failure.message);
    }
    text_close(&out);
    comparison_close(&job.comparison);
    strata_close(&job.strata);
    groups_close(&job.groups);
    scores_close(&job.scores[0]);
    scores_close(&job.scores[1]);
    return code;
}

int verb_compare(int count, char **arguments) {
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    settings settings = {0};
    const cli_option options[] = {
        {"--groups", OPTION_TEXT, &settings.groups, 0, 0, NULL},
        {"--by", OPTION_TEXT, &settings.by, 0, 0, NULL},
        {"--metric", OPTION_TEXT, &settings.metric, 0, 0, NULL},
        {"--format", OPTION_TEXT, &settings.format, 0, 0, NULL},
        {"--layout", OPTION_TEXT, &settings.layout, 0, 0, NULL},
        {"--names", OPTION_TEXT, &settings.names, 0, 0, NULL},
        {"--common", OPTION_FLAG, &settings.common, 0, 0, NULL},
    };
    int paths = 0;
    int code =
        cli_parse("compare", count, arguments, options, sizeof options / sizeof *options, settings.paths, 2, &paths);
    if (code == EXIT_DONE && paths != 2)
        code = cli_error(EXIT_USAGE, "compare needs two summary.json files; see hws compare --help");
    if (code == EXIT_DONE) code = check(&settings);
    return code == EXIT_DONE ? compare(&settings) : code;
}
