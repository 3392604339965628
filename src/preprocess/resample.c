#include "preprocess/resample.h"

#include "core/memory.h"
#include "core/parallel.h"
#include "preprocess/lines.h"

#include <math.h>
#include <string.h>

/* ---- deciding --------------------------------------------------------------------------------------------------- */

void resample_size(const int size[3], const double from_spacing[3], const double to_spacing[3], int to_size[3]) {
    for (int k = 0; k < 3; k++) {
        const double exact = rint(from_spacing[k] / to_spacing[k] * size[k]);
        to_size[k] = exact < 1 ? 1 : exact > 1e9 ? 1000000000 : (int)exact;
    }
}

/* -1: not anisotropic, -2: two axes are the coarsest. */
static int coarsest_axis(const double spacing[3]) {
    const double longest = fmax(fmax(spacing[0], spacing[1]), spacing[2]);
    const double shortest = fmin(fmin(spacing[0], spacing[1]), spacing[2]);
    if (!(longest / shortest > RESAMPLE_COARSE_RATIO)) return -1;
    int found = -1;
    for (int k = 0; k < 3; k++)
        if (spacing[k] == longest) found = found == -1 ? k : -2;
    return found;
}

int resample_coarse_axis(const double from_spacing[3], const double to_spacing[3]) {
    int axis = coarsest_axis(from_spacing);
    if (axis == -1) axis = coarsest_axis(to_spacing);
    return axis < 0 ? -1 : axis;
}

resampling resampling_of(const int from[3], const int to[3], resample_order order, int coarse_axis, int threads) {
    resampling how = {.clip = order == RESAMPLE_CUBIC, .threads = threads};
    for (int k = 0; k < 3; k++) {
        how.from[k] = from[k];
        how.to[k] = to[k];
        how.order[k] = k == coarse_axis ? RESAMPLE_NEAREST : order;
    }
    return how;
}

static size_t voxel_count(const int size[3]) { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

/* ---- images ----------------------------------------------------------------------------------------------------- */

static void look_up(const axis_map *map, double (*from)[SPLINE_BLOCK], double (*to)[SPLINE_BLOCK]) {
    for (int o = 0; o < map->to; o++) {
        const axis_taps *taps = &map->taps[o];
        double sum[SPLINE_BLOCK] = {0};
        for (int k = 0; k < map->count; k++)
            for (int b = 0; b < SPLINE_BLOCK; b++) sum[b] += taps->weight[k] * from[taps->index[k]][b];
        memcpy(to[o], sum, sizeof sum);
    }
}

/* One axis, from a volume into one that is map->to long there; every thread has a share of the blocks of lines. */
typedef struct axis_work {
    const axis_map *map;
    line_layout before, after;
    const float *from;
    float *to;
    double (*scratch)[SPLINE_BLOCK];
    size_t rows, blocks, share; /* rows of scratch for each thread */
} axis_work;

static status_code resample_share(void *context, size_t item, failure *failure) {
    (void)failure;
    const axis_work *w = context;
    double(*in)[SPLINE_BLOCK] = w->scratch + item * w->rows + SPLINE_MARGIN;
    double(*out)[SPLINE_BLOCK] = in + w->map->from + SPLINE_MARGIN;
    for (size_t block = item * w->share; block < w->blocks && block < (item + 1) * w->share; block++) {
        lines_gather(&w->before, block, w->from, in);
        if (w->map->count == 4) spline_filter_lines(in, w->map->from);
        look_up(w->map, in, out);
        lines_scatter(&w->after, block, out, w->to);
    }
    return STATUS_OK;
}

static status_code resample_axis(axis_work *w, const int size[3], int axis, int threads, failure *failure) {
    int to_size[3] = {size[0], size[1], size[2]};
    to_size[axis] = w->map->to;
    w->before = line_layout_of(size, axis);
    w->after = line_layout_of(to_size, axis);
    w->rows = (size_t)w->map->from + 2 * SPLINE_MARGIN + (size_t)w->map->to;
    w->blocks = line_blocks(&w->before);
    w->share = (w->blocks + (size_t)threads - 1) / (size_t)threads;
    w->scratch = memory_open((size_t)threads * w->rows * sizeof *w->scratch);
    if (!w->scratch) return fail_memory(failure, "resampling");
    const parallel_work work = {.run = resample_share, .context = w};
    const status_code status = parallel_run(&work, (size_t)threads, threads, failure);
    memory_close(w->scratch);
    return status;
}

static void clip_to_range_of(const float *from, size_t from_count, float *to, size_t to_count) {
    float low = from[0], high = from[0];
    for (size_t k = 1; k < from_count; k++) {
        if (from[k] < low) low = from[k];
        if (from[k] > high) high = from[k];
    }
    for (size_t k = 0; k < to_count; k++) to[k] = to[k] < low ? low : to[k] > high ? high : to[k];
}

/* Shrinking axes first, so that the others have less to do. */
static void order_axes(const resampling *how, int axes[3]) {
    for (int k = 0; k < 3; k++) axes[k] = k;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 2; k++) {
            const int a = axes[k], b = axes[k + 1];
            if ((double)how->to[a] / how->from[a] <= (double)how->to[b] / how->from[b]) continue;
            axes[k] = b;
            axes[k + 1] = a;
        }
}

typedef struct steps {
    int axes[3], count;
    size_t largest; /* voxels of the largest volume between two steps */
} steps;

static steps steps_of(const resampling *how) {
    steps steps = {0};
    int axes[3], size[3] = {how->from[0], how->from[1], how->from[2]};
    order_axes(how, axes);
    for (int k = 0; k < 3; k++) {
        if (how->from[axes[k]] == how->to[axes[k]]) continue;
        if (steps.count > 0 && voxel_count(size) > steps.largest) steps.largest = voxel_count(size);
        steps.axes[steps.count++] = axes[k];
        size[axes[k]] = how->to[axes[k]];
    }
    return steps;
}

static status_code run_steps(const resampling *how, const steps *steps, const float *from, float *between[2], float *to,
                             failure *failure) {
    int size[3] = {how->from[0], how->from[1], how->from[2]};
    status_code status = STATUS_OK;
    for (int k = 0; k < steps->count && status == STATUS_OK; k++) {
        const int axis = steps->axes[k];
        float *target = k == steps->count - 1 ? to : between[k];
        axis_map map;
        status = axis_map_open(&map, how->from[axis], how->to[axis], how->order[axis], failure);
        axis_work work = {.map = &map, .from = from, .to = target};
        if (status == STATUS_OK) status = resample_axis(&work, size, axis, how->threads, failure);
        axis_map_close(&map);
        size[axis] = how->to[axis];
        from = target;
    }
    return status;
}

status_code resample_image(const resampling *how, const float *from, float *to, failure *failure) {
    const steps steps = steps_of(how);
    if (steps.count == 0) {
        memcpy(to, from, voxel_count(how->from) * sizeof *to);
        return STATUS_OK;
    }
    float *between[2] = {0};
    for (int k = 0; k < steps.count - 1; k++) between[k] = memory_open(steps.largest * sizeof **between);
    status_code status = STATUS_OK;
    for (int k = 0; k < steps.count - 1; k++)
        if (!between[k]) status = fail_memory(failure, "resampling");
    if (status == STATUS_OK) status = run_steps(how, &steps, from, between, to, failure);
    for (int k = 0; k < 2; k++) memory_close(between[k]);
    if (status == STATUS_OK && how->clip) clip_to_range_of(from, voxel_count(how->from), to, voxel_count(how->to));
    return status;
}

/* ---- label maps ------------------------------------------------------------------------------------------------- */

typedef struct votes {
    int16_t label[8];
    double share[8];
    int count;
} votes;

static void vote(votes *votes, int16_t label, double share) {
    for (int k = 0; k < votes->count; k++)
        if (votes->label[k] == label) {
            votes->share[k] += share;
            return;
        }
    votes->label[votes->count] = label;
    votes->share[votes->count++] = share;
}

/* Shares are sums of products that may be off in the last digits. */
#define SAME_SHARE 1e-12

static int16_t winner(const votes *votes) {
    int best = 0;
    for (int k = 1; k < votes->count; k++) {
        const double ahead = votes->share[k] - votes->share[best];
        if (ahead > SAME_SHARE || (ahead >= -SAME_SHARE && votes->label[k] > votes->label[best])) best = k;
    }
    return votes->label[best];
}

static int16_t label_at(const axis_map maps[3], const int place[3], const int16_t *from) {
    votes votes = {.count = 0};
    const axis_taps *d = &maps[0].taps[place[0]], *h = &maps[1].taps[place[1]], *w = &maps[2].taps[place[2]];
    for (int i = 0; i < maps[0].count; i++)
        for (int j = 0; j < maps[1].count; j++) {
            const double row_share = d->weight[i] * h->weight[j];
            if (row_share == 0) continue;
            const int16_t *row =
                from + ((size_t)d->index[i] * (size_t)maps[1].from + (size_t)h->index[j]) * (size_t)maps[2].from;
            for (int k = 0; k < maps[2].count; k++)
                if (w->weight[k] != 0) vote(&votes, row[w->index[k]], row_share * w->weight[k]);
        }
    return winner(&votes);
}

typedef struct label_work {
    axis_map maps[3];
    const int16_t *from;
    int16_t *to;
} label_work;

static status_code resample_label_slice(void *context, size_t slice, failure *failure) {
    (void)failure;
    const label_work *w = context;
    const axis_map *maps = w->maps;
    int16_t *target = w->to + slice * (size_t)maps[1].to * (size_t)maps[2].to;
    for (int y = 0; y < maps[1].to; y++)
        for (int x = 0; x < maps[2].to; x++) *target++ = label_at(maps, (const int[3]){(int)slice, y, x}, w->from);
    return STATUS_OK;
}

status_code resample_labels(const resampling *how, const int16_t *from, int16_t *to, failure *failure) {
    if (memcmp(how->from, how->to, sizeof how->from) == 0) {
        memcpy(to, from, voxel_count(how->from) * sizeof *to);
        return STATUS_OK;
    }
    label_work w = {.from = from, .to = to};
    status_code status = STATUS_OK;
    for (int k = 0; k < 3 && status == STATUS_OK; k++) {
        const resample_order order = how->order[k] == RESAMPLE_NEAREST ? RESAMPLE_NEAREST : RESAMPLE_LINEAR;
        status = axis_map_open(&w.maps[k], how->from[k], how->to[k], order, failure);
    }
    const parallel_work work = {.run = resample_label_slice, .context = &w};
    if (status == STATUS_OK) status = parallel_run(&work, (size_t)how->to[0], how->threads, failure);
    for (int k = 0; k < 3; k++) axis_map_close(&w.maps[k]);
    return status;
}
