/* hws phantom: a dataset of synthetic fetal heads. */
#include "cli.h"
#include "options.h"
#include "progress.h"

#include "phantom/phantom_folder.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws phantom --out DIR [options]\n"
    "\n"
    "Draws fetal heads as in T2 MRI, with label maps of white matter (1), intra-axial CSF (2) and cerebellum (3), and\n"
    "writes them as a dataset in nnU-Net's layout, with groups.csv. A few cases have spina bifida (a small, displaced\n"
    "cerebellum and wide ventricles) or other abnormalities: rare groups on which a network is likely to fail.\n"
    "\n"
    "The images are synthetic. They serve to try methods out; no result on them says anything about patients.\n"
    "\n"
    "  --out DIR          a new or empty folder\n"
    "  --cases N          training cases                                     (60)\n"
    "  --spina-bifida S   how many of them: a number such as 3, or a fraction with a point such as 0.05   (0.05)\n"
    "  --other S          the same for other abnormalities                   (0.05)\n"
    "  --test N           cases of a test set, a third of each condition     (0)\n"
    "  --size D,H,W       voxels                                             (40,48,40)\n"
    "  --spacing MM       size of a voxel; a head needs about 120 x 144 x 120 mm   (3)\n"
    "  --seed S           other cases for another number                     (0)\n"
    "  --threads T        the files are the same for any number              (all)\n";

/* A whole number is a count; with a point it is a fraction of all cases. */
static int read_share(const char *name, const char *text, int cases, int *count) {
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    const int is_fraction = strchr(text, '.') != NULL, good = end != text && *end == 0 && value >= 0;
    if (good && is_fraction && value <= 1) *count = (int)floor(value * cases + 0.5);
    else if (good && !is_fraction && value == floor(value) && value <= cases) *count = (int)value;
    else
        return cli_error(EXIT_USAGE, "%s %s is neither a number of cases from 0 to %d nor a fraction from 0.0 to 1.0",
                         name, text, cases);
    return EXIT_DONE;
}

typedef struct request {
    const char *out, *spina_bifida, *other;
    long long cases, test, seed, threads;
    int size[3]; /* D, H, W */
    double spacing;
} request;

static int parse(int count, char **arguments, request *r) {
    const cli_option options[] = {
        {"--out", OPTION_TEXT, &r->out, 0, 0, NULL},
        {"--cases", OPTION_WHOLE, &r->cases, 1, PHANTOM_MAX_CASES, NULL},
        {"--spina-bifida", OPTION_TEXT, &r->spina_bifida, 0, 0, NULL},
        {"--other", OPTION_TEXT, &r->other, 0, 0, NULL},
        {"--test", OPTION_WHOLE, &r->test, 0, PHANTOM_MAX_CASES, NULL},
        {"--size", OPTION_TRIPLE, r->size, 8, 512, NULL},
        {"--spacing", OPTION_NUMBER, &r->spacing, 0.1, 20, NULL},
        {"--seed", OPTION_WHOLE, &r->seed, 0, 9007199254740992.0, NULL},
        {"--threads", OPTION_WHOLE, &r->threads, 1, 1024, NULL},
    };
    const char *words[1];
    int word_count;
    const int code =
        cli_parse("phantom", count, arguments, options, sizeof options / sizeof *options, words, 0, &word_count);
    if (code != EXIT_DONE) return code;
    if (!r->out || !*r->out) return cli_error(EXIT_USAGE, "phantom needs --out DIR; see hws phantom --help");
    return EXIT_DONE;
}

static int fill_options(const request *r, phantom_options *o) {
    *o = phantom_options_default();
    o->cases = (int)r->cases;
    o->test = (int)r->test;
    o->seed = (uint64_t)r->seed;
    o->threads = (int)r->threads;
    o->spacing = r->spacing;
    for (int axis = 0; axis < 3; axis++) o->size[axis] = r->size[2 - axis];
    const int code = read_share("--spina-bifida", r->spina_bifida, o->cases, &o->spina_bifida);
    if (code != EXIT_DONE) return code;
    return read_share("--other", r->other, o->cases, &o->other);
}

int verb_phantom(int count, char **arguments) {
    if (cli_helped(count, arguments, USAGE)) return EXIT_DONE;
    request request = {.spina_bifida = "0.05",
                       .other = "0.05",
                       .cases = 60,
                       .threads = omp_get_max_threads(),
                       .size = {40, 48, 40},
                       .spacing = 3};
    phantom_options options;
    int code = parse(count, arguments, &request);
    if (code == EXIT_DONE) code = fill_options(&request, &options);
    if (code != EXIT_DONE) return code;
    cli_progress progress;
    failure failure;
    cli_progress_start(&progress, "drawing cases", 0);
    const status_code status = phantom_write_folder(request.out, &options, cli_progress_step, &progress, &failure);
    cli_progress_end(&progress);
    if (status == STATUS_BAD_INPUT) return cli_error(EXIT_USAGE, "%s", failure.message);
    if (status != STATUS_OK) return cli_error(EXIT_FAILED, "%s", failure.message);
    printf("%d cases (%d spina bifida, %d other)", options.cases, options.spina_bifida, options.other);
    if (options.test) printf(" and %d for testing", options.test);
    printf(" are in %s; they are synthetic\n", request.out);
    return EXIT_DONE;
}
