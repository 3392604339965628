#include "sampler/trim.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

/* ---- the heaps --------------------------------------------------------------------------------------------------- */

static uint32_t *at(const trim *t, int out, int64_t place) { return &t->heap[out ? place : t->n - 1 - place]; }

static int is_harder(const trim *t, uint32_t a, uint32_t b) {
    return t->losses[a] > t->losses[b] || (t->losses[a] == t->losses[b] && a < b);
}

/* On top are the easiest of those left out and the hardest of the others. */
static int is_above(const trim *t, int out, uint32_t a, uint32_t b) {
    return out ? is_harder(t, b, a) : is_harder(t, a, b);
}

static void settle(trim *t, int out, int64_t place, uint32_t example) {
    *at(t, out, place) = example;
    t->places[example] = (uint32_t)place;
}

static void rise(trim *t, int out, int64_t place, uint32_t example) {
    while (place > 0 && is_above(t, out, example, *at(t, out, (place - 1) / 2))) {
        settle(t, out, place, *at(t, out, (place - 1) / 2));
        place = (place - 1) / 2;
    }
    settle(t, out, place, example);
}

static void sink(trim *t, int out, int64_t place, uint32_t example) {
    const int64_t count = out ? t->out : t->in;
    for (int64_t child; (child = 2 * place + 1) < count; place = child) {
        if (child + 1 < count && is_above(t, out, *at(t, out, child + 1), *at(t, out, child))) child++;
        if (!is_above(t, out, *at(t, out, child), example)) break;
        settle(t, out, place, *at(t, out, child));
    }
    rise(t, out, place, example);
}

static void insert(trim *t, int out, uint32_t example) {
    t->is_out[example] = (unsigned char)out;
    rise(t, out, out ? t->out++ : t->in++, example);
}

static void erase(trim *t, uint32_t example) {
    const int out = t->is_out[example];
    const uint32_t last = *at(t, out, out ? --t->out : --t->in);
    t->is_out[example] = 0;
    if (last != example) sink(t, out, t->places[example], last);
}

/* ------------------------------------------------------------------------------------------------------------------ */

int trim_open(trim *t, int64_t n, double share) {
    const size_t size = (size_t)n;
    *t = (trim){.share = share, .n = n};
    t->losses = memory_open(size * sizeof *t->losses);
    t->heap = memory_open(size * sizeof *t->heap);
    t->places = memory_open(size * sizeof *t->places);
    t->is_out = memory_open(size);
    const int good = t->losses && t->heap && t->places && t->is_out;
    for (size_t i = 0; good && i < size; i++) t->losses[i] = NAN;
    if (good) memset(t->is_out, 0, size);
    else trim_close(t);
    return good;
}

void trim_close(trim *t) {
    memory_close(t->losses);
    memory_close(t->heap);
    memory_close(t->places);
    memory_close(t->is_out);
    *t = (trim){0};
}

size_t trim_memory(const trim *t) {
    return (size_t)t->n * (sizeof *t->losses + sizeof *t->heap + sizeof *t->places + sizeof *t->is_out);
}

static size_t cross(trim *t, int out, int64_t *moved) {
    const uint32_t example = *at(t, !out, 0);
    erase(t, example);
    insert(t, out, example);
    *moved = example;
    return 1;
}

/* How many are to be left out: never all, for p must have somebody. */
static int64_t wanted_out(const trim *t) {
    const int64_t known = t->out + t->in, wanted = (int64_t)(t->share * (double)known + 1e-9);
    return wanted < known || known == 0 ? wanted : known - 1;
}

/* A change of one loss changes the wanted number by one at most, and then one pair at most is the wrong way round. */
static size_t balance(trim *t, int64_t *moved) {
    const int64_t wanted = wanted_out(t);
    size_t count = 0;
    if (t->out < wanted) count += cross(t, 1, moved + count);
    if (t->out > wanted) count += cross(t, 0, moved + count);
    if (t->out && t->in && is_harder(t, *at(t, 0, 0), *at(t, 1, 0))) {
        count += cross(t, 1, moved + count);
        count += cross(t, 0, moved + count);
    }
    return count;
}

size_t trim_write(trim *t, int64_t example, float loss, int64_t *moved) {
    const uint32_t i = (uint32_t)example;
    const int out = t->is_out[i], had = !isnan(t->losses[i]);
    if (had) erase(t, i);
    t->losses[i] = loss;
    /* Back where it was: balance alone decides who crosses. */
    if (!isnan(loss)) insert(t, had && out, i);
    return balance(t, moved);
}
