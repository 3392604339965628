#include "cli.h"
#include "hws.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] = "hws " HWS_VERSION ": distributionally robust deep learning\n"
                            "\n"
                            "usage: hws VERB [options]\n"
                            "\n"
                            "  plan            check, plan and preprocess a dataset of 3D images\n"
                            "  train           train a network, with DRO or ERM\n"
                            "  fetch mnist     get the MNIST digits\n"
                            "  phantom         make a dataset of synthetic fetal heads\n"
                            "  bench sampler   time the hardness weighted sampler\n"
                            "  bench train     time training steps\n"
                            "  inspect         list the hardest examples of a run\n"
                            "  triage          hard or mislabelled? List the labels in doubt\n"
                            "  predict         label new images with trained networks\n"
                            "  evaluate        score label maps or a run, by group and in the tail\n"
                            "  compare         compare two evaluations, with a paired test\n"
                            "  report          write an HTML page about runs\n"
                            "  import nnunet   make runs of a model that nnU-Net has trained\n"
                            "  export nnunet   make a model for nnU-Net of runs\n"
                            "\n"
                            "hws VERB --help explains a verb. hws --version prints the version.\n";

static const struct {
    const char *name;
    int (*run)(int count, char **arguments);
} VERBS[] = {
    {"bench", verb_bench},     {"compare", verb_compare}, {"evaluate", verb_evaluate}, {"fetch", verb_fetch},
    {"report", verb_report},   {"train", verb_train},     {"inspect", verb_inspect},   {"predict", verb_predict},
    {"phantom", verb_phantom}, {"plan", verb_plan},       {"export", verb_export},     {"import", verb_import},
    {"triage", verb_triage},
};

int cli_error(int exit_code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("hws: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return exit_code;
}

int cli_exit_code(status_code status) {
    switch (status) {
    case STATUS_OK: return EXIT_DONE;
    case STATUS_BAD_INPUT:
    case STATUS_CORRUPT:
    case STATUS_CANNOT_READ: return EXIT_USAGE;
    default: return EXIT_FAILED;
    }
}

int cli_end(status_code status, const failure *failure) {
    return status == STATUS_OK ? EXIT_DONE : cli_error(cli_exit_code(status), "%s", failure->message);
}

/* Output that could not be written (a full disk, a closed pipe) is a failure, too. */
static int finish(int exit_code) {
    if (fflush(stdout) != 0 || ferror(stdout)) return cli_error(EXIT_FAILED, "standard output could not be written");
    return exit_code;
}

int main(int count, char **arguments) {
    if (count < 2) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    const char *verb = arguments[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        fputs(USAGE, stdout);
        return finish(EXIT_DONE);
    }
    if (strcmp(verb, "--version") == 0) {
        printf("hws %s\n", hws_version());
        return finish(EXIT_DONE);
    }
    for (size_t k = 0; k < sizeof VERBS / sizeof *VERBS; k++)
        if (strcmp(verb, VERBS[k].name) == 0) return finish(VERBS[k].run(count - 2, arguments + 2));
    return cli_error(EXIT_USAGE, "there is no verb '%s'; hws --help lists them", verb);
}
