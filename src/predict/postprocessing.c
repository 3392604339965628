#include "predict/postprocessing.h"

#include "core/json_writer.h"
#include "core/memory.h"
#include "run/run_folder.h"
#include "json/json_file.h"

#include <string.h>

/* ---- components -------------------------------------------------------------------------------------------------- */

typedef struct search {
    const int *size;
    uint32_t *component; /* 0: not looked for; UNSEEN: to be found; else 1 + the first voxel of its component */
    uint32_t *waiting;   /* voxels whose neighbours are still to be looked at; then the sizes of components */
} search;

#define UNSEEN UINT32_MAX

static void look_around(const search *s, size_t voxel, uint32_t number, size_t *end) {
    const long wide = s->size[0], high = s->size[1], deep = s->size[2];
    const long x = (long)voxel % wide, y = (long)voxel / wide % high, z = (long)voxel / wide / high;
    for (long k = z > 0 ? z - 1 : 0; k <= z + 1 && k < deep; k++)
        for (long j = y > 0 ? y - 1 : 0; j <= y + 1 && j < high; j++)
            for (long i = x > 0 ? x - 1 : 0; i <= x + 1 && i < wide; i++) {
                const size_t near = (size_t)((k * high + j) * wide + i);
                if (s->component[near] != UNSEEN) continue;
                s->component[near] = number;
                s->waiting[(*end)++] = (uint32_t)near;
            }
}

static void flood(const search *s, size_t first) {
    size_t end = 0;
    s->component[first] = (uint32_t)first + 1;
    s->waiting[end++] = (uint32_t)first;
    for (size_t next = 0; next < end; next++) look_around(s, s->waiting[next], (uint32_t)first + 1, &end);
}

/* The number of voxels of each component, at its first voxel; returns the largest. */
static uint32_t count_voxels(const search *s, size_t voxels) {
    uint32_t most = 0;
    memset(s->waiting, 0, voxels * sizeof *s->waiting);
    for (size_t v = 0; v < voxels; v++) {
        if (!s->component[v]) continue;
        const uint32_t count = ++s->waiting[s->component[v] - 1];
        if (count > most) most = count;
    }
    return most;
}

static int is_of(const postprocessing_step *step, int16_t label) {
    for (int k = 0; k < step->count; k++)
        if (step->values[k] == label) return 1;
    return 0;
}

status_code keep_largest_component(const postprocessing_step *step, const int size[3], int16_t *labels,
                                   failure *failure) {
    const size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    if (voxels >= UNSEEN) return fail(failure, STATUS_BAD_INPUT, "an image of %zu voxels has too many", voxels);
    search s = {size, memory_open(voxels * sizeof *s.component), memory_open(voxels * sizeof *s.waiting)};
    const status_code status = s.component && s.waiting ? STATUS_OK : fail_memory(failure, "connected components");
    for (size_t v = 0; v < voxels && status == STATUS_OK; v++) s.component[v] = is_of(step, labels[v]) ? UNSEEN : 0;
    for (size_t v = 0; v < voxels && status == STATUS_OK; v++)
        if (s.component[v] == UNSEEN) flood(&s, v);
    const uint32_t most = status == STATUS_OK ? count_voxels(&s, voxels) : 0;
    for (size_t v = 0; v < voxels && status == STATUS_OK; v++)
        if (s.component[v] && s.waiting[s.component[v] - 1] < most) labels[v] = 0;
    memory_close(s.component);
    memory_close(s.waiting);
    return status;
}

status_code postprocessing_apply(const postprocessing *p, const int size[3], int16_t *labels, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < p->count && status == STATUS_OK; k++)
        status = keep_largest_component(&p->steps[k], size, labels, failure);
    return status;
}

/* ---- postprocessing.json ----------------------------------------------------------------------------------------- */

status_code postprocessing_write(const postprocessing *p, const char *folder, failure *failure) {
    text out = {0};
    json_writer json = json_writer_start(&out);
    json_begin_object(&json, NULL);
    json_add_integer(&json, "hws_postprocessing", 1);
    json_begin_list(&json, "keep_largest");
    for (int k = 0; k < p->count; k++) {
        json_begin_row(&json, NULL);
        for (int v = 0; v < p->steps[k].count; v++) json_add_integer(&json, NULL, p->steps[k].values[v]);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    const status_code status = run_write(folder, RUN_POSTPROCESSING, &out, failure);
    text_close(&out);
    return status;
}

static int read_step(const json_t *list, postprocessing_step *step) {
    const size_t count = json_array_size(list);
    if (count < 1 || count > POSTPROCESSING_VALUES) return 0;
    for (size_t k = 0; k < count; k++) {
        const json_t *value = json_array_get(list, k);
        if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > INT16_MAX) return 0;
        step->values[step->count++] = (int16_t)json_integer_value(value);
    }
    return 1;
}

static int read_steps(const json_t *root, postprocessing *p) {
    const json_t *steps = json_object_get(root, "keep_largest");
    const size_t count = json_array_size(steps);
    if (json_integer_value(json_object_get(root, "hws_postprocessing")) != 1 || json_object_size(root) != 2) return 0;
    if (!json_is_array(steps) || count > POSTPROCESSING_STEPS) return 0;
    for (; p->count < (int)count; p->count++)
        if (!read_step(json_array_get(steps, (size_t)p->count), &p->steps[p->count])) return 0;
    return 1;
}

status_code postprocessing_read(postprocessing *p, const char *path, failure *failure) {
    char inside[PATH_SIZE];
    json_t *root;
    memset(p, 0, sizeof *p);
    status_code status = STATUS_OK;
    if (path_is_folder(path)) status = run_path(inside, path, RUN_POSTPROCESSING, failure);
    if (status == STATUS_OK && path_is_folder(path) && !path_exists(inside))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s has no postprocessing; hws evaluate --find-postprocessing finds one", path);
    if (status == STATUS_OK) status = json_file_read(path_is_folder(path) ? inside : path, &root, failure);
    if (status != STATUS_OK) return status;
    const int good = read_steps(root, p);
    json_decref(root);
    if (good) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT,
                "%.500s: this is no postprocessing of hws: hws evaluate --find-postprocessing writes one", path);
}
