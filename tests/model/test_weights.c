#define _GNU_SOURCE /* mkdtemp */
#include "failing_memory.h"
#include "model/model.h"
#include "model/weights.h"
#include "testing.h"

#include <unistd.h>

static char folder[] = "/tmp/hws-weights-XXXXXX";
static char path[100];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static graph *open_network(const char *name, shape input, uint64_t seed) {
    model_options options;
    graph *g;
    failure failure = {0};
    assert_int_equal(model_parse(name, &options, &failure), STATUS_OK);
    options.input = input;
    options.classes = 3;
    if (options.kind == MODEL_UNET) {
        options.unet_levels = 2;
        options.unet_base = 4;
        options.unet_bias = 1;
        memcpy(options.unet_stride[1], (int[3]){1, 2, 2}, sizeof options.unet_stride[1]);
    }
    if (model_open(&options, &(graph_options){.threads = 1}, &g, &failure) != STATUS_OK)
        fail_msg("%s", failure.message);
    graph_initialise(g, seed);
    for (size_t k = 0; k < graph_running_floats(g); k++) graph_running(g)[k] += 0.001f * (float)(seed + k);
    return g;
}

static graph *some_wrn(uint64_t seed) { return open_network("wrn-10-1", (shape){2, {1, 8, 8}, 1}, seed); }

static void save(graph *g, int64_t steps) {
    failure failure = {0};
    if (weights_save(g, steps, path, &failure) != STATUS_OK) fail_msg("%s", failure.message);
}

static int equal(graph *a, graph *b) {
    for (int i = 0; i < graph_parameter_count(a); i++) {
        const parameter *p = graph_parameter(a, i);
        const float *x = (p->running ? graph_running(a) : graph_values(a)) + p->offset;
        const float *y = (p->running ? graph_running(b) : graph_values(b)) + p->offset;
        if (memcmp(x, y, p->count * sizeof *x) != 0) return 0;
    }
    return 1;
}

static void weights_come_back_to_the_bit(void **state) {
    (void)state;
    const struct {
        const char *name;
        shape input;
    } networks[] = {{"wrn-10-1", {2, {1, 8, 8}, 1}}, {"unet", {1, {3, 8, 8}, 2}}, {"mlp-2-7", {4, {1, 1, 1}, 11}}};
    for (size_t k = 0; k < 3; k++) {
        graph *a = open_network(networks[k].name, networks[k].input, 1);
        graph *b = open_network(networks[k].name, networks[k].input, 2);
        failure failure = {0};
        int64_t steps = -1;
        save(a, 17);
        assert_false(equal(a, b));
        if (weights_load(b, path, &steps, &failure) != STATUS_OK) fail_msg("%s", failure.message);
        assert_true(equal(a, b));
        assert_int_equal(steps, k == 0 ? 17 : 0); /* only batch normalisation counts */
        graph_close(&a);
        graph_close(&b);
    }
}

static void the_file_has_the_names_shapes_and_order_of_pytorch(void **state) {
    (void)state;
    graph *g = some_wrn(1);
    safetensors *file;
    failure failure = {0};
    save(g, 5);
    assert_int_equal(safetensors_open(&file, path, &failure), STATUS_OK);
    float weight[32 * 16 * 9];
    int64_t tracked;
    assert_int_equal(
        safetensors_copy(file,
                         &(safetensors_entry){"blocks.1.conv1.weight", SAFETENSORS_F32, 4, (size_t[]){32, 16, 3, 3}},
                         weight, &failure),
        STATUS_OK);
    assert_int_equal(safetensors_copy(file, &(safetensors_entry){"norm.num_batches_tracked", SAFETENSORS_I64, 0, NULL},
                                      &tracked, &failure),
                     STATUS_OK);
    assert_int_equal(tracked, 5);
    for (int i = 0; i < graph_parameter_count(g); i++) {
        const parameter *p = graph_parameter(g, i);
        if (strcmp(p->name, "blocks.1.conv1.weight") != 0) continue;
        const float *inside = graph_values(g) + p->offset; /* [tap][input][output] */
        assert_true(weight[(7 * 16 + 5) * 9 + 4] == inside[(4 * 16 + 5) * 32 + 7]);
    }
    safetensors_close(&file);
    graph_close(&g);
}

/* A file of this network in which one thing is different. */
typedef struct change {
    const char *leave_out, *extra, *change;
    safetensors_dtype dtype;
    size_t rank, shape[4];
    double value;
} change;

static void write_changed(const change *c) {
    graph *g = some_wrn(1);
    safetensors *file;
    safetensors_writer *writer;
    failure failure = {0};
    char original[120];
    static double filling[40000];
    save(g, 3);
    graph_close(&g);
    for (size_t k = 0; k < sizeof filling / sizeof *filling; k++)
        c->dtype == SAFETENSORS_F32 ? (void)(((float *)filling)[k] = (float)c->value) : (void)(filling[k] = c->value);
    snprintf(original, sizeof original, "%s.original", path);
    assert_int_equal(rename(path, original), 0);
    assert_int_equal(safetensors_open(&file, original, &failure), STATUS_OK);
    assert_int_equal(safetensors_writer_open(&writer, &failure), STATUS_OK);
    for (size_t k = 0; k < safetensors_count(file); k++) {
        const safetensor *t = safetensors_at(file, k);
        if (c->leave_out && strcmp(t->name, c->leave_out) == 0) continue;
        if (c->change && strcmp(t->name, c->change) == 0)
            assert_int_equal(
                safetensors_add(writer, &(safetensors_entry){t->name, c->dtype, c->rank, c->shape}, filling, &failure),
                STATUS_OK);
        else
            assert_int_equal(
                safetensors_add(writer, &(safetensors_entry){t->name, t->dtype, t->rank, t->shape}, t->data, &failure),
                STATUS_OK);
    }
    if (c->extra)
        assert_int_equal(
            safetensors_add(writer, &(safetensors_entry){c->extra, SAFETENSORS_F32, 0, NULL}, filling, &failure),
            STATUS_OK);
    assert_int_equal(safetensors_write(writer, path, &failure), STATUS_OK);
    safetensors_writer_close(&writer);
    safetensors_close(&file);
    unlink(original);
}

static void what_does_not_fit_is_named_and_changes_nothing(void **state) {
    (void)state;
    const struct {
        change change;
        const char *says;
    } cases[] = {
        {{.leave_out = "classifier.bias"}, "classifier.bias"},
        {{.leave_out = "blocks.0.norm2.running_var"}, "blocks.0.norm2.running_var"},
        {{.leave_out = "norm.num_batches_tracked"}, "norm.num_batches_tracked"},
        {{.extra = "classifier.scale"}, "classifier.scale"},
        {{.extra = "hwsx"}, "hwsx"},
        {{.change = "conv.weight", .dtype = SAFETENSORS_F64, .rank = 4, .shape = {16, 1, 3, 3}}, "F64"},
        {{.change = "conv.weight", .dtype = SAFETENSORS_F32, .rank = 4, .shape = {1, 16, 3, 3}}, "[16, 1, 3, 3]"},
        {{.change = "norm.bias", .dtype = SAFETENSORS_F32, .rank = 1, .shape = {64}, .value = NAN}, "norm.bias"},
        {{.change = "norm.running_var", .dtype = SAFETENSORS_F32, .rank = 1, .shape = {64}, .value = -1}, "-1"},
        {{.change = "norm.num_batches_tracked", .dtype = SAFETENSORS_I32, .rank = 0}, "I32"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        graph *g = some_wrn(2), *same = some_wrn(2);
        failure failure = {0};
        write_changed(&cases[k].change);
        assert_int_equal(weights_load(g, path, NULL, &failure), STATUS_CORRUPT);
        if (!strstr(failure.message, cases[k].says) || !strstr(failure.message, path))
            fail_msg("'%s' does not say '%s'", failure.message, cases[k].says);
        assert_true(equal(g, same));
        graph_close(&g);
        graph_close(&same);
    }
}

static void what_belongs_to_a_checkpoint_is_passed_over(void **state) {
    (void)state;
    graph *g = some_wrn(2);
    failure failure = {0};
    write_changed(&(change){.extra = "hws.optimizer"});
    if (weights_load(g, path, NULL, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    graph_close(&g);
}

static void a_missing_file_and_missing_memory_are_reported(void **state) {
    (void)state;
    graph *g = some_wrn(1);
    failure failure = {0};
    save(g, 0);
    memory_fail_after(0);
    assert_int_equal(weights_save(g, 0, path, &failure), STATUS_OUT_OF_MEMORY);
    memory_fail_after(0);
    assert_int_equal(weights_load(g, path, NULL, &failure), STATUS_OUT_OF_MEMORY);
    memory_fail_after(-1);
    unlink(path);
    assert_int_equal(weights_load(g, path, NULL, &failure), STATUS_CANNOT_READ);
    graph_close(&g);
}

/* The published numbers of parameters, and some of torchvision's names. */
static void residual_networks_have_torchvisions_parameters(void **state) {
    (void)state;
    static const struct {
        const char *model;
        size_t count;
    } KNOWN[] = {{"resnet-18", 11689512}, {"resnet-34", 21797672}, {"resnet-50", 25557032}};
    for (int k = 0; k < 3; k++) {
        model_options options;
        graph *g = NULL;
        assert_int_equal(model_parse(KNOWN[k].model, &options, NULL), STATUS_OK);
        options.input = (shape){1, {1, 32, 32}, 3};
        options.classes = 1000;
        assert_int_equal(model_open(&options, &(graph_options){.inference = 1}, &g, NULL), STATUS_OK);
        size_t count = 0, found = 0;
        for (int i = 0; i < graph_parameter_count(g); i++) {
            const parameter *p = graph_parameter(g, i);
            count += p->running ? 0 : p->count;
            found += !strcmp(p->name, "layer2.0.downsample.1.running_var") || !strcmp(p->name, "layer4.1.bn2.weight") ||
                     !strcmp(p->name, "conv1.weight") || !strcmp(p->name, "fc.bias");
        }
        assert_int_equal(count, KNOWN[k].count);
        assert_int_equal(found, 4);
        graph_close(&g);
    }
    model_options options;
    assert_int_equal(model_parse("resnet-20", &options, NULL), STATUS_BAD_INPUT);
    assert_int_equal(model_parse("resnet-18x", &options, NULL), STATUS_BAD_INPUT);
    assert_int_equal(model_parse("wrn-4294967312-1", &options, NULL), STATUS_BAD_INPUT); /* 2^32 + 16 */
    assert_int_equal(model_parse("mlp-1-4294967303", &options, NULL), STATUS_BAD_INPUT);
}

static graph *wrn_for(int classes) {
    model_options options;
    graph *g = NULL;
    assert_int_equal(model_parse("wrn-10-1", &options, NULL), STATUS_OK);
    options.input = (shape){2, {1, 8, 8}, 1};
    options.classes = classes;
    assert_int_equal(model_open(&options, &(graph_options){.threads = 1}, &g, NULL), STATUS_OK);
    graph_initialise(g, (uint64_t)classes);
    return g;
}

/* Weights of another number of classes: all but the last layer are taken. */
static void the_last_layer_is_replaced_for_other_classes(void **state) {
    (void)state;
    char path[] = "/tmp/hws_begin_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    graph *from = wrn_for(5), *same = wrn_for(5), *other = wrn_for(3), *fresh = wrn_for(3);
    int replaced = -1;
    assert_int_equal(weights_save(from, 7, path, NULL), STATUS_OK);
    graph_initialise(same, 99);
    assert_int_equal(weights_begin(same, path, &replaced, NULL), STATUS_OK);
    assert_int_equal(replaced, 0);
    assert_memory_equal(graph_values(same), graph_values(from), graph_trained_floats(from) * sizeof(float));
    assert_int_equal(weights_load(other, path, NULL, NULL), STATUS_CORRUPT);
    assert_int_equal(weights_begin(other, path, &replaced, NULL), STATUS_OK);
    assert_int_equal(replaced, 5);
    for (int i = 0; i < graph_parameter_count(other); i++) {
        const parameter *p = graph_parameter(other, i);
        if (p->running) continue;
        const graph *expected = strncmp(p->name, "classifier.", 11) == 0 ? fresh : from;
        assert_memory_equal(graph_values(other) + p->offset,
                            graph_values((graph *)expected) + graph_parameter(expected, i)->offset,
                            p->count * sizeof(float));
    }
    graph_close(&from);
    graph_close(&same);
    graph_close(&other);
    graph_close(&fresh);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_come_back_to_the_bit),
        cmocka_unit_test(the_file_has_the_names_shapes_and_order_of_pytorch),
        cmocka_unit_test(what_does_not_fit_is_named_and_changes_nothing),
        cmocka_unit_test(what_belongs_to_a_checkpoint_is_passed_over),
        cmocka_unit_test(a_missing_file_and_missing_memory_are_reported),
        cmocka_unit_test(residual_networks_have_torchvisions_parameters),
        cmocka_unit_test(the_last_layer_is_replaced_for_other_classes),
    };
    return cmocka_run_group_tests_name("weights", tests, make_folder, remove_folder);
}
