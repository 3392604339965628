#include "verbs.h"
#include "cli.h"

#include <string.h>

/* Which ranks do it. */
enum { ALONE = 0, TOGETHER = 1 };

static const cli_entry ENTRIES[] = {
    {"plan", "", "check, plan and preprocess a dataset of 3D images", verb_plan, TOGETHER},
    {"train", "", "train a network, with DRO or ERM", verb_train, TOGETHER},
    {"watch", "", "show runs in the browser while they train", verb_watch, ALONE},
    {"fetch", "mnist", "get the MNIST digits", verb_fetch, ALONE},
    {"phantom", "", "make a dataset of synthetic fetal heads", verb_phantom, ALONE},
    {"bench", "sampler", "time the hardness weighted sampler", verb_bench, TOGETHER},
    {"bench", "train", "time training steps", verb_bench, TOGETHER},
    {"inspect", "", "list the hardest examples of a run", verb_inspect, ALONE},
    {"triage", "", "hard or mislabelled? List the labels in doubt", verb_triage, ALONE},
    {"predict", "", "label new images with trained networks", verb_predict, TOGETHER},
    {"evaluate", "", "score label maps or a run, by group and in the tail", verb_evaluate, TOGETHER},
    {"evaluate", "RUN", NULL, verb_evaluate, TOGETHER},
    {"compare", "", "compare evaluations of any number of methods, case by case", verb_compare, ALONE},
    {"report", "", "write an HTML page about runs and evaluations", verb_report, ALONE},
    {"import", "nnunet", "make runs of a model that nnU-Net has trained", verb_import, ALONE},
    {"export", "", "make an ONNX model of a run, or a model for nnU-Net of runs", verb_export, ALONE},
    {"info", "", "tell what this machine and this program have", verb_info, ALONE},
    {"help", "", "explain a verb; man pages and completions for shells", verb_help, ALONE},
};

size_t cli_entry_count(void) { return sizeof ENTRIES / sizeof *ENTRIES; }
const cli_entry *cli_entry_at(size_t index) { return &ENTRIES[index]; }

const cli_entry *cli_entry_find(const char *name) {
    for (size_t k = 0; k < cli_entry_count(); k++)
        if (strcmp(ENTRIES[k].name, name) == 0) return &ENTRIES[k];
    return NULL;
}

void cli_entry_describe(const cli_entry *entry, void (*describe)(const cli_verb *verb)) {
    char argument[32], *arguments[] = {argument};
    strncpy(argument, entry->argument, sizeof argument - 1);
    argument[sizeof argument - 1] = 0;
    cli_describe = describe;
    entry->run(*argument != 0, arguments);
    cli_describe = NULL;
}
