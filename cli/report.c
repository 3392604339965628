/* hws report: one HTML page that shows what came out of runs. */
#include "cli.h"
#include "options.h"

#include "report/report.h"
#include "run/run_folder.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: hws report RUN... --out FILE.html\n"
    "\n"
    "Writes one HTML page about the runs whose folders are named: results in words and numbers, learning curves,\n"
    "every class, what the sampler did, the hardest examples, the settings. The page needs no other file and no\n"
    "network.\n"
    "\n";

int verb_report(int count, char **arguments) {
    const char *folders[REPORT_MAX_RUNS + 1], *out = NULL;
    char path[PATH_SIZE];
    int runs = 0;
    failure failure;
    const cli_option options[] = {
        CLI_TEXT("--out", "FILE", &out, "where to write the page", "with one RUN: RUN/report.html")};
    const cli_verb verb = {"report", USAGE, options, 1, NULL, folders, REPORT_MAX_RUNS + 1};
    const int code = cli_read(&verb, count, arguments, &runs);
    if (code != CLI_GO_ON) return code;
    if (out && !*out) return cli_error(EXIT_USAGE, "--out needs a file's name");
    if (runs == 0) return cli_error(EXIT_USAGE, "report of which run? see hws report --help");
    if (!out && runs > 1) return cli_error(EXIT_USAGE, "report: several runs need --out FILE.html");
    status_code status = out ? STATUS_OK : run_path(path, folders[0], RUN_REPORT, &failure);
    if (status == STATUS_OK) status = report_write(out ? out : path, folders, (size_t)runs, &failure);
    if (status == STATUS_OK) printf("%s\n", out ? out : path);
    return cli_end(status, &failure);
}
