/* hws report: one HTML page that shows what came out of runs and evaluations. */
#include "cli.h"
#include "options.h"

#include "report/report.h"
#include "run/run_folder.h"

#include <stdio.h>

static const char USAGE[] =
    "usage: hws report RUN|EVALUATION... --out FILE.html\n"
    "\n"
    "Writes one HTML page about runs and evaluations: results in words and numbers, scores by group, learning curves,\n"
    "every class, what the sampler did, the hardest examples, the settings. The page needs no other file and no\n"
    "network. An EVALUATION is a summary.json by hws evaluate or nnU-Net v2, or a folder that has one; its label maps\n"
    "and images are shown where the page finds them: the worst case of each group, by all methods side by side.\n"
    "\n";

int verb_report(int count, char **arguments) {
    const char *folders[REPORT_MAX_RUNS + 1], *out = NULL;
    report_request r = {.folders = folders};
    char path[PATH_SIZE];
    int runs = 0;
    failure failure;
    const cli_option options[] = {
        CLI_TEXT("--out", "FILE", &out, "where to write the page", "with one RUN: RUN/report.html"),
        CLI_TEXT("--names", "A,B,...", &r.names, "what they are called", "after settings and folders"),
        CLI_TEXT("--groups", "CSV", &r.groups, "the groups of the cases: a column called case, then columns of groups",
                 "groups.csv of the run, or of the dataset"),
        CLI_TEXT("--images", "DIR", &r.images, "where the images are: CASE_0000.nii.gz or CASE.nii.gz",
                 "imagesTr of the dataset"),
    };
    const cli_verb verb = {"report",           USAGE, options, sizeof options / sizeof *options, NULL, folders,
                           REPORT_MAX_RUNS + 1};
    const int code = cli_read(&verb, count, arguments, &runs);
    if (code != CLI_GO_ON) return code;
    if (out && !*out) return cli_error(EXIT_USAGE, "--out needs a file's name");
    if (runs == 0) return cli_error(EXIT_USAGE, "report of which run? see hws report --help");
    if (!out && (runs > 1 || (path_exists(folders[0]) && !path_is_folder(folders[0]))))
        return cli_error(EXIT_USAGE, "report: %s --out FILE.html",
                         runs > 1 ? "several runs need" : "what is not in a folder needs");
    r.count = (size_t)runs;
    status_code status = out ? STATUS_OK : run_path(path, folders[0], RUN_REPORT, &failure);
    if (status == STATUS_OK) status = report_write(out ? out : path, &r, &failure);
    if (status == STATUS_OK) printf("%s\n", out ? out : path);
    return cli_end(status, &failure);
}
