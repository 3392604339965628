/* Which networks there are, and what is refused: with which words, and before anything is built. */
#include "model/model.h"
#include "testing.h"

static void names_are_read_as_they_are_written(void **state) {
    (void)state;
    static const char *const NAMES[] = {"wrn-10-1",  "wrn-28-64", "wrn-1000-2", "mlp-0-1", "mlp-1000-1048576",
                                        "resnet-18", "resnet-34", "resnet-50",  "unet",    "resenc"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        model_options options;
        char name[32];
        failure failure = {0};
        if (model_parse(NAMES[k], &options, &failure) != STATUS_OK) fail_msg("%s", failure.message);
        model_name(&options, name, sizeof name);
        assert_string_equal(name, NAMES[k]);
    }
}

static void names_of_no_network_are_refused(void **state) {
    (void)state;
    static const char WRN[] = ": the depth of a wide residual network is 10, 16, 22, 28 and so on, its width 1 to 64";
    static const char MLP[] = ": mlp-L-m needs L of 0 to 1000 and m of 1 to 1048576";
    static const char RESNET[] = ": there are resnet-18, resnet-34 and resnet-50";
    static const struct {
        const char *name, *says;
    } WRONG[] = {
        {"wrn-4-1", WRN},          {"wrn-12-1", WRN},          {"wrn-1006-1", WRN},       {"wrn-16-0", WRN},
        {"wrn-16-65", WRN},        {"wrn--16-1", WRN},         {"mlp--1-4", MLP},         {"mlp-1001-4", MLP},
        {"mlp-1-0", MLP},          {"mlp-1-1048577", MLP},     {"resnet-20", RESNET},     {"resnet-18x", RESNET},
        {"resnet-018", RESNET},    {"wrn-16", "no model"},     {"wrn- 16-1", "no model"}, {"mlp-+2-4", "no model"},
        {"mlp-2-64-", "no model"}, {"wrn-16-1-1", "no model"}, {"Unet", "no model"},      {"", "no model"}};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
        model_options options;
        failure failure = {0};
        char quoted[40];
        snprintf(quoted, sizeof quoted, "'%s'", WRONG[k].name);
        assert_int_equal(model_parse(WRONG[k].name, &options, &failure), STATUS_BAD_INPUT);
        if (!strstr(failure.message, quoted) || !strstr(failure.message, WRONG[k].says))
            fail_msg("%s is refused with '%s'", WRONG[k].name, failure.message);
    }
}

static model_options good_unet(void) {
    model_options options;
    assert_int_equal(model_parse("unet", &options, NULL), STATUS_OK);
    options.input = (shape){1, {8, 16, 24}, 1};
    options.classes = 3;
    options.unet_base = 2;
    return options;
}

/* Neither checked nor opened, and both say the same. */
static void refused(const model_options *options, const char *message) {
    graph *g = (graph *)&g;
    failure checked = {0}, opened = {0};
    assert_int_equal(model_check(options, &checked), STATUS_BAD_INPUT);
    assert_string_equal(checked.message, message);
    assert_int_equal(model_open(options, &(graph_options){.threads = 1}, &g, &opened), STATUS_BAD_INPUT);
    assert_string_equal(opened.message, message);
    assert_null(g);
}

/* The good U-Net with one number replaced. */
#define REFUSED(number, value, message)                                                                                \
    do {                                                                                                               \
        model_options options = good_unet();                                                                           \
        options.number = (value);                                                                                      \
        refused(&options, message);                                                                                    \
    } while (0)

static void unets_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const char FEATURES[] = "a U-Net has 1 to 4096 features, and at most one head per level but the coarsest";
    static const char BLOCKS[] = "a U-Net has residual blocks in all levels or in none, and none with max pooling";
    graph *g;
    const model_options good = good_unet();
    assert_int_equal(model_open(&good, &(graph_options){.threads = 1}, &g, NULL), STATUS_OK);
    graph_close(&g);
    REFUSED(classes, 0, "0 classes are not 1 to 4096");
    REFUSED(classes, 4097, "4097 classes are not 1 to 4096");
    REFUSED(unet_levels, 1, "a U-Net has 2 to 12 levels, not 1");
    REFUSED(unet_levels, 13, "a U-Net has 2 to 12 levels, not 13");
    REFUSED(unet_base, 0, FEATURES);
    REFUSED(unet_base, 4097, FEATURES);
    REFUSED(unet_cap, 0, FEATURES);
    REFUSED(unet_cap, 4097, FEATURES);
    REFUSED(unet_heads, -1, FEATURES);
    REFUSED(unet_heads, 4, FEATURES);
    REFUSED(unet_blocks[0], 1, BLOCKS); /* and none in the others */
    REFUSED(unet_blocks[2], 1, BLOCKS);
    REFUSED(unet_blocks[1], -1, BLOCKS);
    REFUSED(unet_kernel[1][2], 2, "level 1 of the U-Net: kernel 2, stride 2 is not possible");
    REFUSED(unet_kernel[3][0], 7, "level 3 of the U-Net: kernel 7, stride 2 is not possible");
    REFUSED(unet_stride[2][1], 0, "level 2 of the U-Net: kernel 3, stride 0 is not possible");
    REFUSED(unet_stride[2][1], 9, "level 2 of the U-Net: kernel 3, stride 9 is not possible");
    REFUSED(unet_stride[0][1], 2, "level 0 of the U-Net: kernel 3, stride 2 is not possible");
    REFUSED(input.size[0], 12, "a patch of 12x16x24 cannot be halved often enough: axis 0 must be a multiple of 8");
    REFUSED(unet_stride[3][2], 8, "a patch of 8x16x24 cannot be halved often enough: axis 2 must be a multiple of 32");
}

static void residual_blocks_and_max_pooling_exclude_each_other(void **state) {
    (void)state;
    model_options options = good_unet();
    options.unet_max_pool = 1;
    assert_int_equal(model_check(&options, NULL), STATUS_OK);
    for (int level = 0; level < options.unet_levels; level++) options.unet_blocks[level] = 1;
    refused(&options, "a U-Net has residual blocks in all levels or in none, and none with max pooling");
    options.unet_max_pool = 0;
    assert_int_equal(model_check(&options, NULL), STATUS_OK);
}

/* 8 to the 11th is more than an int holds. */
static void the_largest_strides_are_counted_right(void **state) {
    (void)state;
    model_options options = good_unet();
    options.unet_levels = MODEL_MAX_LEVELS;
    for (int level = 1; level < MODEL_MAX_LEVELS; level++) options.unet_stride[level][0] = 8;
    refused(&options, "a patch of 8x16x24 cannot be halved often enough: axis 0 must be a multiple of 8589934592");
}

static void classifiers_refuse_what_is_no_picture_or_vector(void **state) {
    (void)state;
    static const char *const NAMES[] = {"wrn-10-1", "resnet-18", "mlp-1-4", "mlp-1-4", "mlp-1-4"};
    static const shape INPUTS[] = {
        {1, {2, 8, 8}, 1}, {1, {2, 32, 32}, 3}, {1, {2, 1, 1}, 1}, {1, {1, 8, 1}, 1}, {1, {1, 1, 8}, 1}};
    for (int k = 0; k < 5; k++) {
        model_options options;
        assert_int_equal(model_parse(NAMES[k], &options, NULL), STATUS_OK);
        options.input = INPUTS[k];
        options.classes = 2;
        refused(&options, k < 2 ? "a residual network takes pictures, not volumes"
                                : "a fully connected network takes vectors: 1x1x1 with all as channels");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_as_they_are_written),
        cmocka_unit_test(names_of_no_network_are_refused),
        cmocka_unit_test(unets_that_cannot_be_are_refused),
        cmocka_unit_test(residual_blocks_and_max_pooling_exclude_each_other),
        cmocka_unit_test(the_largest_strides_are_counted_right),
        cmocka_unit_test(classifiers_refuse_what_is_no_picture_or_vector),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
