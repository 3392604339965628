#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "hws.h"
#include "interrupt.h"
#include "ranks/ranks_mpi.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char USAGE[] = "hws " HWS_VERSION ": distributionally robust deep learning\n"
                            "\n"
                            "usage: hws VERB [options]\n"
                            "\n"
                            "  plan            check, plan and preprocess a dataset of 3D images\n"
                            "  train           train a network, with DRO or ERM\n"
                            "  watch           show runs in the browser while they train\n"
                            "  fetch mnist     get the MNIST digits\n"
                            "  phantom         make a dataset of synthetic fetal heads\n"
                            "  bench sampler   time the hardness weighted sampler\n"
                            "  bench train     time training steps\n"
                            "  inspect         list the hardest examples of a run\n"
                            "  triage          hard or mislabelled? List the labels in doubt\n"
                            "  predict         label new images with trained networks\n"
                            "  evaluate        score label maps or a run, by group and in the tail\n"
                            "  compare         compare evaluations of any number of methods, case by case\n"
                            "  report          write an HTML page about runs and evaluations\n"
                            "  import nnunet   make runs of a model that nnU-Net has trained\n"
                            "  export          make an ONNX model of a run, or a model for nnU-Net of runs\n"
                            "\n"
                            "hws VERB --help explains a verb. hws --version prints the version.\n";

static const struct {
    const char *name;
    int (*run)(int count, char **arguments);
} VERBS[] = {
    {"bench", verb_bench},     {"compare", verb_compare}, {"evaluate", verb_evaluate}, {"fetch", verb_fetch},
    {"report", verb_report},   {"train", verb_train},     {"inspect", verb_inspect},   {"predict", verb_predict},
    {"phantom", verb_phantom}, {"plan", verb_plan},       {"export", verb_export},     {"import", verb_import},
    {"triage", verb_triage},   {"watch", verb_watch},
};

static char last_error[1024]; /* for a rank that does not speak */
static int kept = -1;         /* its stderr */

int cli_error(int exit_code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
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

static int lost_lines;

void cli_print(text *line) {
    lost_lines += line->failed;
    puts(text_string(line));
    text_close(line);
}

/* Output that could not be written (a full disk, a closed pipe) is a failure, too. */
static int finish(int exit_code) {
    if (fflush(stdout) != 0 || ferror(stdout)) return cli_error(EXIT_FAILED, "standard output could not be written");
    if (exit_code == EXIT_DONE && lost_lines) return cli_error(EXIT_FAILED, "out of memory: lines are missing above");
    return exit_code;
}

/* ---- ranks: the processes that mpirun or srun started together --------------------------------------------------- */

/* Verbs that ranks do together; all others are the first one's business. */
static int is_shared(const char *verb) {
    static const char *const SHARED[] = {"train", "bench", "plan", "predict", "evaluate"};
    for (size_t k = 0; k < sizeof SHARED / sizeof *SHARED; k++)
        if (strcmp(verb, SHARED[k]) == 0) return 1;
    return 0;
}

/* The first rank speaks for all. */
static int quieten(void) {
    if (ranks_is_first(ranks_here())) return 1;
    kept = dup(STDERR_FILENO);
    return kept >= 0 && freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr);
}

/* For a rank that failed when the others did not. */
static void tell_alone(void) {
    if (!*last_error) return;
    dprintf(kept >= 0 ? kept : STDERR_FILENO, "hws: rank %d failed, and with it the others: %s\n", ranks_here()->rank,
            last_error);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int run(int count, char **arguments) {
    const char *verb = arguments[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
        fputs(USAGE, stdout);
        return EXIT_DONE;
    }
    if (strcmp(verb, "--version") == 0) {
        printf("hws %s\n", hws_version());
        return EXIT_DONE;
    }
    for (size_t k = 0; k < sizeof VERBS / sizeof *VERBS; k++) {
        if (strcmp(verb, VERBS[k].name) != 0) continue;
        int code = is_shared(verb) || ranks_is_first(ranks_here()) ? VERBS[k].run(count - 2, arguments + 2) : EXIT_DONE;
        if (!is_shared(verb)) ranks_share_first(ranks_here(), &code, sizeof code);
        return code;
    }
    return cli_error(EXIT_USAGE, "there is no verb '%s'; hws --help lists them", verb);
}

int main(int count, char **arguments) {
    failure failure = {0};
    if (count < 2) {
        fputs(USAGE, stderr);
        return EXIT_USAGE;
    }
    cli_catch_lost_files();
    int code = cli_end(ranks_mpi_start(&failure), &failure);
    if (code == EXIT_DONE && !quieten()) code = cli_error(EXIT_FAILED, "/dev/null cannot be opened");
    if (code == EXIT_DONE) code = finish(run(count, arguments));
    ranks_mpi_end(code, tell_alone);
    return code;
}
