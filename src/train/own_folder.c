#include "train/own_folder.h"

#include "core/replaceable.h"
#include "run/run_folder.h"

#include <string.h>

/* Weights begin with eight bytes that say how long the header is. */
enum { SAFETENSORS_LENGTH = 8 };
static const char WEIGHTS[] = "{\"__metadata__\":{\"hws_";

/* How files begin that are written before config.json; NULL: it is written later, so that it is none of
   a run that is not there. */
static const struct {
    run_file file;
    const char *beginning;
    size_t at;
} FILES[] = {{RUN_PLAN, "{\n  \"hws_plan\": ", 0},
             {RUN_FOLD, "[\n    {\n        \"train\": [", 0},
             {RUN_FEATURES, "column,word,mean,std\n", 0},
             {RUN_MISLABELLED, "example,label,given\n", 0},
             {RUN_FIRST, WEIGHTS, SAFETENSORS_LENGTH},
             {RUN_LATEST, WEIGHTS, SAFETENSORS_LENGTH},
             {RUN_PREVIOUS, WEIGHTS, SAFETENSORS_LENGTH},
             {RUN_BEST, NULL, 0},
             {RUN_HISTORY, NULL, 0},
             {RUN_DISTRIBUTION, NULL, 0},
             {RUN_LOSSES, NULL, 0},
             {RUN_HARDEST, NULL, 0},
             {RUN_HARDEST_PICTURES, NULL, 0},
             {RUN_TRIAGE, NULL, 0},
             {RUN_TRIAGE_PICTURES, NULL, 0},
             {RUN_LOG, NULL, 0}};

static int is_ours(const char *path, const char *beginning, size_t at) {
    char bytes[BEGINNING_SIZE];
    return beginning && file_beginning(path, bytes) && memcmp(bytes + at, beginning, strlen(beginning)) == 0;
}

status_code own_folder_check(const char *folder, failure *failure) {
    char path[PATH_SIZE];
    for (size_t k = 0; k < sizeof FILES / sizeof *FILES; k++) {
        if (!run_has(folder, FILES[k].file)) continue;
        const status_code status = run_path(path, folder, FILES[k].file, failure);
        if (status != STATUS_OK) return status;
        if (is_ours(path, FILES[k].beginning, FILES[k].at)) continue;
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s is there already, and a run would replace it; name another folder with --out, or move the "
                    "file away",
                    path);
    }
    return STATUS_OK;
}
