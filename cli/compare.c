/* hws compare: evaluations side by side. */
#include "cli.h"
#include "options.h"
#include "progress.h"

#include "evaluate/compare.h"
#include "evaluate/compare_classes.h"
#include "evaluate/evaluation_kind.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws compare EVALUATION EVALUATION... [options]\n"
    "\n"
    "Shows evaluations of the same cases side by side, for all cases and each group. An EVALUATION is a summary.json\n"
    "by hws evaluate or nnU-Net v2, or a folder that has one: --out of hws evaluate, a run, nnU-Net's validation\n"
    "folder. Each is compared with the first: the mean difference with its 95 % bootstrap interval, Wilcoxon's paired\n"
    "signed-rank test (two-sided), and its p corrected by Holm for all tests of the table. Where a column `patient`\n"
    "of the groups says that patients have several cases each, intervals and tests are over patients, not cases. The\n"
    "best value is bold, on a terminal followed by a star, unless another looks the same.\n"
    "\n"
    "For a label that neither the reference nor any prediction has, a case is left out. Where the reference does not\n"
    "have it but some method predicts it, the methods that do not predict it count as right (Dice 100 %, distance 0).\n"
    "\n"
    "For images and tables, an EVALUATION is a run that was evaluated, or --out of hws evaluate (examples.csv). The\n"
    "table has accuracy, balanced accuracy, AUROC and calibration error of all examples, of each group and of the\n"
    "worst one, the differences with 95 % bootstrap intervals, paired by example, and McNemar's exact test. Where\n"
    "patients have several examples each, intervals and tests are over patients. Of the options, --by, --format,\n"
    "--json, --out, --names and --common apply.\n"
    "\n";

/* Evaluations of images or tables; their options are some of those for volumes. */
static int compare_images(const compare_request *r, table_format format) {
    static compared_classes compared; /* large */
    const compare_classes_request request = {r->count, r->paths, r->names, r->by, r->out, r->common};
    failure failure;
    text out = {0};
    cli_progress progress;
    const listener listener = cli_listen(&progress, 0);
    status_code status = compare_classes(&compared, &request, &listener, &failure);
    if (status == STATUS_OK) status = compared_classes_write(&compared, format, &out, &failure);
    if (status == STATUS_OK) fputs(text_string(&out), stdout);
    text_close(&out);
    compared_classes_close(&compared);
    return cli_end(status, &failure);
}

static int compare(const compare_request *request, table_format format) {
    static compared compared; /* large */
    failure failure;
    text out = {0};
    cli_progress progress;
    const listener listener = cli_listen(&progress, 0);
    status_code status = compare_evaluations(&compared, request, &listener, &failure);
    if (status == STATUS_OK) status = comparison_write(&compared.comparison, request->layout, format, &out, &failure);
    if (status == STATUS_OK) fputs(text_string(&out), stdout);
    text_close(&out);
    compared_close(&compared);
    return cli_end(status, &failure);
}

/* What the words mean; an exit code, or CLI_GO_ON. */
static int choose(compare_request *r, const char *metric, const char *format, const char *layout, table_format *table) {
    if ((r->metric = metric_by_name(metric)) == METRICS)
        return cli_error(EXIT_USAGE, "--metric %s is not one; Dice, IoU, NSD, HD95 and ASSD are", metric);
    if (!table_format_parse(format, table))
        return cli_error(EXIT_USAGE, "--format %s is not one; text, csv, md, latex and json are", format);
    const int wide = strcmp(layout, "wide") == 0;
    if (!wide && strcmp(layout, "tall") != 0)
        return cli_error(EXIT_USAGE, "--layout %s is not one; tall and wide are", layout);
    r->layout = wide ? COMPARISON_WIDE : COMPARISON_TALL;
    return CLI_GO_ON;
}

int verb_compare(int count, char **arguments) {
    const char *metric = "Dice", *format = "text", *layout = "tall", *paths[COMPARED_MAX];
    compare_request r = {.paths = paths};
    table_format table;
    failure failure;
    int found = 0, json = 0, classified = 0;
    const cli_option options[] = {
        CLI_TEXT("--groups", "CSV", &r.groups, "the groups of the cases: a column called case, then columns of groups",
                 "groups.csv of the dataset"),
        CLI_TEXT("--by", "LIST", &r.by, "use these columns of the groups only", NULL),
        CLI_TEXT("--metric", "M", &metric, "Dice | IoU | NSD | HD95 | ASSD", NULL),
        CLI_TEXT("--empty", "E", &r.empty, "nan | 1: the score of a label that is in neither prediction nor reference",
                 "as they were evaluated"),
        CLI_TEXT("--format", "F", &format, "text | csv | md | latex | json", NULL),
        CLI_FLAG("--json", &json, "the same as --format json"),
        CLI_TEXT("--layout", "L", &layout,
                 "tall: a row per method and label, the tail in columns\n"
                 "wide: a row per method, the labels in columns",
                 NULL),
        CLI_TEXT("--out", "DIR", &r.out, "write comparison.txt, .csv, .md, .tex and .json there, too", NULL),
        CLI_TEXT("--names", "A,B,...", &r.names, "what the methods are called", "the folders' names"),
        CLI_TEXT("--dataset", "DIR", &r.dataset, "whose dataset.json names the labels, if the evaluations do not",
                 "where the references are"),
        CLI_FLAG("--common", &r.common, "compare what all have; otherwise a missing case or label is an error"),
    };
    const cli_verb verb = {"compare", USAGE, options, sizeof options / sizeof *options, NULL, paths, COMPARED_MAX};
    int code = cli_read(&verb, count, arguments, &found);
    if (code != CLI_GO_ON) return code;
    if (found < 2) return cli_error(EXIT_USAGE, "compare needs two or more evaluations; see hws compare --help");
    r.count = (size_t)found;
    code = choose(&r, metric, json ? "json" : format, layout, &table);
    if (code != CLI_GO_ON) return code;
    const status_code status = evaluation_kind(r.paths, r.count, &classified, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    return classified ? compare_images(&r, table) : compare(&r, table);
}
