/*
 * The examples that draws fall into by the floats of AVX-512, against the exact shares of a leaf: those may be wrong by
 * a quarter of the margin at most, and an example that is not called doubtful must be the right one. Most are not.
 */
#include "sampler/weight_tree_descent.h"
#include "testing.h"

static const double BETAS[] = {0, 1e-300, 1e-40, 1e-30, 1e-6, 0.1, 1, 3.3, 123.456, 1e4, 1e10, 1e15};
enum { BETA_COUNT = sizeof BETAS / sizeof *BETAS };

/* A leaf with the units in which its shares are counted, and where they end. */
typedef struct leaf {
    tree_scale scale;
    float losses[TREE_PARTS];
    uint64_t unit, ends[TREE_PARTS];
} leaf;

/* Shares lie column after column. */
static size_t example_at(size_t rank) { return rank % 4 * 4 + rank / 4; }
static uint64_t end_at(const leaf *l, size_t rank) { return l->ends[example_at(rank)]; }
static uint64_t total_of(const leaf *l) { return end_at(l, TREE_PARTS - 1); }

/* Around 0, near the largest size on either side, or anywhere between. */
static double any_centre(double largest, uint64_t *seed) {
    const double side = test_random(seed) % 2 ? largest : -largest;
    switch (test_random(seed) % 5) {
    case 0: return 0;
    case 1:
    case 2: return side * (1 - 1e-6 * test_unit(seed));
    default: return side * exp(-30 * test_unit(seed));
    }
}

/* Up to the largest losses that floats do for, and in one leaf of four those beyond them; some examples are missing. */
static void any_losses(leaf *l, double beta, uint64_t *seed) {
    static const double spreads[] = {0, 1, 1, 10, 10, 300};
    const double largest = (double)l->scale.limit * (test_random(seed) % 4 ? 0x1p-6 : 1);
    const double centre = any_centre(largest, seed);
    const double spread = spreads[test_random(seed) % 6] * test_unit(seed) / (beta > 0 ? beta : 1);
    for (size_t i = 0; i < TREE_PARTS; i++) {
        const double loss = centre + spread * (2 * test_unit(seed) - 1);
        l->losses[i] = (float)fmin(fmax(loss, -largest), largest);
        if (i > 0 && test_random(seed) % 50 == 0) l->losses[i] = -INFINITY;
    }
}

/* The units are those of total_of in weight_tree_kernels.c. */
static void find_ends(leaf *l) {
    parts of;
    leaf_parts(&l->scale, l->losses, &of);
    uint64_t mass[TREE_PARTS], exponent[TREE_PARTS], largest = 0, end = 0;
    memcpy(mass, of.mass, sizeof mass);
    memcpy(exponent, of.exponent, sizeof exponent);
    for (size_t i = 0; i < TREE_PARTS; i++) largest = exponent[i] > largest ? exponent[i] : largest;
    l->unit = largest + TREE_HEADROOM;
    for (size_t rank = 0; rank < TREE_PARTS; rank++) {
        const size_t i = example_at(rank);
        const uint64_t distance = l->unit - exponent[i];
        end += (distance > 63 ? 0 : mass[i] >> distance) + 1;
        l->ends[i] = end;
    }
}

static size_t exact_choice(const leaf *l, uint64_t position) {
    size_t rank = 0;
    while (end_at(l, rank) <= position) rank++;
    return example_at(rank);
}

/* Just outside the margin of an end, on either side, within some margins of it, or anywhere. */
static uint64_t any_position(const leaf *l, uint64_t *seed) {
    const double total = (double)total_of(l), end = (double)l->ends[test_random(seed) % TREE_PARTS];
    const double margin = ldexp((double)LEAF_MARGIN, SHARE_BITS);
    double position;
    switch (test_random(seed) % 4) {
    case 0: position = end + margin * (1 + 0.2 * test_unit(seed)); break;
    case 1: position = end - margin * (1 + 0.2 * test_unit(seed)); break;
    case 2: position = end + margin * 8 * (2 * test_unit(seed) - 1); break;
    default: position = total * test_unit(seed);
    }
    return (uint64_t)fmin(fmax(position, 0), total - 1);
}

static void check_ends(const leaf *l, __m512 shares) {
    float ends[TREE_PARTS];
    _mm512_storeu_ps(ends, ends_of_shares(shares));
    for (size_t i = 0; i < TREE_PARTS; i++)
        assert_near((double)ends[i], ldexp((double)l->ends[i], -SHARE_BITS), (double)LEAF_MARGIN / 4);
}

/* How many of some draws are told without doubt. */
static int check_draws(leaf *l, uint64_t *seed) {
    uint64_t units[LANES], whole_units[LANES];
    for (size_t j = 0; j < LANES; j++) {
        units[j] = l->unit;
        whole_units[j] = any_position(l, seed);
    }
    float positions[LANES];
    const leaf_frame frame = leaf_frame_of(&l->scale, units, whole_units, positions);
    const weight_tree tree = {.scale = l->scale, .losses = l->losses};
    int told = 0;
    for (size_t j = 0; j < LANES; j++) {
        const __m512 shares = leaf_shares(&tree, l->losses, &frame, j, l->unit);
        check_ends(l, shares);
        int doubtful;
        const size_t chosen = choose_share(shares, positions[j], &doubtful);
        if (!doubtful) assert_int_equal(chosen, exact_choice(l, whole_units[j]));
        told += !doubtful;
    }
    return told;
}

/* Apart from its caller, so that a processor without AVX-512 meets none of it. */
static NEVER_INLINE void check_leaves(long leaves) {
    uint64_t seed = 1;
    long told = 0;
    for (long t = 0; t < leaves; t++) {
        const double beta = BETAS[t % BETA_COUNT] * (1 - 0.5 * test_unit(&seed));
        leaf l = {.scale = tree_scale_of(beta)};
        any_losses(&l, beta, &seed);
        find_ends(&l);
        told += check_draws(&l, &seed);
    }
    assert_true(told > leaves * LANES * 3 / 4);
}

static void floats_tell_what_exact_shares_do(void **state) {
    (void)state;
    if (!tree_kernels_named("avx512")) skip();
    check_leaves(test_size(100000, 6000000));
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(floats_tell_what_exact_shares_do)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
