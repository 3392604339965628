/* ONNX models of classifiers: of pictures and of the rows of a table. */
#include "onnx_reader.h"
#include "small_classifier.h"

enum { CLASSES = 3, MOST_INPUTS = 5, MOST_VALUES = 512 };

static const char *const NAMES[CLASSES] = {"cat", "dog", "a \"bird\""};

static void write_run(const char *name, const char *model, const int size[3], int has_names) {
    const run_facts facts = {.version = "0",
                             .task = TASK_CLASSIFICATION,
                             .examples = 1,
                             .test_examples = 1,
                             .class_count = CLASSES,
                             .class_names = has_names ? NAMES : NULL,
                             .height = size[0],
                             .width = size[1],
                             .channels = size[2],
                             .pixel_mean = 0.5,
                             .pixel_std = 0.25};
    small_classifier_write(work_path(name), model, &facts, 5);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

typedef struct node {
    span operator, inputs[MOST_INPUTS], output;
    int input_count;
    span message;
} node;

static node node_of(span message) {
    node n = {.operator= part(message, 4), .output = part(message, 2), .message = message};
    field f;
    while (next_field(&message, &f)) {
        if (f.number != 1) continue;
        assert_true(n.input_count < MOST_INPUTS);
        n.inputs[n.input_count++] = f.bytes;
    }
    return n;
}

/* The attribute's numbers, whether it has one or a list. */
static int numbers_of(span message, const char *name, int64_t *values) {
    int count = 0;
    field f, number;
    while (next_field(&message, &f)) {
        if (f.number != 5 || !is(part(f.bytes, 1), name)) continue;
        for (span rest = f.bytes; next_field(&rest, &number);)
            if (number.number == 3 || number.number == 8) values[count++] = (int64_t)number.value;
    }
    return count;
}

static int ends_with(span s, const char *word) {
    const size_t size = strlen(word);
    return length(s) >= size && memcmp(s.end - size, word, size) == 0;
}

/* Parameters come in the order that ONNX wants. */
static void check_order(const node *n) {
    static const char *const ORDER[] = {".weight", ".bias", ".running_mean", ".running_var"};
    if (is(n->operator, "BatchNormalization")) assert_int_equal(n->input_count, 5);
    for (int k = 1; k < n->input_count && !is(n->operator, "Add"); k++)
        assert_true(ends_with(n->inputs[k], ORDER[k - 1]));
}

/* The operators of a model, one after the other. */
static void operators_are(const char *file, const char *expected) {
    char *bytes;
    text list = {0};
    field f;
    for (span rest = part(load(file, &bytes), 7); next_field(&rest, &f);) {
        if (f.number != 1) continue;
        const node n = node_of(f.bytes);
        text_format(&list, "%s%.*s", list.size ? " " : "", (int)length(n.operator), n.operator.at);
        check_order(&n);
    }
    assert_string_equal(text_string(&list), expected);
    text_close(&list);
    free(bytes);
}

#define BLOCK "BatchNormalization Relu Conv BatchNormalization Relu Conv Add "      /* of a wide residual network */
#define WIDER "BatchNormalization Relu Conv Conv BatchNormalization Relu Conv Add " /* with a shortcut of its own */
#define BASIC "Conv BatchNormalization Relu Conv BatchNormalization Add Relu "      /* of torchvision's networks */
#define DOWN "Conv BatchNormalization Conv BatchNormalization Relu Conv BatchNormalization Add Relu "
#define END "GlobalAveragePool Flatten Gemm Identity"

static void files_that_are_no_models_stay(void **state) {
    (void)state;
    failure why = {0};
    onnx_export_outcome outcome;
    char output[PATH_SIZE];
    write_run("kept", "mlp-1-6", (const int[3]){4, 5, 3}, 1);
    snprintf(output, sizeof output, "%s", work_path("kept/config.json"));
    const onnx_export_request request = {.run = work_path("kept"), .output = output};
    assert_int_equal(onnx_export(&request, &outcome, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "is there already and is not called .onnx"));
}

static void models_are_sound_and_hold_the_weights(void **state) {
    (void)state;
    static const struct {
        const char *name, *model;
        int size[3];
        const char *input, *shape, *operators;
    } MODELS[] = {{"pictures",
                   "mlp-1-6",
                   {4, 5, 3},
                   "image",
                   "batch x 3 x 4 x 5",
                   "Transpose Flatten Gemm Relu Gemm Relu Gemm Identity"},
                  {"table", "mlp-0-6", {1, 1, 7}, "features", "batch x 7", "Gemm Relu Gemm Identity"},
                  {"wide",
                   "wrn-10-1",
                   {8, 12, 1},
                   "image",
                   "batch x 1 x 8 x 12",
                   "Conv " BLOCK WIDER WIDER "BatchNormalization Relu " END},
                  {"residual",
                   "resnet-18",
                   {32, 40, 3},
                   "image",
                   "batch x 3 x 32 x 40",
                   "Conv BatchNormalization Relu MaxPool " BASIC BASIC DOWN BASIC DOWN BASIC DOWN BASIC END}};
    for (size_t k = 0; k < sizeof MODELS / sizeof *MODELS; k++) {
        char file[32];
        snprintf(file, sizeof file, "%s.onnx", MODELS[k].name);
        write_run(MODELS[k].name, MODELS[k].model, MODELS[k].size, 1);
        const onnx_export_outcome outcome = export(MODELS[k].name, file);
        assert_string_equal(outcome.input, MODELS[k].input);
        assert_string_equal(outcome.shape, MODELS[k].shape);
        assert_string_equal(outcome.result, "batch x 3");
        check_model(MODELS[k].name, file, 1);
        operators_are(file, MODELS[k].operators);
    }
}

/* ---- logits ------------------------------------------------------------------------------------------------------ */

typedef struct values {
    float at[MOST_VALUES];
    size_t count;
} values;

/* From [channel][height][width] to [height][width][channel]. */
static void transpose(const node *n, const int size[3], values *x) {
    int64_t order[8];
    const values from = *x;
    assert_int_equal(numbers_of(n->message, "perm", order), 4);
    assert_memory_equal(order, ((const int64_t[4]){0, 2, 3, 1}), 4 * sizeof *order);
    const size_t area = (size_t)size[0] * (size_t)size[1], channels = (size_t)size[2];
    for (size_t c = 0; c < channels; c++)
        for (size_t p = 0; p < area; p++) x->at[p * channels + c] = from.at[c * area + p];
}

static void multiply(const node *n, span graph, values *x) {
    int64_t transposed[8];
    const values from = *x;
    field f;
    assert_int_equal(numbers_of(n->message, "transB", transposed), 1);
    assert_int_equal(transposed[0], 1);
    assert_int_equal(n->input_count, 2);
    while (next_field(&graph, &f)) {
        if (f.number != 5 || length(part(f.bytes, 8)) != length(n->inputs[1]) ||
            memcmp(part(f.bytes, 8).at, n->inputs[1].at, length(n->inputs[1])) != 0)
            continue;
        const span weights = part(f.bytes, 9);
        x->count = length(weights) / sizeof(float) / from.count;
        for (size_t row = 0; row < x->count; row++) {
            double sum = 0;
            for (size_t k = 0; k < from.count; k++) {
                float w;
                memcpy(&w, weights.at + (row * from.count + k) * sizeof w, sizeof w);
                sum += (double)w * (double)from.at[k];
            }
            x->at[row] = (float)sum;
        }
        return;
    }
    fail_msg("a Gemm has no weights");
}

/* Does what the nodes of a fully connected network say. */
static void work_out(span graph, const int size[3], values *x) {
    field f;
    for (span rest = graph; next_field(&rest, &f);) {
        if (f.number != 1) continue;
        const node n = node_of(f.bytes);
        if (is(n.operator, "Transpose")) transpose(&n, size, x);
        else if (is(n.operator, "Gemm")) multiply(&n, graph, x);
        else if (is(n.operator, "Relu"))
            for (size_t k = 0; k < x->count; k++) x->at[k] = fmaxf(x->at[k], 0);
        else assert_true(is(n.operator, "Flatten") || is(n.operator, "Identity"));
    }
}

static void fully_connected_networks_give_our_logits(void **state) {
    (void)state;
    static const char *const RUNS[] = {"pictures", "table"}, *const FILES[] = {"pictures.onnx", "table.onnx"};
    static const int SIZES[2][3] = {{4, 5, 3}, {1, 1, 7}};
    uint64_t random = 1;
    for (int k = 0; k < 2; k++) {
        onnx_network n;
        values x = {.count = (size_t)(SIZES[k][0] * SIZES[k][1] * SIZES[k][2])};
        failure failure = {0};
        char *bytes;
        must(onnx_network_open(&n, work_path(RUNS[k]), RUN_WEIGHTS_BEST, &failure), &failure);
        const size_t area = (size_t)(SIZES[k][0] * SIZES[k][1]), channels = (size_t)SIZES[k][2];
        for (size_t i = 0; i < x.count; i++) {
            x.at[i] = (float)test_normal(&random);
            graph_input_values(n.graph)[i % area * channels + i / area] = x.at[i];
        }
        graph_forward(n.graph, 0);
        work_out(part(load(FILES[k], &bytes), 7), SIZES[k], &x);
        assert_int_equal(x.count, CLASSES);
        for (int c = 0; c < CLASSES; c++)
            assert_near((double)x.at[c], (double)graph_output_values(n.graph, 0)[c], 1e-5);
        onnx_network_close(&n);
        free(bytes);
    }
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

static int has_metadata(span model, const char *key) {
    field f;
    while (next_field(&model, &f))
        if (f.number == 14 && is(part(f.bytes, 1), key)) return 1;
    return 0;
}

static void metadata_tell_what_to_do(void **state) {
    (void)state;
    char *bytes;
    span model = load("pictures.onnx", &bytes);
    metadata(model, "task", "classification");
    metadata(model, "labels", "[\"cat\", \"dog\", \"a \\\"bird\\\"\"]");
    metadata(model, "output", "softmax");
    metadata(model, "size", "[4, 5]");
    metadata(model, "pixel_mean", "[0.5]");
    metadata(model, "pixel_std", "[0.25]");
    free(bytes);
    write_run("nameless", "mlp-0-4", (const int[3]){1, 1, 2}, 0);
    export("nameless", "nameless.onnx");
    model = load("nameless.onnx", &bytes);
    metadata(model, "labels", "[\"0\", \"1\", \"2\"]");
    assert_false(has_metadata(model, "size") || has_metadata(model, "pixel_mean")); /* rows are numbers already */
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_sound_and_hold_the_weights),
        cmocka_unit_test(files_that_are_no_models_stay),
        cmocka_unit_test(fully_connected_networks_give_our_logits),
        cmocka_unit_test(metadata_tell_what_to_do),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
