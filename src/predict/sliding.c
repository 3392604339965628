#include "predict/sliding.h"
#include "core/memory.h"
#include "nn/team.h"

#include <math.h>
#include <string.h>

int sliding_starts(int size, int patch, double step, int *starts) {
    if (size <= patch) {
        if (starts) starts[0] = 0;
        return 1;
    }
    const int count = (int)ceil((size - patch) / fmax(patch * step, 1)) + 1;
    const double apart = (double)(size - patch) / (count - 1);
    for (int i = 0; starts && i < count; i++) starts[i] = (int)nearbyint(apart * i);
    return count;
}

void sliding_weights(int patch, float *weights) {
    const double deviation = patch / 8.0;
    for (int i = 0; i < patch; i++) {
        const double off = (i - patch / 2) / deviation;
        weights[i] = (float)exp(-0.5 * off * off);
    }
}

/* The planes of one window, as a ring: plane z lies at z % patch. */
typedef struct workspace {
    float *patch, *scores, *sums, *weight_sums, *plane, *weights[3];
    int *starts[3], counts[3];
    int padded[3], offset[3]; /* the volume, enlarged to at least one patch, and where it lies in that */
} workspace;

static size_t area(const workspace *w) { return (size_t)w->padded[1] * (size_t)w->padded[2]; }
static size_t patch_voxels(const sliding *s) { return (size_t)s->patch[0] * (size_t)s->patch[1] * (size_t)s->patch[2]; }

static void close_workspace(workspace *w) {
    memory_close(w->patch);
    memory_close(w->scores);
    memory_close(w->sums);
    memory_close(w->weight_sums);
    memory_close(w->plane);
    for (int axis = 0; axis < 3; axis++) {
        memory_close(w->weights[axis]);
        memory_close(w->starts[axis]);
    }
}

static status_code open_workspace(const sliding *s, workspace *w, failure *failure) {
    const size_t classes = (size_t)s->classes;
    int whole = 1;
    for (int axis = 0; axis < 3; axis++) {
        w->padded[axis] = s->size[axis] > s->patch[axis] ? s->size[axis] : s->patch[axis];
        w->offset[axis] = (w->padded[axis] - s->size[axis]) / 2;
        w->counts[axis] = sliding_starts(w->padded[axis], s->patch[axis], s->step, 0);
        w->starts[axis] = memory_open((size_t)w->counts[axis] * sizeof(int));
        w->weights[axis] = memory_open((size_t)s->patch[axis] * sizeof(float));
        if (!w->starts[axis] || !w->weights[axis]) {
            whole = 0;
            continue;
        }
        sliding_starts(w->padded[axis], s->patch[axis], s->step, w->starts[axis]);
        sliding_weights(s->patch[axis], w->weights[axis]);
    }
    const size_t ring = (size_t)s->patch[0] * area(w);
    w->patch = memory_open(patch_voxels(s) * (size_t)s->channels * sizeof(float));
    w->scores = memory_open(patch_voxels(s) * classes * sizeof(float));
    w->sums = memory_open(ring * classes * sizeof(float));
    w->weight_sums = memory_open(ring * sizeof(float));
    w->plane = memory_open((size_t)s->size[1] * (size_t)s->size[2] * classes * sizeof(float));
    if (!whole || !w->patch || !w->scores || !w->sums || !w->weight_sums || !w->plane)
        return fail_memory(failure, "the planes of a sliding window");
    memset(w->sums, 0, ring * classes * sizeof(float));
    memset(w->weight_sums, 0, ring * sizeof(float));
    return STATUS_OK;
}

/* Position i of a window that begins at `start`, mirrored or not, in the volume; -1 outside. */
static int in_volume(const sliding *s, const workspace *w, int axis, int start, int i, int mirrored) {
    const int at = start + (mirrored ? s->patch[axis] - 1 - i : i) - w->offset[axis];
    return at >= 0 && at < s->size[axis] ? at : -1;
}

/* A line of the window at `start`, mirrored along the axes of the bits of `mirror`; zeros outside the volume. */
static void cut_line(const sliding *s, const workspace *w, const int start[3], int mirror, const int line[2],
                     float *to) {
    const size_t plane = (size_t)s->size[1] * (size_t)s->size[2], volume = (size_t)s->size[0] * plane;
    const int z = in_volume(s, w, 0, start[0], line[0], mirror & 1);
    const int y = in_volume(s, w, 1, start[1], line[1], mirror & 2);
    for (int k = 0; k < s->patch[2]; k++) {
        const int x = in_volume(s, w, 2, start[2], k, mirror & 4);
        const size_t at =
            (size_t)(z < 0 ? 0 : z) * plane + (size_t)(y < 0 ? 0 : y) * (size_t)s->size[2] + (size_t)(x < 0 ? 0 : x);
        for (int c = 0; c < s->channels; c++) *to++ = z < 0 || y < 0 || x < 0 ? 0 : s->image[(size_t)c * volume + at];
    }
}

static void cut(const sliding *s, const workspace *w, const int start[3], int mirror) {
    const size_t line = (size_t)s->patch[2] * (size_t)s->channels;
#pragma omp parallel for collapse(2) schedule(static) num_threads(team_size(s->threads))
    for (int i = 0; i < s->patch[0]; i++)
        for (int j = 0; j < s->patch[1]; j++)
            cut_line(s, w, start, mirror, (int[2]){i, j},
                     w->patch + ((size_t)i * (size_t)s->patch[1] + (size_t)j) * line);
}

/* Adds the scores of a window's line where its voxels lie; with `weigh`, also the weights. */
static void add_line(const sliding *s, const workspace *w, const int start[3], int mirror, int weigh, const int line[2],
                     const float *scores) {
    const size_t classes = (size_t)s->classes;
    const int z = mirror & 1 ? s->patch[0] - 1 - line[0] : line[0],
              y = mirror & 2 ? s->patch[1] - 1 - line[1] : line[1];
    const size_t first = (size_t)((start[0] + z) % s->patch[0]) * area(w) +
                         (size_t)(start[1] + y) * (size_t)w->padded[2] + (size_t)start[2];
    for (int k = 0; k < s->patch[2]; k++, scores += classes) {
        const int x = mirror & 4 ? s->patch[2] - 1 - k : k;
        const float weight = w->weights[0][z] * w->weights[1][y] * w->weights[2][x];
        for (size_t c = 0; c < classes; c++) w->sums[(first + (size_t)x) * classes + c] += weight * scores[c];
        if (weigh) w->weight_sums[first + (size_t)x] += weight;
    }
}

/* Each line of a window lies in a place of its own. */
static void add(const sliding *s, const workspace *w, const int start[3], int mirror, int weigh) {
    const size_t line = (size_t)s->patch[2] * (size_t)s->classes;
#pragma omp parallel for collapse(2) schedule(static) num_threads(team_size(s->threads))
    for (int i = 0; i < s->patch[0]; i++)
        for (int j = 0; j < s->patch[1]; j++)
            add_line(s, w, start, mirror, weigh, (int[2]){i, j},
                     w->scores + ((size_t)i * (size_t)s->patch[1] + (size_t)j) * line);
}

static int mirrors(const sliding *s) { return s->mirror[0] | s->mirror[1] << 1 | s->mirror[2] << 2; }

static status_code window(const sliding *s, const workspace *w, const sliding_calls *calls, const int start[3],
                          failure *failure) {
    for (int mirror = 0; mirror < 8; mirror++) {
        if (mirror & ~mirrors(s)) continue;
        cut(s, w, start, mirror);
        const status_code status = calls->score(calls->context, w->patch, w->scores, failure);
        if (status != STATUS_OK) return status;
        add(s, w, start, mirror, mirror == 0);
    }
    return STATUS_OK;
}

/* The averaged scores of a line of plane z. */
static void average_line(const sliding *s, const workspace *w, int z, int y, float *to) {
    const size_t classes = (size_t)s->classes, ring = (size_t)(z % s->patch[0]) * area(w);
    const int set = mirrors(s);
    const float passes = (float)((1 + (set & 1)) * (1 + (set >> 1 & 1)) * (1 + (set >> 2 & 1)));
    for (int x = 0; x < s->size[2]; x++) {
        const size_t at = ring + (size_t)(y + w->offset[1]) * (size_t)w->padded[2] + (size_t)(x + w->offset[2]);
        const float share = 1 / (passes * w->weight_sums[at]);
        for (size_t c = 0; c < classes; c++) *to++ = w->sums[at * classes + c] * share;
    }
}

/* Hands out plane z of the enlarged volume, if it lies in the volume, and clears its place in the ring. */
static status_code finish_plane(const sliding *s, const workspace *w, const sliding_calls *calls, int z,
                                failure *failure) {
    const size_t classes = (size_t)s->classes, ring = (size_t)(z % s->patch[0]) * area(w);
    const int depth = z - w->offset[0];
    status_code status = STATUS_OK;
    if (depth >= 0 && depth < s->size[0]) {
#pragma omp parallel for schedule(static) num_threads(team_size(s->threads))
        for (int y = 0; y < s->size[1]; y++)
            average_line(s, w, z, y, w->plane + (size_t)y * (size_t)s->size[2] * classes);
        status = calls->plane(calls->context, depth, w->plane, failure);
    }
    memset(w->sums + ring * classes, 0, area(w) * classes * sizeof(float));
    memset(w->weight_sums + ring, 0, area(w) * sizeof(float));
    return status;
}

static status_code slide(const sliding *s, const workspace *w, const sliding_calls *calls, failure *failure) {
    const size_t all = (size_t)w->counts[0] * (size_t)w->counts[1] * (size_t)w->counts[2];
    size_t done = 0;
    int finished = 0;
    status_code status = STATUS_OK;
    for (int i = 0; i < w->counts[0]; i++) {
        for (int j = 0; j < w->counts[1]; j++)
            for (int k = 0; k < w->counts[2]; k++) {
                const int start[3] = {w->starts[0][i], w->starts[1][j], w->starts[2][k]};
                status = window(s, w, calls, start, failure);
                if (status == STATUS_OK && calls->progress)
                    status = calls->progress(calls->context, ++done, all, failure);
                if (status != STATUS_OK) return status;
            }
        const int next = i + 1 < w->counts[0] ? w->starts[0][i + 1] : w->padded[0];
        for (; finished < next; finished++) {
            status = finish_plane(s, w, calls, finished, failure);
            if (status != STATUS_OK) return status;
        }
    }
    return STATUS_OK;
}

status_code sliding_run(const sliding *given, const sliding_calls *calls, failure *failure) {
    sliding own = *given;
    const sliding *s = &own;
    if (own.threads < 1) own.threads = 1;
    for (int axis = 0; axis < 3; axis++)
        if (s->size[axis] < 1 || s->patch[axis] < 1)
            return fail(failure, STATUS_BAD_INPUT, "a window of %d does not slide over %d voxels", s->patch[axis],
                        s->size[axis]);
    if (!(s->step > 0 && s->step <= 1) || s->channels < 1 || s->classes < 1)
        return fail(failure, STATUS_BAD_INPUT, "a sliding window needs a step above 0 and at most 1, not %g", s->step);
    workspace w = {0};
    status_code status = open_workspace(s, &w, failure);
    if (status == STATUS_OK) status = slide(s, &w, calls, failure);
    close_workspace(&w);
    return status;
}
