/* Orders among losses: sorting and selecting by their bits, in O(n). */
#ifndef HWS_SAMPLER_LOSS_ORDER_H
#define HWS_SAMPLER_LOSS_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* The examples by falling loss, ties by rising number. 0 when out of memory. n < 2^32. */
int hardest_first(const float *losses, size_t n, uint32_t *order);

/* The loss of this rank, 0 being the largest; rank < n. Needs no memory. */
float loss_of_rank(const float *losses, size_t n, size_t rank);

/* The k largest losses' examples, hardest first, ties by rising number; k <= n. */
void hardest_k(const float *losses, size_t n, size_t k, int64_t *examples);

#endif
