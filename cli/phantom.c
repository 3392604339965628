/* hws phantom: a dataset of synthetic fetal heads or brain tumours. */
#include "cli.h"
#include "core/parallel.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "phantom/phantom_folder.h"

#include <errno.h>
#include <math.h>
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
    "--tumours draws brain tumours instead, in four sequences, with regions one within the other (whole tumour, core,\n"
    "enhancing tumour; label values 1, 2, 4 as in BraTS) and in groups.csv centres, of which the last is rare.\n"
    "\n"
    "The images are synthetic. They serve to try methods out; no result on them says anything about patients.\n"
    "\n";

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

static int draw(const char *folder, const phantom_options *options) {
    cli_progress progress;
    failure failure;
    const listener listener = cli_listen(&progress, 0);
    cli_catch_interrupts();
    const status_code status = phantom_write_folder(folder, options, &listener, &failure);
    cli_progress_end(&progress);
    if (status != STATUS_OK) return cli_end(status, &failure);
    printf("%d cases", options->cases);
    if (!options->tumours) printf(" (%d spina bifida, %d other)", options->spina_bifida, options->other);
    if (options->test) printf(" and %d for testing", options->test);
    printf(" are in %s; they are synthetic\n", folder);
    return EXIT_DONE;
}

int verb_phantom(int count, char **arguments) {
    phantom_options o = phantom_options_default();
    const char *out = NULL, *spina_bifida = NULL, *other = NULL;
    long long cases = o.cases, test = 0, seed = 0, threads = parallel_processors();
    int size[3] = {o.size[2], o.size[1], o.size[0]};
    const cli_option options[] = {
        CLI_TEXT("--out", "DIR", &out, "a new or empty folder", NULL),
        CLI_FLAG("--tumours", &o.tumours, "brain tumours instead of fetal heads"),
        CLI_WHOLE("--cases", "N", &cases, 1, PHANTOM_MAX_CASES, "training cases", NULL),
        CLI_TEXT("--spina-bifida", "S", &spina_bifida,
                 "how many of them: a number such as 3, or a fraction with a\npoint such as 0.05", "0.05"),
        CLI_TEXT("--other", "S", &other, "the same for other abnormalities", "0.05"),
        CLI_WHOLE("--test", "N", &test, 0, PHANTOM_MAX_CASES, "cases of a test set, a third of each condition", NULL),
        CLI_TRIPLE("--size", "D,H,W", size, 8, 512, "voxels", NULL),
        CLI_NUMBER("--spacing", "MM", &o.spacing, 0.1, 20, "size of a voxel; a head needs about 120 x 144 x 120 mm",
                   NULL),
        CLI_WHOLE("--seed", "S", &seed, 0, 9007199254740992.0, "other cases for another number", NULL),
        CLI_THREADS(&threads, "the files are the same for any number"),
    };
    const cli_verb verb = {"phantom", USAGE, options, sizeof options / sizeof *options, NULL, NULL, 0};
    int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (!out || !*out) return cli_error(EXIT_USAGE, "phantom needs --out DIR; see hws phantom --help");
    o.cases = (int)cases;
    o.test = (int)test;
    o.seed = (uint64_t)seed;
    o.threads = (int)threads;
    for (int axis = 0; axis < 3; axis++) o.size[axis] = size[2 - axis];
    const char *share = o.tumours ? "0" : "0.05";
    code = read_share("--spina-bifida", spina_bifida ? spina_bifida : share, o.cases, &o.spina_bifida);
    if (code == EXIT_DONE) code = read_share("--other", other ? other : share, o.cases, &o.other);
    return code == EXIT_DONE ? draw(out, &o) : code;
}
