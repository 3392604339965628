/* hws report: one HTML page that shows what came out of runs. */
#include "report/report.h"
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws report RUN... --out FILE.html\n"
    "\n"
    "Writes one HTML page about the runs whose folders are named: results in words and numbers, learning curves,\n"
    "every class, what the sampler did, the hardest examples, the settings. The page needs no other file and no\n"
    "network.\n"
    "\n"
    "  --out FILE    where to write the page (with one RUN: RUN/report.html)\n";

/* Bad input is the user's to mend; a disk that is full is not. */
static int exit_code(status_code status) {
    return status == STATUS_BAD_INPUT || status == STATUS_CORRUPT ? EXIT_USAGE : EXIT_FAILED;
}

static int write_report(const char *const *folders, size_t count, const char *out) {
    failure why = {0};
    const status_code status = report_write(out, folders, count, &why);
    if (status != STATUS_OK) return cli_error(exit_code(status), "%s", why.message);
    printf("%s\n", out);
    return EXIT_DONE;
}

/* Without --out the page of a single run goes into its folder. */
static int write_into_folder(const char *const *folders, size_t count) {
    if (count != 1) return cli_error(EXIT_USAGE, "report: several runs need --out FILE.html");
    const size_t size = strlen(folders[0]) + sizeof "/report.html";
    char *out = malloc(size);
    if (!out) return cli_error(EXIT_FAILED, "out of memory");
    snprintf(out, size, "%s/report.html", folders[0]);
    const int code = write_report(folders, count, out);
    free(out);
    return code;
}

int verb_report(int count, char **arguments) {
    const char *folders[REPORT_MAX_RUNS], *out = NULL;
    size_t folder_count = 0;
    for (int k = 0; k < count; k++) {
        const char *argument = arguments[k];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            fputs(USAGE, stdout);
            return EXIT_DONE;
        }
        if (strcmp(argument, "--out") == 0) {
            if (++k == count || !*arguments[k]) return cli_error(EXIT_USAGE, "--out needs a file's name");
            out = arguments[k];
        } else if (*argument == '-') {
            return cli_error(EXIT_USAGE, "report has no option '%s'; see hws report --help", argument);
        } else if (folder_count == REPORT_MAX_RUNS) {
            return cli_error(EXIT_USAGE, "report takes at most %d runs", REPORT_MAX_RUNS);
        } else {
            folders[folder_count++] = argument;
        }
    }
    if (folder_count == 0) return cli_error(EXIT_USAGE, "report of which run? see hws report --help");
    return out ? write_report(folders, folder_count, out) : write_into_folder(folders, folder_count);
}
