/*
 * oneDNN's convolutions beside ours: reads what `hws bench train --layers --json` writes and prints each line
 * with three numbers more, onednn_forward_ms, onednn_backward_data_ms and onednn_backward_weights_ms; 0 where
 * oneDNN has no such primitive.
 *
 * oneDNN gets what suits it best: the layouts that it asks for, without the conversions to and from them, and the
 * faster of its direct and its automatic algorithm. All lines are read before the first is measured: at the end of a
 * pipe that is when the other program has ended, since two that measure at once measure each other.
 *
 *     hws bench train --model unet --layers --seconds 10 --json | onednn_layers 10
 */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS, PASSES, MOST_RUNS = 4096 };

static const char *const KEYS[PASSES] = {"onednn_forward_ms", "onednn_backward_data_ms", "onednn_backward_weights_ms"};

typedef struct layer {
    int in, out, samples, kernel[3], stride[3], padding[3], size[3], threads, bf16;
} layer;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int whole(const json_t *object, const char *key) {
    return (int)json_integer_value(json_object_get(object, key));
}

static void triple(const json_t *object, const char *key, int to[3]) {
    for (size_t k = 0; k < 3; k++) to[k] = (int)json_integer_value(json_array_get(json_object_get(object, key), k));
}

static layer layer_of(const json_t *object) {
    layer l = {.in = whole(object, "in"),
               .out = whole(object, "out"),
               .samples = whole(object, "samples"),
               .threads = whole(object, "threads")};
    const char *precision = json_string_value(json_object_get(object, "precision"));
    l.bf16 = precision && strcmp(precision, "bf16") == 0;
    triple(object, "kernel", l.kernel);
    triple(object, "stride", l.stride);
    triple(object, "padding", l.padding);
    triple(object, "size", l.size);
    return l;
}

/* The shapes as oneDNN wants them: without the depth where there is none. */
typedef struct problem {
    int flat;
    dnnl_memory_desc_t source, weights, result;
    dnnl_dims_t stride, before, after;
} problem;

static void describe(const layer *l, problem *p) {
    p->flat = l->kernel[0] == 1 && l->size[0] == 1;
    const int first = p->flat, rank = 5 - first;
    dnnl_dims_t source = {l->samples, l->in}, weights = {l->out, l->in}, result = {l->samples, l->out};
    for (int axis = first; axis < 3; axis++) {
        const int k = axis - first, reach = l->size[axis] + 2 * l->padding[axis] - l->kernel[axis];
        source[2 + k] = l->size[axis];
        weights[2 + k] = l->kernel[axis];
        result[2 + k] = reach / l->stride[axis] + 1;
        p->stride[k] = l->stride[axis];
        p->before[k] = l->padding[axis];
        p->after[k] = (result[2 + k] - 1) * l->stride[axis] + l->kernel[axis] - l->size[axis] - l->padding[axis];
    }
    const dnnl_data_type_t type = l->bf16 ? dnnl_bf16 : dnnl_f32;
    dnnl_memory_desc_init_by_tag(&p->source, rank, source, type, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&p->weights, rank, weights, type, dnnl_format_tag_any);
    dnnl_memory_desc_init_by_tag(&p->result, rank, result, type, dnnl_format_tag_any);
}

static dnnl_primitive_desc_t plan(const problem *p, int pass, dnnl_alg_kind_t algorithm,
                                  dnnl_primitive_desc_t forward) {
    dnnl_convolution_desc_t c;
    dnnl_primitive_desc_t made = NULL;
    dnnl_status_t status = dnnl_success;
    if (pass == FORWARD)
        status = dnnl_convolution_forward_desc_init(&c, dnnl_forward_training, algorithm, &p->source, &p->weights, NULL,
                                                    &p->result, p->stride, p->before, p->after);
    else if (pass == BACKWARD_DATA)
        status = dnnl_convolution_backward_data_desc_init(&c, algorithm, &p->source, &p->weights, &p->result, p->stride,
                                                          p->before, p->after);
    else
        status = dnnl_convolution_backward_weights_desc_init(&c, algorithm, &p->source, &p->weights, NULL, &p->result,
                                                             p->stride, p->before, p->after);
    if (status != dnnl_success || dnnl_primitive_desc_create(&made, &c, NULL, engine, forward) != dnnl_success)
        return NULL;
    return made;
}

/* Random numbers, so that nothing is denormal or zero. */
static dnnl_memory_t open_memory(dnnl_primitive_desc_t planned, dnnl_query_t what, int bf16) {
    const dnnl_memory_desc_t *shape = dnnl_primitive_desc_query_md(planned, what, 0);
    dnnl_memory_t memory = NULL;
    void *bytes = NULL;
    if (!shape || dnnl_memory_create(&memory, shape, engine, DNNL_MEMORY_ALLOCATE) != dnnl_success ||
        dnnl_memory_get_data_handle(memory, &bytes) != dnnl_success)
        return NULL;
    const size_t count = dnnl_memory_desc_get_size(shape) / (bf16 ? 2 : 4);
    unsigned state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        const float value = (float)(state >> 8) * 0x1p-24f - 0.5f;
        unsigned bits;
        memcpy(&bits, &value, sizeof bits);
        if (bf16) ((unsigned short *)bytes)[i] = (unsigned short)(bits >> 16);
        else ((float *)bytes)[i] = value;
    }
    return memory;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of runs of at least five milliseconds, in milliseconds. */
static double time_runs(dnnl_primitive_t primitive, const dnnl_exec_arg_t *arguments, double seconds) {
    static double runs[MOST_RUNS];
    size_t count = 0;
    dnnl_primitive_execute(primitive, stream, 3, arguments);
    dnnl_stream_wait(stream);
    const double end = now() + seconds;
    do {
        const double start = now();
        double moment = start;
        int times = 0;
        for (; times == 0 || moment - start < 0.005; times++) {
            dnnl_primitive_execute(primitive, stream, 3, arguments);
            dnnl_stream_wait(stream);
            moment = now();
        }
        runs[count++] = 1e3 * (moment - start) / times;
    } while (now() < end && count < MOST_RUNS);
    qsort(runs, count, sizeof *runs, ascending);
    return runs[count / 2];
}

/* Milliseconds; 0 if oneDNN has no such primitive here. */
static double measure(const layer *l, const problem *p, int pass, dnnl_alg_kind_t algorithm, double seconds) {
    static const struct {
        dnnl_query_t what[3];
        int argument[3];
    } USED[PASSES] = {
        {{dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md}, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}},
        {{dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
         {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST}},
        {{dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
         {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}}};
    dnnl_primitive_desc_t forward = plan(p, FORWARD, algorithm, NULL);
    dnnl_primitive_desc_t planned = pass == FORWARD || !forward ? forward : plan(p, pass, algorithm, forward);
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t arguments[3] = {{0, NULL}, {0, NULL}, {0, NULL}};
    double result = 0;
    int good = planned && dnnl_primitive_create(&primitive, planned) == dnnl_success;
    for (int k = 0; k < 3 && good; k++) {
        arguments[k] = (dnnl_exec_arg_t){USED[pass].argument[k], open_memory(planned, USED[pass].what[k], l->bf16)};
        good = arguments[k].memory != NULL;
    }
    if (good) result = time_runs(primitive, arguments, seconds);
    for (int k = 0; k < 3; k++)
        if (arguments[k].memory) dnnl_memory_destroy(arguments[k].memory);
    if (primitive) dnnl_primitive_destroy(primitive);
    if (planned && planned != forward) dnnl_primitive_desc_destroy(planned);
    if (forward) dnnl_primitive_desc_destroy(forward);
    return result;
}

/* `seconds` for each algorithm of each pass. */
static void add_times(json_t *object, double seconds) {
    const layer l = layer_of(object);
    problem p;
    memset(&p, 0, sizeof p);
    describe(&l, &p);
    for (int pass = 0; pass < PASSES; pass++) {
        const double direct = measure(&l, &p, pass, dnnl_convolution_direct, seconds);
        const double automatic = measure(&l, &p, pass, dnnl_convolution_auto, seconds);
        const double better = direct > 0 && (automatic <= 0 || direct < automatic) ? direct : automatic;
        json_object_set_new(object, KEYS[pass], json_real(better));
    }
}

/* To the end of the input. NULL: something else stands there. */
static json_t *read_layers(void) {
    char line[4096];
    json_t *layers = json_array();
    while (fgets(line, sizeof line, stdin)) {
        json_error_t error;
        json_t *object = json_loads(line, 0, &error);
        if (!object || !json_is_integer(json_object_get(object, "threads"))) {
            fprintf(stderr, "onednn_layers: not a line of hws bench train --layers --json: %s", line);
            return NULL;
        }
        json_array_append_new(layers, object);
    }
    return layers;
}

static int start(const json_t *first) {
    omp_set_num_threads(whole(first, "threads"));
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
        dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success)
        return 1;
    fprintf(stderr, "onednn_layers: oneDNN does not start\n");
    return 0;
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "usage: hws bench train --layers --json ... | onednn_layers SECONDS (for all together)\n");
        return 2;
    }
    json_t *layers = read_layers();
    if (!layers) return 1;
    const size_t found = json_array_size(layers);
    if (found > 0 && !start(json_array_get(layers, 0))) return 1;
    const double seconds = strtod(arguments[1], NULL) / (double)(2 * PASSES * (found ? found : 1));
    for (size_t k = 0; k < found; k++) {
        add_times(json_array_get(layers, k), seconds);
        json_dumpf(json_array_get(layers, k), stdout, 0);
        printf("\n");
    }
    json_decref(layers);
    return 0;
}
