/* hws export: runs as models of other programs. */
#include "cli.h"
#include "interrupt.h"
#include "nnunet/nnunet.h"
#include "onnx/onnx.h"
#include "options.h"
#include "progress.h"
#include "quote.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws export RUN --onnx FILE [--weights W]\n"
    "       hws export nnunet RUN... --out MODEL_FOLDER [options]\n"
    "\n"
    "--onnx writes a run's network as an ONNX model, which onnxruntime and others run from many languages: batches of\n"
    "any size go in, channels first, and logits come out. Its metadata say what to do before and after; docs/onnx.md\n"
    "has programs that do it.\n"
    "\n"
    "nnunet makes a model folder of nnU-Net v2 out of runs that segment volumes; they become fold_0, fold_1 and so\n"
    "on. nnU-Net predicts with it (nnUNetv2_predict_from_modelfolder) and can begin training with its weights\n"
    "(nnUNetv2_train -pretrained_weights MODEL_FOLDER/fold_0/checkpoint_final.pth).\n"
    "\n";

enum { RUNS_MAX = 64 };

typedef struct export_words {
    const char *names[RUNS_MAX + 1];
    int count, quiet;
    const char *folder, *onnx;
    run_weights weights;
} export_words;

static int export_nnunet(const export_words *words) {
    const nnunet_export_request request = {
        .runs = words->names + 1, .run_count = words->count - 1, .output = words->folder, .weights = words->weights};
    if (request.run_count < 1)
        return cli_error(EXIT_USAGE, "export which run? hws export nnunet RUN... --out MODEL_FOLDER");
    if (words->onnx) return cli_error(EXIT_USAGE, "--onnx writes a model of one run: hws export RUN --onnx FILE");
    if (!words->folder) return cli_error(EXIT_USAGE, "export needs --out MODEL_FOLDER");
    cli_progress progress;
    const listener listener = cli_listen(&progress, words->quiet);
    failure failure = {0};
    cli_catch_interrupts();
    const status_code status = nnunet_export(&request, &listener, &failure);
    cli_progress_end(&progress);
    if (status == STATUS_OK && !words->quiet) {
        text command = {0};
        text_add(&command, "Predict with\n    nnUNetv2_predict_from_modelfolder -i IMAGES -o LABELS -m ");
        cli_quote(request.output, &command);
        text_add(&command, " -f");
        for (int k = 0; k < request.run_count; k++) text_format(&command, " %d", k);
        cli_print(&command);
    }
    return cli_end(status, &failure);
}

static int export_onnx(const export_words *words) {
    const onnx_export_request request = {.run = words->names[0], .output = words->onnx, .weights = words->weights};
    onnx_export_outcome outcome;
    failure failure = {0};
    if (words->count > 1)
        return cli_error(EXIT_USAGE, "--onnx writes a model of one run, not of %d: write one file for each",
                         words->count);
    if (words->folder) return cli_error(EXIT_USAGE, "--onnx names the file itself: leave --out away");
    const status_code status = onnx_export(&request, &outcome, &failure);
    if (status == STATUS_OK && !words->quiet)
        printf("%s: %.1f MB, from '%s' (%s) to 'logits' (%s)\n", request.output, (double)outcome.bytes / 1e6,
               outcome.input, outcome.shape, outcome.result);
    return cli_end(status, &failure);
}

int verb_export(int count, char **arguments) {
    export_words words = {0};
    const char *weights = "best";
    failure failure;
    const cli_option options[] = {
        CLI_TEXT("--onnx", "FILE", &words.onnx, "the ONNX model to write", NULL),
        CLI_TEXT("--out", "DIR", &words.folder, "nnunet: a new folder", NULL),
        CLI_TEXT("--weights", "W", &weights, "best | latest", NULL),
        CLI_FLAG("--quiet", &words.quiet, "no progress"),
    };
    const cli_verb verb = {"export", USAGE, options, sizeof options / sizeof *options, NULL, words.names, RUNS_MAX + 1};
    const int code = cli_read(&verb, count, arguments, &words.count);
    if (code != CLI_GO_ON) return code;
    const int is_nnunet = words.count > 0 && strcmp(words.names[0], "nnunet") == 0;
    if (!is_nnunet && (words.count < 1 || !words.onnx))
        return cli_error(EXIT_USAGE, "export what? hws export RUN --onnx FILE, or hws export nnunet RUN... --out "
                                     "MODEL_FOLDER; see hws export --help");
    if (!is_nnunet && !*words.onnx) return cli_error(EXIT_USAGE, "--onnx needs a file's name");
    const status_code status = run_weights_parse(weights, &words.weights, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    return is_nnunet ? export_nnunet(&words) : export_onnx(&words);
}
