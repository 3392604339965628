/* hws export: runs as models of other programs. */
#include "cli.h"
#include "interrupt.h"
#include "nnunet/nnunet.h"
#include "options.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws export nnunet RUN... --out MODEL_FOLDER [options]\n"
    "\n"
    "Makes a model folder of nnU-Net v2 of runs that segment volumes, which become fold_0, fold_1 and so on. nnU-Net\n"
    "predicts with it (nnUNetv2_predict_from_modelfolder) and can begin with its weights (nnUNetv2_train\n"
    "-pretrained_weights MODEL_FOLDER/fold_0/checkpoint_final.pth).\n"
    "\n";

enum { RUNS_MAX = 64 };

static int run(const nnunet_export_request *request, int quiet) {
    cli_progress progress;
    const listener listener = cli_listen(&progress, quiet);
    failure failure = {0};
    cli_catch_interrupts();
    const status_code status = nnunet_export(request, &listener, &failure);
    cli_progress_end(&progress);
    if (status == STATUS_OK && !quiet)
        printf("Predict with\n    nnUNetv2_predict_from_modelfolder -i IMAGES -o LABELS -m %s -f 0%s\n",
               request->output, request->run_count > 1 ? " 1 ..." : "");
    return cli_end(status, &failure);
}

int verb_export(int count, char **words) {
    const char *names[RUNS_MAX + 1] = {0}, *weights = "best";
    int name_count = 0, quiet = 0;
    nnunet_export_request request = {0};
    failure failure;
    const cli_option options[] = {
        CLI_TEXT("--out", "DIR", &request.output, "a new folder", NULL),
        CLI_TEXT("--weights", "W", &weights, "best | latest", NULL),
        CLI_FLAG("--quiet", &quiet, "no progress"),
    };
    const cli_verb verb = {"export", USAGE, options, sizeof options / sizeof *options, NULL, names, RUNS_MAX + 1};
    const int code = cli_read(&verb, count, words, &name_count);
    if (code != CLI_GO_ON) return code;
    if (name_count < 1 || strcmp(names[0], "nnunet") != 0)
        return cli_error(EXIT_USAGE, "export what? hws export nnunet RUN... --out MODEL_FOLDER; see hws export --help");
    if (name_count < 2) return cli_error(EXIT_USAGE, "export which run? hws export nnunet RUN... --out MODEL_FOLDER");
    if (!request.output) return cli_error(EXIT_USAGE, "export needs --out MODEL_FOLDER");
    const status_code status = run_weights_parse(weights, &request.weights, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    request.runs = names + 1;
    request.run_count = name_count - 1;
    return run(&request, quiet);
}
