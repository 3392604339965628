/* hws evaluate: how good predictions are, by group and in the tail. */
#include "cli.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "evaluate/evaluate.h"

#include <stdint.h>
#include <stdio.h>

static const char USAGE[] =
    "usage: hws evaluate --pred DIR --ref DIR [options]\n"
    "       hws evaluate RUN... [options]   what a run learnt: see hws evaluate RUN --help\n"
    "\n"
    "Scores predicted label maps (.nii, .nii.gz) against their references, which have the same names. Prints for all\n"
    "cases and for each group the mean with its 95 % confidence interval, the tail, and the name of the worst case.\n"
    "Where a column `patient` of the groups says that patients have several cases each, intervals are computed over\n"
    "patients, not cases.\n"
    "\n";

static const char MORE[] =
    "\n"
    "Where a label is in neither the prediction nor the reference, the case has no Dice for it: such cases are left\n"
    "out of the statistics and counted, or with --empty 1 count as right. A label that only one of them has scores 0;\n"
    "its distances are the image's diagonal.\n";

int print_stratified(const evaluation *evaluation) {
    failure failure;
    text out = {0};
    const status_code status = stratified_write(&evaluation->stratified, TABLE_TEXT, &out, &failure);
    if (status == STATUS_OK) fputs(text_string(&out), stdout);
    text_close(&out);
    return cli_end(status, &failure);
}

static int evaluate(const evaluate_request *request, int quiet) {
    evaluation evaluation;
    failure failure;
    cli_progress progress;
    listener listener = cli_listen(&progress, quiet);
    listener.notice = cli_notice; /* a warning is no progress */
    cli_catch_interrupts();
    const status_code status = evaluate_folders(&evaluation, request, &listener, &failure);
    cli_progress_end(&progress);
    const int code = status == STATUS_OK ? print_stratified(&evaluation) : cli_end(status, &failure);
    evaluation_close(&evaluation);
    return code;
}

int verb_evaluate(int count, char **arguments) {
    if (count && arguments[0][0] != '-') return verb_evaluate_run(count, arguments);
    evaluate_request r = {0};
    long long ignore = 0, threads = 0;
    int quiet = 0;
    const cli_option options[] = {
        CLI_TEXT("--pred", "DIR", &r.predictions, "the predictions", NULL),
        CLI_TEXT("--ref", "DIR", &r.references, "the references", NULL),
        CLI_TEXT("--labels", "LIST", &r.labels, "labels to score, such as 1,2",
                 "every label above 0 of the references"),
        CLI_TEXT("--regions", "LIST", &r.regions, "named labels and unions of them, such as WT=1+2+3,ET=3", NULL),
        CLI_WHOLE("--ignore", "L", &ignore, 1, INT16_MAX,
                  "voxels with this label in the reference do not count, as with nnU-Net's ignore label", ""),
        CLI_TEXT("--groups", "CSV", &r.groups, "the groups of the cases: a column called case, then columns of groups",
                 NULL),
        CLI_TEXT("--by", "LIST", &r.by, "use these columns of the groups only", NULL),
        CLI_TEXT("--empty", "E", &r.empty, "nan | 1: the score of a label that is in neither prediction nor reference",
                 "nan"),
        CLI_NUMBER("--nsd", "MM", &r.nsd, 1e-6, 1e6, "also the normalised surface distance at this tolerance", ""),
        CLI_FLAG("--find-postprocessing", &r.find_postprocessing,
                 "find, by nnU-Net's rules, the labels of which only the largest connected component should\nstay, and "
                 "write OUT/postprocessing.json for hws predict --postprocessing OUT"),
        CLI_FLAG("--hd95", &r.hd95, "also the 95 % Hausdorff distance"),
        CLI_FLAG("--surface", &r.surface, "also the average symmetric surface distance"),
        CLI_FLAG("--common", &r.common, "score the cases that both folders have; otherwise a missing one is an error"),
        CLI_TEXT("--out", "DIR", &r.out,
                 "write summary.json (as nnU-Net does), cases.csv, worst.csv and table.txt, .csv, .md, .tex\nthere",
                 NULL),
        CLI_TEXT("--images", "DIR", &r.images,
                 "draw the worst cases over these images (CASE_0000.nii.gz or CASE.nii.gz), as\nOUT/worst/CASE.png",
                 NULL),
        CLI_THREADS(&threads, "threads to work with"),
        CLI_FLAG("--quiet", &quiet, "no progress; warnings are told"),
    };
    const cli_verb verb = {"evaluate", USAGE, options, sizeof options / sizeof *options, MORE, NULL, 0};
    const int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (!r.predictions || !r.references)
        return cli_error(EXIT_USAGE, "evaluate needs --pred DIR and --ref DIR; see hws evaluate --help");
    r.ignore = (int)ignore;
    r.threads = (int)threads;
    return evaluate(&r, quiet);
}
