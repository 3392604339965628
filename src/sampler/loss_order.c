#include "sampler/loss_order.h"

#include "core/memory.h"

#include <string.h>

/* A number that falls as the loss rises; -0 and +0 are the same loss. */
static uint32_t falling_key(float loss) {
    const float settled = loss + 0.0f;
    uint32_t bits;
    memcpy(&bits, &settled, sizeof bits);
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

static float loss_of_key(uint32_t key) {
    const uint32_t bits = key >> 31 ? key : ~key & 0x7fffffff;
    float loss;
    memcpy(&loss, &bits, sizeof loss);
    return loss;
}

int hardest_first(const float *losses, size_t n, uint32_t *order) {
    uint64_t *from = memory_open(2 * n * sizeof *from);
    if (!from) return 0;
    uint64_t *to = from + n;
    for (size_t i = 0; i < n; i++) from[i] = (uint64_t)falling_key(losses[i]) << 32 | i;
    /* Stable passes over 11, 11 and 10 bits of the key; within equal keys the numbers stay in order. */
    for (int shift = 32; shift < 64; shift += 11) {
        size_t start[2048] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++) start[from[i] >> shift & 2047]++;
        for (int bin = 0; bin < 2048; bin++) {
            const size_t count = start[bin];
            start[bin] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & 2047]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)from[i];
    memory_close(from < to ? from : to);
    return 1;
}

float loss_of_rank(const float *losses, size_t n, size_t rank) {
    /* Settles the key from its top, 8 bits at a time, by counting. */
    uint32_t prefix = 0, mask = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        size_t bins[256] = {0};
        for (size_t i = 0; i < n; i++) {
            const uint32_t key = falling_key(losses[i]);
            if ((key & mask) == prefix) bins[key >> shift & 255]++;
        }
        uint32_t bin = 0;
        for (; rank >= bins[bin]; bin++) rank -= bins[bin];
        prefix |= bin << shift;
        mask |= (uint32_t)255 << shift;
    }
    return loss_of_key(prefix);
}

static int is_harder(const float *losses, int64_t a, int64_t b) {
    return losses[a] > losses[b] || (losses[a] == losses[b] && a < b);
}

/* Restores the heap below `at`; the easiest stands on top. */
static void sift_down(const float *losses, int64_t *heap, size_t count, size_t at) {
    for (;;) {
        size_t easiest = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (is_harder(losses, heap[easiest], heap[child])) easiest = child;
        if (easiest == at) return;
        const int64_t swap = heap[at];
        heap[at] = heap[easiest];
        heap[easiest] = swap;
        at = easiest;
    }
}

void hardest_k(const float *losses, size_t n, size_t k, int64_t *examples) {
    if (k == 0) return;
    for (size_t i = 0; i < k; i++) examples[i] = (int64_t)i;
    for (size_t at = k / 2; at-- > 0;) sift_down(losses, examples, k, at);
    for (size_t i = k; i < n; i++) {
        if (losses[i] <= losses[examples[0]]) continue; /* on a tie the earlier number stays */
        examples[0] = (int64_t)i;
        sift_down(losses, examples, k, 0);
    }
    for (size_t left = k - 1; left > 0; left--) {
        const int64_t swap = examples[0];
        examples[0] = examples[left];
        examples[left] = swap;
        sift_down(losses, examples, left, 0);
    }
}
