#include "model/model.h"

#include <stdio.h>
#include <string.h>

enum { MLP_MOST_LAYERS = 1000, MLP_MOST_NODES = 1 << 20, UNET_MOST_FEATURES = 4096 };

/* Reads "PREFIX-a-b" whole; numbers of ten digits and more, which an int may not hold, are none, nor is
   what sscanf would pass over. */
static int two_numbers(const char *text, const char *prefix, int *a, int *b) {
    const size_t length = strlen(prefix);
    int end = -1;
    return strncmp(text, prefix, length) == 0 && sscanf(text + length, "%9d-%9d%n", a, b, &end) == 2 && end > 0 &&
           text[length + (size_t)end] == 0 && !strpbrk(text, "+ \t\n\v\f\r");
}

static status_code check_mlp(const model_options *options, const char *text, failure *failure) {
    const int layers = options->mlp_layers, nodes = options->mlp_nodes;
    if (layers >= 0 && layers <= MLP_MOST_LAYERS && nodes >= 1 && nodes <= MLP_MOST_NODES) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "'%s': mlp-L-m needs L of 0 to %d and m of 1 to %d", text, MLP_MOST_LAYERS,
                MLP_MOST_NODES);
}

status_code model_parse(const char *text, model_options *options, failure *failure) {
    *options = (model_options){.kind = MODEL_UNET};
    if (strcmp(text, "unet") == 0) {
        model_unet_defaults(options, 3);
        return STATUS_OK;
    }
    if (strcmp(text, "resenc") == 0) {
        model_unet_defaults(options, 3);
        options->unet_bias = 1;
        for (int level = 0; level < MODEL_MAX_LEVELS; level++)
            options->unet_blocks[level] = level < 3 ? (const int[]){1, 3, 4}[level] : 6;
        return STATUS_OK;
    }
    if (two_numbers(text, "wrn-", &options->wrn_depth, &options->wrn_width)) {
        options->kind = MODEL_WRN;
        if (options->wrn_depth < 10 || options->wrn_depth > 1000 || (options->wrn_depth - 4) % 6 ||
            options->wrn_width < 1 || options->wrn_width > 64)
            return fail(failure, STATUS_BAD_INPUT,
                        "'%s': the depth of a wide residual network is 10, 16, 22, 28 and so on, its width 1 to 64",
                        text);
        return STATUS_OK;
    }
    if (sscanf(text, "resnet-%d", &options->resnet_depth) == 1) {
        char name[32];
        options->kind = MODEL_RESNET;
        model_name(options, name, sizeof name);
        const int depth = options->resnet_depth;
        if (strcmp(text, name) != 0 || (depth != 18 && depth != 34 && depth != 50))
            return fail(failure, STATUS_BAD_INPUT, "'%s': there are resnet-18, resnet-34 and resnet-50", text);
        return STATUS_OK;
    }
    if (two_numbers(text, "mlp-", &options->mlp_layers, &options->mlp_nodes)) {
        options->kind = MODEL_MLP;
        return check_mlp(options, text, failure);
    }
    return fail(failure, STATUS_BAD_INPUT,
                "there is no model '%s': choose one such as wrn-16-1, resnet-18, mlp-2-64, unet or resenc", text);
}

void model_unet_defaults(model_options *options, int dimensions) {
    options->unet_levels = 4;
    options->unet_base = 32;
    options->unet_cap = dimensions == 3 ? 320 : 512;
    for (int level = 0; level < MODEL_MAX_LEVELS; level++)
        for (int axis = 0; axis < 3; axis++) {
            const int flat = axis == 0 && dimensions < 3;
            options->unet_kernel[level][axis] = flat ? 1 : 3;
            options->unet_stride[level][axis] = flat || level == 0 ? 1 : 2;
        }
}

void model_name(const model_options *options, char *name, size_t size) {
    if (options->kind == MODEL_WRN) snprintf(name, size, "wrn-%d-%d", options->wrn_depth, options->wrn_width);
    if (options->kind == MODEL_RESNET) snprintf(name, size, "resnet-%d", options->resnet_depth);
    if (options->kind == MODEL_MLP) snprintf(name, size, "mlp-%d-%d", options->mlp_layers, options->mlp_nodes);
    if (options->kind == MODEL_UNET) snprintf(name, size, "%s", options->unet_blocks[0] ? "resenc" : "unet");
}

static status_code check_unet(const model_options *options, failure *failure) {
    if (options->unet_levels < 2 || options->unet_levels > MODEL_MAX_LEVELS)
        return fail(failure, STATUS_BAD_INPUT, "a U-Net has 2 to %d levels, not %d", MODEL_MAX_LEVELS,
                    options->unet_levels);
    if (options->unet_base < 1 || options->unet_cap < 1 || options->unet_heads < 0 ||
        options->unet_heads > options->unet_levels - 1 || options->unet_base > UNET_MOST_FEATURES ||
        options->unet_cap > UNET_MOST_FEATURES)
        return fail(failure, STATUS_BAD_INPUT,
                    "a U-Net has 1 to %d features, and at most one head per level but the coarsest",
                    UNET_MOST_FEATURES);
    for (int level = 0; level < options->unet_levels; level++)
        if (options->unet_blocks[level] < 0 || !options->unet_blocks[level] != !options->unet_blocks[0] ||
            (options->unet_blocks[level] && options->unet_max_pool))
            return fail(failure, STATUS_BAD_INPUT,
                        "a U-Net has residual blocks in all levels or in none, and none with max pooling");
    for (int axis = 0; axis < 3; axis++) {
        int64_t factor = 1; /* an int may not hold it */
        for (int level = 0; level < options->unet_levels; level++) {
            const int kernel = options->unet_kernel[level][axis], stride = options->unet_stride[level][axis];
            if ((kernel != 1 && kernel != 3 && kernel != 5) || stride < 1 || stride > 8 || (level == 0 && stride != 1))
                return fail(failure, STATUS_BAD_INPUT, "level %d of the U-Net: kernel %d, stride %d is not possible",
                            level, kernel, stride);
            factor *= stride;
        }
        if (options->input.size[axis] % factor)
            return fail(failure, STATUS_BAD_INPUT,
                        "a patch of %dx%dx%d cannot be halved often enough: axis %d must be a multiple of %lld",
                        options->input.size[0], options->input.size[1], options->input.size[2], axis,
                        (long long)factor);
    }
    return STATUS_OK;
}

status_code model_check(const model_options *options, failure *failure) {
    const shape *in = &options->input;
    if (options->classes < 1 || options->classes > 4096)
        return fail(failure, STATUS_BAD_INPUT, "%d classes are not 1 to 4096", options->classes);
    if (options->kind == MODEL_UNET) return check_unet(options, failure);
    if ((options->kind == MODEL_WRN || options->kind == MODEL_RESNET) && in->size[0] != 1)
        return fail(failure, STATUS_BAD_INPUT, "a residual network takes pictures, not volumes");
    if (options->kind == MODEL_MLP && (in->size[0] != 1 || in->size[1] != 1 || in->size[2] != 1))
        return fail(failure, STATUS_BAD_INPUT, "a fully connected network takes vectors: 1x1x1 with all as channels");
    return STATUS_OK;
}

status_code model_open(const model_options *options, const graph_options *graph_options, graph **graph,
                       failure *failure) {
    *graph = 0;
    status_code status = model_check(options, failure);
    if (status != STATUS_OK) return status;
    *graph = graph_open(graph_options);
    if (!*graph) return fail_memory(failure, "a network");
    const tensor input = graph_input(*graph, options->input);
    if (options->kind == MODEL_MLP) mlp_build(*graph, options, input);
    if (options->kind == MODEL_WRN) wrn_build(*graph, options, input);
    if (options->kind == MODEL_RESNET) resnet_build(*graph, options, input);
    if (options->kind == MODEL_UNET) unet_build(*graph, options, input);
    status = graph_plan(*graph, failure);
    if (status != STATUS_OK) graph_close(graph);
    return status;
}
