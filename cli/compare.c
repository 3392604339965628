/* hws compare: two evaluations side by side. */
#include "cli.h"
#include "options.h"
#include "progress.h"

#include "evaluate/compare.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws compare A/summary.json B/summary.json [options]\n"
    "\n"
    "Shows two evaluations of the same cases (by hws evaluate or nnU-Net v2) side by side, for all cases and each\n"
    "group, with the differences B - A and the p-value of Wilcoxon's paired signed-rank test (two-sided). The\n"
    "better value of two is bold; on a terminal a star follows it.\n"
    "\n";

static int compare(const compare_request *request, comparison_layout layout, table_format format) {
    static compared compared; /* large */
    failure failure;
    text out = {0};
    cli_progress progress;
    const listener listener = cli_listen(&progress, 0);
    status_code status = compare_summaries(&compared, request, &listener, &failure);
    if (status == STATUS_OK) status = comparison_write(&compared.comparison, layout, format, &out, &failure);
    if (status == STATUS_OK) fputs(text_string(&out), stdout);
    text_close(&out);
    compared_close(&compared);
    return cli_end(status, &failure);
}

int verb_compare(int count, char **arguments) {
    compare_request r = {0};
    const char *metric = "Dice", *format = "text", *layout = "tall";
    table_format table;
    int paths = 0;
    const cli_option options[] = {
        CLI_TEXT("--groups", "CSV", &r.groups, "groups of the cases: a column called case, then columns of groups",
                 NULL),
        CLI_TEXT("--by", "LIST", &r.by, "use these columns of the groups only", NULL),
        CLI_TEXT("--metric", "M", &metric, "Dice | IoU | HD95 | ASSD", NULL),
        CLI_TEXT("--format", "F", &format, "text | csv | md | latex", NULL),
        CLI_TEXT("--layout", "L", &layout,
                 "tall: a row per method and label, the tail in columns\n"
                 "wide: a row per method, the labels in columns",
                 NULL),
        CLI_TEXT("--names", "A,B", &r.names, "what the methods are called", "the folders' names"),
        CLI_FLAG("--common", &r.common, "compare what both have; otherwise a missing case or label is an error"),
    };
    const cli_verb verb = {"compare", USAGE, options, sizeof options / sizeof *options, NULL, r.paths, 2};
    const int code = cli_read(&verb, count, arguments, &paths);
    if (code != CLI_GO_ON) return code;
    if (paths != 2) return cli_error(EXIT_USAGE, "compare needs two summary.json files; see hws compare --help");
    if ((r.metric = metric_by_name(metric)) == METRICS)
        return cli_error(EXIT_USAGE, "--metric %s is not one; Dice, IoU, HD95 and ASSD are", metric);
    if (!table_format_parse(format, &table))
        return cli_error(EXIT_USAGE, "--format %s is not one; text, csv, md and latex are", format);
    const int wide = strcmp(layout, "wide") == 0;
    if (!wide && strcmp(layout, "tall") != 0)
        return cli_error(EXIT_USAGE, "--layout %s is not one; tall and wide are", layout);
    return compare(&r, wide ? COMPARISON_WIDE : COMPARISON_TALL, table);
}
