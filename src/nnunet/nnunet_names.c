#include "nnunet/nnunet_names.h"

#include <stdio.h>
#include <string.h>

/* The skip of a residual block is a sequence: an average pool, where there is a stride, stands
   before the convolution. */
static int skip_place(const topology_stage *stage) {
    return stage->stride[0] > 1 || stage->stride[1] > 1 || stage->stride[2] > 1;
}

static int residual_name(const char *rest, const topology *topology, int level, int block,
                         char name[NNUNET_NAME_SIZE]) {
    static const char SKIP[] = "skip.";
    if (strncmp(rest, SKIP, sizeof SKIP - 1) == 0)
        return snprintf(name, NNUNET_NAME_SIZE, "encoder.stages.%d.blocks.%d.skip.%d.%s", level, block,
                        skip_place(&topology->stages[level]), rest + sizeof SKIP - 1);
    return snprintf(name, NNUNET_NAME_SIZE, "encoder.stages.%d.blocks.%d.%s", level, block, rest);
}

static int is_level(const topology *topology, int level) { return level >= 0 && level < topology->count; }

int nnunet_name(const char *ours, const topology *topology, char name[NNUNET_NAME_SIZE]) {
    int level = -1, index = 0, at = 0, length = 0;
    if (sscanf(ours, "encoder.%d.%d.%n", &level, &index, &at) == 2 && at && is_level(topology, level))
        length = topology->stages[level].blocks
                     ? residual_name(ours + at, topology, level, index, name)
                     : snprintf(name, NNUNET_NAME_SIZE, "encoder.stages.%d.0.convs.%d.%s", level, index, ours + at);
    else if (sscanf(ours, "decoder.%d.%d.%n", &level, &index, &at) == 2 && at && is_level(topology, level))
        length = snprintf(name, NNUNET_NAME_SIZE, "decoder.stages.%d.convs.%d.%s", topology->count - 2 - level, index,
                          ours + at);
    else if (sscanf(ours, "up.%d.%n", &level, &at) == 1 && at && is_level(topology, level))
        length = snprintf(name, NNUNET_NAME_SIZE, "decoder.transpconvs.%d.%s", topology->count - 2 - level, ours + at);
    else if (sscanf(ours, "heads.%d.%n", &level, &at) == 1 && at && is_level(topology, level))
        length = snprintf(name, NNUNET_NAME_SIZE, "decoder.seg_layers.%d.%s", topology->count - 2 - level, ours + at);
    else if (strncmp(ours, "stem.", 5) == 0)
        length = snprintf(name, NNUNET_NAME_SIZE, "encoder.stem.convs.0.%s", ours + 5);
    return length > 0 && length < NNUNET_NAME_SIZE;
}

int nnunet_name_is_double(const char *name) {
    return strstr(name, "decoder.encoder.") != NULL || strstr(name, ".all_modules.") != NULL;
}
