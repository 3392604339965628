/* ONNX models, read back by a reader of their own, and what must be true of each. */
#ifndef HWS_TESTS_ONNX_READER_H
#define HWS_TESTS_ONNX_READER_H

#include "core/whole_file.h"
#include "onnx/onnx.h"
#include "onnx/onnx_network.h"
#include "work_folder.h"

#include <stdint.h>

static inline void must(status_code status, const failure *failure) {
    if (status != STATUS_OK) fail_msg("%s", failure->message);
}

/* ---- a reader of Protocol Buffers -------------------------------------------------------------------------------- */

typedef struct span {
    const unsigned char *at, *end;
} span;

typedef struct field {
    int number, kind;
    uint64_t value; /* of kind 0 */
    span bytes;     /* of the others */
} field;

static inline uint64_t varint(span *s) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(s->at < s->end && shift < 64);
        value |= (uint64_t)(*s->at & 0x7f) << shift;
        if (!(*s->at++ & 0x80)) return value;
    }
}

static inline int next_field(span *message, field *f) {
    if (message->at == message->end) return 0;
    const uint64_t tag = varint(message);
    *f = (field){.number = (int)(tag >> 3), .kind = (int)(tag & 7)};
    if (f->kind == 0) return f->value = varint(message), 1;
    const uint64_t size = f->kind == 2 ? varint(message) : f->kind == 5 ? 4 : 8;
    assert_true(f->kind == 1 || f->kind == 2 || f->kind == 5);
    assert_true(size <= (uint64_t)(message->end - message->at));
    f->bytes = (span){message->at, message->at + size};
    message->at += size;
    return 1;
}

static inline size_t length(span s) { return (size_t)(s.end - s.at); }
static inline int is(span s, const char *word) {
    return length(s) == strlen(word) && memcmp(s.at, word, length(s)) == 0;
}

/* The first field of this number. */
static inline span part(span message, int number) {
    field f;
    while (next_field(&message, &f))
        if (f.number == number) return f.bytes;
    return (span){0};
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static inline span load(const char *name, char **bytes) {
    size_t size;
    failure failure = {0};
    must(whole_file_read(work_path(name), 1 << 26, bytes, &size, &failure), &failure);
    return (span){(unsigned char *)*bytes, (unsigned char *)*bytes + size};
}

enum { KNOWN_MAX = 512 };
typedef struct known {
    span names[KNOWN_MAX];
    int count;
} known;

static inline void learn(known *k, span name) {
    for (int i = 0; i < k->count; i++)
        assert_false(length(k->names[i]) == length(name) && memcmp(k->names[i].at, name.at, length(name)) == 0);
    assert_true(k->count < KNOWN_MAX);
    k->names[k->count++] = name;
}

static inline void must_know(const known *k, span name) {
    for (int i = 0; i < k->count; i++)
        if (length(k->names[i]) == length(name) && memcmp(k->names[i].at, name.at, length(name)) == 0) return;
    fail_msg("'%.*s' is used before it is made", (int)length(name), name.at);
}

/* An initializer: its bytes are as many as its sizes say, and those of the network's parameter. */
static inline void check_weights(onnx_network *n, span tensor, known *k) {
    const span whole = tensor, name = part(whole, 8), bytes = part(whole, 9);
    size_t count = 1;
    field f;
    while (next_field(&tensor, &f)) {
        if (f.number == 1) count *= (size_t)f.value;
        if (f.number == 2) assert_int_equal(f.value, 1);
    }
    assert_int_equal(length(bytes), count * sizeof(float));
    for (int i = 0; i < graph_parameter_count(n->graph); i++) {
        const parameter *p = graph_parameter(n->graph, i);
        if (!is(name, p->name)) continue;
        float *values = malloc(p->count * sizeof *values);
        graph_export(p, p->running ? graph_running(n->graph) : graph_values(n->graph), values);
        assert_int_equal(count, p->count);
        assert_memory_equal(values, bytes.at, length(bytes));
        free(values);
        learn(k, name);
        return;
    }
    fail_msg("there is no parameter '%.*s'", (int)length(name), name.at);
}

static inline void check_node(span node, known *k) {
    field f;
    for (span rest = node; next_field(&rest, &f);)
        if (f.number == 1) must_know(k, f.bytes);
    for (span rest = node; next_field(&rest, &f);)
        if (f.number == 2) learn(k, f.bytes);
}

static inline void check_graph(onnx_network *n, span graph, int *weights) {
    known k = {0};
    field f;
    learn(&k, part(part(graph, 11), 1));
    for (span rest = graph; next_field(&rest, &f);)
        if (f.number == 5) check_weights(n, f.bytes, &k), ++*weights;
    for (span rest = graph; next_field(&rest, &f);)
        if (f.number == 1) check_node(f.bytes, &k);
    assert_true(is(part(part(graph, 12), 1), "logits"));
    must_know(&k, part(part(graph, 12), 1));
}

static inline void metadata(span model, const char *key, const char *value) {
    field f;
    while (next_field(&model, &f)) {
        if (f.number != 14 || !is(part(f.bytes, 1), key)) continue;
        const span is_there = part(f.bytes, 2);
        if (!is(is_there, value)) fail_msg("%s is %.*s, not %s", key, (int)length(is_there), is_there.at, value);
        return;
    }
    fail_msg("there is no %s", key);
}

static inline onnx_export_outcome export(const char *run, const char *file) {
    onnx_export_outcome outcome;
    failure failure = {0};
    must(onnx_export(&(onnx_export_request){.run = work_path(run), .output = work_path(file)}, &outcome, &failure),
         &failure);
    return outcome;
}

static inline void check_model(const char *run, const char *file, int heads) {
    onnx_network n;
    failure failure = {0};
    char *bytes;
    int weights = 0, own = 0;
    const span model = load(file, &bytes);
    must(onnx_network_open(&n, work_path(run), RUN_WEIGHTS_BEST, &failure), &failure);
    check_graph(&n, part(model, 7), &weights);
    for (int i = 0; i < graph_parameter_count(n.graph); i++) {
        const char *name = graph_parameter(n.graph, i)->name;
        own += strncmp(name, "heads.", 6) != 0 || strncmp(name, "heads.0.", 8) == 0;
    }
    assert_int_equal(graph_output_count(n.graph), heads);
    assert_int_equal(weights, own); /* the coarser heads are for training */
    onnx_network_close(&n);
    free(bytes);
}

#endif
