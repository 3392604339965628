/*
 * numpy's RandomState(seed).shuffle, to the bit: the Mersenne twister MT19937 (Matsumoto and Nishimura 1998) with its
 * first seeding, and Fisher and Yates' shuffle from the end, whose places are drawn by masking and rejecting. Only for
 * splits that are to equal nnU-Net's; everything else draws from core/random.h.
 */
#ifndef HWS_DATASET_NUMPY_SHUFFLE_H
#define HWS_DATASET_NUMPY_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* Shuffles `count` numbers, at most 2^32. */
void numpy_shuffle(uint32_t seed, size_t *numbers, size_t count);

#endif
