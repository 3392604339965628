/*
 * Which examples are left out of p: the hardest fraction of those that have a loss, but never all, ties by index (DORO,
 * Zhai et al. 2021).
 *
 * Two heaps over the examples, those left out with the easiest on top and the others with the hardest, so that a
 * changed loss costs O(log n). Who is left out follows from the losses alone, not from the order in which they came.
 */
#ifndef HWS_SAMPLER_TRIM_H
#define HWS_SAMPLER_TRIM_H

#include <stddef.h>
#include <stdint.h>

typedef struct trim {
    double share;
    int64_t n;
    float *losses;    /* NaN: none */
    uint32_t *heap;   /* from the front those left out, from the back the others */
    uint32_t *places; /* in its heap */
    unsigned char *is_out;
    int64_t out, in; /* how many there are */
} trim;

/* The most examples whose place one changed loss can change, itself included. */
enum { TRIM_MOVES = 4 };

/* Over n examples without a loss. 0 when out of memory. */
int trim_open(trim *trim, int64_t n, double share);
void trim_close(trim *trim);
size_t trim_memory(const trim *trim);

/* Gives an example a loss, or with NaN takes it away, and lists who went in or out: at most TRIM_MOVES - 1. */
size_t trim_write(trim *trim, int64_t example, float loss, int64_t *moved);

/* Is there a loss, and is it left out? */
static inline int trim_leaves_out(const trim *trim, int64_t example) { return trim->is_out[example]; }

#endif
