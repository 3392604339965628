#include "preprocess/axis_map.h"

#include "core/memory.h"

#include <math.h>

static int inside(double index, int size) { return index < 0 ? 0 : index > size - 1 ? size - 1 : (int)index; }

static axis_taps nearest_tap(double place, int size) {
    return (axis_taps){.index = {inside(floor(place + 0.5), size)}, .weight = {1}};
}

static axis_taps linear_taps(double place, int size) {
    const double below = floor(place), fraction = place - below;
    return (axis_taps){.index = {inside(below, size), inside(below + 1, size)}, .weight = {1 - fraction, fraction}};
}

static axis_taps cubic_taps(double place) {
    const double below = floor(place), x = place - below, y = 1 - x;
    axis_taps taps;
    for (int k = 0; k < 4; k++) taps.index[k] = (int)below - 1 + k;
    taps.weight[0] = y * y * y / 6;
    taps.weight[1] = (x * x * (x - 2) * 3 + 4) / 6;
    taps.weight[2] = (y * y * (y - 2) * 3 + 4) / 6;
    taps.weight[3] = x * x * x / 6;
    return taps;
}

axis_taps axis_taps_at(double place, int size, resample_order order) {
    if (order == RESAMPLE_CUBIC) return cubic_taps(place);
    return order == RESAMPLE_LINEAR ? linear_taps(place, size) : nearest_tap(place, size);
}

status_code axis_map_open(axis_map *map, int from, int to, resample_order order, failure *failure) {
    *map = (axis_map){.from = from, .to = to, .count = (int)order + 1};
    map->taps = memory_open((size_t)to * sizeof *map->taps);
    if (!map->taps) {
        *map = (axis_map){0};
        return fail_memory(failure, "resampling an axis");
    }
    const double step = (double)from / to;
    for (int o = 0; o < to; o++) map->taps[o] = axis_taps_at((o + 0.5) * step - 0.5, from, order);
    return STATUS_OK;
}

void axis_map_close(axis_map *map) {
    memory_close(map->taps);
    map->taps = NULL;
}
