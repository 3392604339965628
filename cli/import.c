/* hws import: models of other programs as runs. */
#include "cli.h"
#include "interrupt.h"
#include "nnunet/nnunet.h"
#include "options.h"
#include "progress.h"
#include "quote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws import nnunet MODEL_FOLDER --out RUN [options]\n"
    "\n"
    "Makes a run out of a model that nnU-Net v2 has trained, for hws predict and libhws_predict. MODEL_FOLDER is\n"
    "nnU-Net's nnUNet_results/DATASET/TRAINER__PLANS__CONFIGURATION, with plans.json, dataset.json and\n"
    "fold_K/checkpoint_final.pth. If there are several folds, RUN gets a folder fold_K for each: name them all to hws\n"
    "predict for the ensemble. Checkpoints are read without executing anything that is in them.\n"
    "\n"
    "PlainConvUNet and ResidualEncoderUNet can be imported, in the configurations 3d_fullres, 3d_lowres and 2d, with\n"
    "labels or regions. Cascades, other networks, other preprocessing, and readers that turn the images are refused\n"
    "with a message that names what is in the way.\n"
    "\n";

static int run(const nnunet_import_request *request, int quiet) {
    cli_progress progress;
    const listener listener = cli_listen(&progress, quiet);
    failure failure = {0};
    nnunet_import_outcome *outcome = malloc(sizeof *outcome);
    if (!outcome) return cli_error(EXIT_FAILED, "out of memory");
    cli_catch_interrupts();
    const status_code status = nnunet_import(request, &listener, outcome, &failure);
    cli_progress_end(&progress);
    if (status == STATUS_OK && !quiet) {
        text words = {0};
        text_format(&words, "%d %s imported. Predict with\n    hws predict", outcome->count,
                    outcome->count > 1 ? "folds" : "fold");
        for (int k = 0; k < outcome->count; k++) {
            text_add(&words, " ");
            cli_quote(outcome->folders[k], &words);
        }
        text_add(&words, " --input IMAGES --output LABELS");
        cli_print(&words);
    }
    free(outcome);
    return cli_end(status, &failure);
}

int verb_import(int count, char **words) {
    const char *names[2] = {0};
    int name_count = 0, quiet = 0;
    nnunet_import_request request = {.checkpoint = "final"};
    const cli_option options[] = {
        CLI_TEXT("--out", "RUN", &request.output, "a new folder", NULL),
        CLI_TEXT("--folds", "K,K", &request.folds, "which folds, or all for nnU-Net's fold of all cases",
                 "all there are"),
        CLI_TEXT("--checkpoint", "C", &request.checkpoint, "final | best", NULL),
        CLI_FLAG("--quiet", &quiet, "no progress"),
    };
    const cli_verb verb = {"import", USAGE, options, sizeof options / sizeof *options, NULL, names, 2};
    const int code = cli_read(&verb, count, words, &name_count);
    if (code != CLI_GO_ON) return code;
    if (name_count < 1 || strcmp(names[0], "nnunet") != 0)
        return cli_error(EXIT_USAGE, "import what? hws import nnunet MODEL_FOLDER --out RUN; see hws import --help");
    if (name_count < 2)
        return cli_error(EXIT_USAGE, "import which model? Name nnU-Net's folder TRAINER__PLANS__CONFIGURATION");
    if (!request.output) return cli_error(EXIT_USAGE, "import needs --out RUN");
    request.model = names[1];
    return run(&request, quiet);
}
