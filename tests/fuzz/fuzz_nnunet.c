/* Bytes as plans.json and dataset.json of a model of nnU-Net (see fuzz_put_files): what is accepted is a
   plan that can be written. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "nnunet/nnunet_plan.h"

static const char *const FILES[] = {"plans.json", "dataset.json"};

static void try_configuration(const char *name, unsigned mirrored) {
    static plan made;
    nnunet_axes axes;
    char **names = NULL;
    failure failure = {0};
    const status_code status = nnunet_plan_read(fuzz_folder(), name, mirrored, &made, &axes, &names, &failure);
    require(status == STATUS_OK || (failure.message[0] && !names));
    if (status == STATUS_OK) {
        require(plan_check(&made, "made", &failure) == STATUS_OK);
        require(axes.dimensions == 2 || axes.dimensions == 3);
        require((1 << axes.order[0] | 1 << axes.order[1] | 1 << axes.order[2]) == 7);
        for (int k = 0; k < made.classes; k++) require(names[k]);
    }
    free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    fuzz_put_files(FILES, 2, data, size);
    try_configuration("3d_fullres", 7);
    try_configuration("2d", 1);
    return 0;
}
