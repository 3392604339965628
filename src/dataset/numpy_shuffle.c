#include "dataset/numpy_shuffle.h"

enum { WORDS = 624, MIDDLE = 397 };

typedef struct twister {
    uint32_t words[WORDS];
    int next;
} twister;

static void twister_seed(twister *twister, uint32_t seed) {
    twister->words[0] = seed;
    for (uint32_t k = 1; k < WORDS; k++) {
        const uint32_t before = twister->words[k - 1];
        twister->words[k] = 1812433253u * (before ^ before >> 30) + k;
    }
    twister->next = WORDS;
}

static void twister_turn(twister *twister) {
    uint32_t *words = twister->words;
    for (int k = 0; k < WORDS; k++) {
        const uint32_t joined = (words[k] & 0x80000000u) | (words[(k + 1) % WORDS] & 0x7fffffffu);
        words[k] = words[(k + MIDDLE) % WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    twister->next = 0;
}

static uint32_t twister_word(twister *twister) {
    if (twister->next == WORDS) twister_turn(twister);
    uint32_t word = twister->words[twister->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

/* Uniform from 0 to `largest`: numbers of as many bits as it has, until one is small enough. */
static uint32_t draw_up_to(twister *twister, uint32_t largest) {
    uint32_t mask = largest;
    for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    uint32_t value;
    do value = twister_word(twister) & mask;
    while (value > largest);
    return value;
}

void numpy_shuffle(uint32_t seed, size_t *numbers, size_t count) {
    twister twister;
    twister_seed(&twister, seed);
    for (size_t k = count; k-- > 1;) {
        const size_t other = draw_up_to(&twister, (uint32_t)k), number = numbers[k];
        numbers[k] = numbers[other];
        numbers[other] = number;
    }
}
