/*
 * The weight tree: its words against the exact sums of the weights, updated against rebuilt, one instruction set
 * against another, and the weight function against long double.
 */
#include "core/memory.h"
#include "sampler/purposes.h"
#include "sampler/weight_tree.h"
#include "testing.h"

typedef struct fixture {
    size_t n;
    float *losses;
    weight_tree tree;
} fixture;

static fixture fixture_open(size_t n, double beta) {
    fixture f = {.n = n, .losses = memory_open(tree_padded_size(n) * sizeof(float))};
    assert_non_null(f.losses);
    for (size_t i = 0; i < tree_padded_size(n); i++) f.losses[i] = i < n ? 1 : -INFINITY;
    assert_true(weight_tree_open(&f.tree, n));
    weight_tree_rebuild(&f.tree, f.losses, tree_scale_of(beta));
    return f;
}

static void fixture_close(fixture *f) {
    weight_tree_close(&f->tree);
    memory_close(f->losses);
}

/* Losses of all sorts: usual, tiny, huge, of both signs, ties, and none at all (-infinity). */
static float any_loss(uint64_t *seed) {
    switch (test_random(seed) % 8) {
    case 0: return -INFINITY;
    case 1: return (float)(test_normal(seed) * 1e-30);
    case 2: return (float)(test_normal(seed) * 1e10);
    case 3: return (float)(test_normal(seed) * 1e37);
    case 4: return 1;
    default: return (float)(1 + 0.1 * test_normal(seed));
    }
}

static const double BETAS[] = {0, 1e-6, 0.1, 1, 10, 100, 1000, 1e4, 1e15};
enum { BETA_COUNT = sizeof BETAS / sizeof *BETAS };

static void assert_same_tree(const weight_tree *a, const weight_tree *b) {
    assert_int_equal(a->block_size, b->block_size);
    assert_memory_equal(a->block, b->block, a->block_size);
    assert_int_equal(a->crown.nodes, b->crown.nodes);
    assert_memory_equal(a->crown.node_start, b->crown.node_start, sizeof a->crown.node_start);
    assert_memory_equal(a->crown.word_end, b->crown.word_end, a->crown.nodes * TREE_PARTS * sizeof *a->crown.word_end);
    assert_int_equal(a->root.mass, b->root.mass);
    assert_int_equal(a->root.exponent, b->root.exponent);
}

static void updated_equals_rebuilt(void **state) {
    (void)state;
    const size_t sizes[] = {1, 5, 16, 17, 250, 4096, 5000, 70000};
    const long rounds = test_size(60, 2000);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint64_t seed = s;
        fixture f = fixture_open(sizes[s], 1);
        weight_tree fresh;
        assert_true(weight_tree_open(&fresh, f.n));
        for (long round = 0; round < rounds; round++) {
            if (round % 20 == 0)
                weight_tree_rebuild(&f.tree, f.losses, tree_scale_of(BETAS[test_random(&seed) % BETA_COUNT]));
            int64_t examples[200];
            const size_t count = 1 + test_random(&seed) % 200;
            for (size_t j = 0; j < count; j++) {
                examples[j] = (int64_t)(test_random(&seed) % f.n);
                f.losses[examples[j]] = any_loss(&seed);
            }
            weight_tree_refresh(&f.tree, examples, count);
            weight_tree_rebuild(&fresh, f.losses, f.tree.scale);
            assert_same_tree(&f.tree, &fresh);
        }
        weight_tree_close(&fresh);
        fixture_close(&f);
    }
}

/* mass <= room * 2^distance, for any distance: then a part never has less room than it needs. */
static int fits(tree_word part, uint64_t room, int64_t unit) {
    const int64_t distance = unit - part.exponent;
    if (distance < 0) return part.mass <= room >> -distance;
    return distance > 63 || room > UINT64_MAX >> distance || part.mass <= room << distance;
}

/* The room that a part of this word gets, from the definition: rounded down, and one unit more. */
static uint64_t room_of(tree_word part, int64_t unit) {
    const int64_t distance = unit - part.exponent;
    return (distance > 63 ? 0 : part.mass >> distance) + 1;
}

static void check_total(const tree_word parts[TREE_PARTS], tree_word total) {
    const int64_t unit = total.exponent + total.shift;
    uint64_t sum = 0;
    for (int c = 0; c < TREE_PARTS; c++) {
        const uint64_t room = room_of(parts[c], unit);
        assert_true(parts[c].exponent <= total.exponent); /* a draw never becomes coarser on its way down */
        assert_true(fits(parts[c], room, unit));
        sum += room;
    }
    assert_int_equal(sum << total.shift, total.mass);
    assert_true(total.mass < (uint64_t)1 << TREE_MASS_BITS);
}

static void check_crown(const weight_tree *tree) {
    const tree_crown *crown = &tree->crown;
    for (size_t node = 0; node < crown->nodes; node++) {
        uint64_t before = 0;
        for (int c = 0; c < TREE_PARTS; c++) {
            const uint64_t end = crown->word_end[TREE_PARTS * node + (size_t)c];
            const tree_word word = tree_node_get(&tree->nodes[tree->levels - 1][node], c);
            assert_true(fits(word, end - before, tree->root.exponent));
            before = end;
        }
        assert_int_equal(crown->node_start[node + 1], crown->node_start[node] + before);
    }
    assert_int_equal(crown->node_start[0], 0);
    assert_int_equal(crown->node_start[crown->nodes], tree->root.mass);
}

/*
 * A draw is uniform in [0, mass) of the root; it goes to a part by the room this has, becomes finer by exact random
 * bits, and is kept if it is below the part's mass. So if (1) the rooms of the parts add up to the total and (2) each
 * mass fits into its room, the chance of an attempt to end at example i is exactly weight_i / root, whatever was
 * rounded.
 */
static void rooms_add_up_and_masses_fit(void **state) {
    (void)state;
    const size_t sizes[] = {1, 16, 100, 5000, 200000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int b = 0; b < BETA_COUNT; b++) {
            uint64_t seed = s * 100 + (uint64_t)b;
            fixture f = fixture_open(sizes[s], 1);
            for (size_t i = 0; i < f.n; i++) f.losses[i] = any_loss(&seed);
            f.losses[0] = 1;
            weight_tree_rebuild(&f.tree, f.losses, tree_scale_of(BETAS[b]));
            tree_word parts[TREE_PARTS];
            for (size_t leaf = 0; leaf < f.tree.leaves; leaf++) {
                f.tree.kernels->leaf_weights(&f.tree.scale, f.losses + leaf * TREE_PARTS, parts);
                check_total(parts, tree_node_get(&f.tree.nodes[0][leaf / TREE_PARTS], (int)(leaf % TREE_PARTS)));
            }
            for (int level = 0; level + 1 < f.tree.levels; level++)
                for (size_t node = 0; node < f.tree.node_count[level]; node++) {
                    for (int c = 0; c < TREE_PARTS; c++) parts[c] = tree_node_get(&f.tree.nodes[level][node], c);
                    check_total(parts,
                                tree_node_get(&f.tree.nodes[level + 1][node / TREE_PARTS], (int)(node % TREE_PARTS)));
                }
            check_crown(&f.tree);
            fixture_close(&f);
        }
    }
}

/* The total against long double, as far as that reaches. */
static void total_is_accurate(void **state) {
    (void)state;
    const double betas[] = {0, 0.1, 1, 10, 100, 1000};
    for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
        uint64_t seed = b;
        fixture f = fixture_open(100003, 1);
        long double total = 0;
        for (size_t i = 0; i < f.n; i++) {
            f.losses[i] = (float)(1 + 0.3 * test_normal(&seed));
            total += expl((long double)betas[b] * f.losses[i]);
        }
        weight_tree_rebuild(&f.tree, f.losses, tree_scale_of(betas[b]));
        const long double got = ldexpl((long double)f.tree.root.mass, (int)f.tree.root.exponent - 52);
        assert_close((double)(got / total), 1, 1e-12);
        fixture_close(&f);
    }
}

static void a_giant_leaves_no_trace(void **state) {
    (void)state;
    fixture f = fixture_open(3000, 100);
    uint64_t seed = 5;
    for (size_t i = 0; i < f.n; i++) f.losses[i] = (float)test_unit(&seed);
    weight_tree_rebuild(&f.tree, f.losses, f.tree.scale);
    weight_tree before;
    assert_true(weight_tree_open(&before, f.n));
    weight_tree_rebuild(&before, f.losses, f.tree.scale);
    const long rounds = test_size(200000, 100000000);
    const int64_t example = 1234;
    const float own = f.losses[example];
    for (long round = 0; round < rounds; round++) {
        f.losses[example] = 1e30f;
        weight_tree_refresh(&f.tree, &example, 1);
        f.losses[example] = own;
        weight_tree_refresh(&f.tree, &example, 1);
    }
    assert_same_tree(&f.tree, &before);
    weight_tree_close(&before);
    fixture_close(&f);
}

/*
 * Lost draws are too rare to be met. So one of the crown's unused words gets as much room as all others together: half
 * of the draws fall into it, must start again without following it, and end up as if nothing had been.
 */
static void lost_draws_start_again(void **state) {
    (void)state;
    static const char *const names[] = {"generic", "avx2", "avx512"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (!tree_kernels_named(names[k])) continue;
        fixture f = fixture_open(5000, 0);
        f.tree.kernels = tree_kernels_named(names[k]);
        tree_crown *crown = &f.tree.crown;
        const size_t unused = crown->nodes * TREE_PARTS - 1;
        assert_int_equal(tree_node_get(&f.tree.nodes[f.tree.levels - 1][crown->nodes - 1], TREE_PARTS - 1).mass, 0);
        const uint64_t room = f.tree.root.mass;
        crown->word_end[unused] += room;
        crown->node_start[crown->nodes] += room;
        f.tree.root.mass += room;
        long counts[50] = {0};
        const long batches = 2000;
        for (long t = 0; t < batches; t++) {
            int64_t drawn[64];
            weight_tree_draw(&f.tree, 1, (uint64_t)t, 0, 64, drawn);
            for (int j = 0; j < 64; j++) {
                assert_in_range(drawn[j], 0, 4999);
                counts[drawn[j] / 100]++;
            }
        }
        double chi = 0;
        const double expected = (double)batches * 64 / 50;
        for (int bin = 0; bin < 50; bin++) chi += pow((double)counts[bin] - expected, 2) / expected;
        assert_true(chi < 49 + 5 * sqrt(2 * 49));
        fixture_close(&f);
    }
}

static void instruction_sets_agree(void **state) {
    (void)state;
    static const char *const names[] = {"avx2", "avx512"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const tree_kernels *kernels = tree_kernels_named(names[k]);
        if (!kernels) {
            print_message("this machine or build has no %s kernels\n", names[k]);
            continue;
        }
        for (int b = 0; b < BETA_COUNT; b++) {
            uint64_t seed = (uint64_t)b;
            fixture plain = fixture_open(30000, 1);
            for (size_t i = 0; i < plain.n; i++) plain.losses[i] = any_loss(&seed);
            plain.tree.kernels = tree_kernels_named("generic");
            weight_tree_rebuild(&plain.tree, plain.losses, tree_scale_of(BETAS[b]));
            weight_tree fast;
            assert_true(weight_tree_open(&fast, plain.n));
            fast.kernels = kernels;
            weight_tree_rebuild(&fast, plain.losses, plain.tree.scale);
            assert_same_tree(&plain.tree, &fast);
            for (size_t count = 1; count < 200; count += 7) {
                int64_t expected[200], drawn[200];
                weight_tree_draw(&plain.tree, 3, count, 0, count, expected);
                weight_tree_draw(&fast, 3, count, 0, count, drawn);
                assert_memory_equal(expected, drawn, count * sizeof *drawn);
            }
            weight_tree_close(&fast);
            fixture_close(&plain);
        }
    }
}

static void assert_close_to(double found, long double wanted, double scale) {
    if (!(fabsl(found - wanted) <= 1e-12L * (long double)scale)) fail_msg("%.17g instead of %.17Lg", found, wanted);
}

/* The moments against long double, for every set of instructions to the same bits; and the tree is the rebuilt one. */
static void moments_are_those_of_the_weights(void **state) {
    (void)state;
    static const char *const names[] = {"generic", "avx2", "avx512"};
    const size_t sizes[] = {1, 17, 5000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (double beta = 1e-3; beta < 1e6; beta *= 30) {
            uint64_t seed = s;
            fixture f = fixture_open(sizes[s], beta);
            for (size_t i = 0; i < f.n; i++) f.losses[i] = i % 7 == 3 ? -INFINITY : (float)(100 + test_normal(&seed));
            weight_tree_rebuild(&f.tree, f.losses, f.tree.scale);
            size_t ties, known = 0;
            const float largest = weight_tree_largest(&f.tree, &ties);
            long double mass = 0, first = 0, second = 0;
            for (size_t i = 0; i < f.n; i++) {
                const long double t = (long double)beta * ((long double)f.losses[i] - largest);
                if (!(t > -1e4L)) continue;
                mass += expl(t), first += t * expl(t), second += t * t * expl(t), known++;
            }
            const double scale = (double)known * (1 + beta * 1e-4); /* float neighbours are far apart in the end */
            weight_tree other;
            assert_true(weight_tree_open(&other, f.n));
            tree_moments plain = {0, 0, 0};
            for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
                if (!tree_kernels_named(names[k])) continue;
                other.kernels = tree_kernels_named(names[k]);
                const tree_moments found = weight_tree_rebuild_moments(&other, f.losses, beta, largest);
                assert_same_tree(&f.tree, &other);
                if (k == 0) plain = found;
                assert_memory_equal(&found, &plain, sizeof found);
                assert_close_to(found.mass, mass, scale);
                assert_close_to(found.first, first, scale);
                assert_close_to(found.second, second, scale);
                const tree_moments few = weight_tree_moments(&other, f.n, f.losses, beta, largest);
                assert_close_to(few.mass, mass, scale);
                assert_close_to(few.first, first, scale);
                assert_close_to(few.second, second, scale);
            }
            weight_tree_close(&other);
            fixture_close(&f);
        }
}

static void the_largest_and_its_ties(void **state) {
    (void)state;
    static const char *const names[] = {"generic", "avx2", "avx512"};
    uint64_t seed = 4;
    for (size_t n = 1; n < 400; n += 9) {
        fixture f = fixture_open(n, 1);
        float most = -INFINITY;
        size_t count = 0;
        for (size_t i = 0; i < n; i++) f.losses[i] = (float)(test_random(&seed) % 5) - 7;
        for (size_t i = 0; i < n; i++) most = fmaxf(most, f.losses[i]);
        for (size_t i = 0; i < n; i++) count += f.losses[i] == most;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (!tree_kernels_named(names[k])) continue;
            f.tree.kernels = tree_kernels_named(names[k]);
            size_t ties;
            assert_true(weight_tree_largest(&f.tree, &ties) == most);
            assert_int_equal(ties, count);
        }
        fixture_close(&f);
    }
}

/* A flight of draws takes short cuts; each of them is the one that its stream gives step by step. */
static void flights_draw_what_single_draws_do(void **state) {
    (void)state;
    for (int b = 0; b < BETA_COUNT; b++) {
        uint64_t seed = (uint64_t)b;
        fixture f = fixture_open(30000, 1);
        for (size_t i = 0; i < f.n; i++) f.losses[i] = i % 5 ? any_loss(&seed) : -INFINITY;
        weight_tree_rebuild(&f.tree, f.losses, tree_scale_of(BETAS[b]));
        for (size_t count = 1; count < 200; count += 7) {
            int64_t drawn[200];
            weight_tree_draw(&f.tree, 3, count, 5, count, drawn);
            for (size_t j = 0; j < count; j++) {
                random_stream random;
                random_start(&random, 3, RANDOM_DRAW, count, 5 + (uint32_t)j);
                assert_int_equal(drawn[j], weight_tree_draw_alone(&f.tree, &random));
            }
        }
        fixture_close(&f);
    }
}

/* Bit-exact across machines and versions: draws that were recorded once. */
static void draws_are_those_on_record(void **state) {
    (void)state;
    fixture f = fixture_open(1000, 5);
    uint64_t seed = 1;
    for (size_t i = 0; i < f.n; i++) f.losses[i] = (float)(test_random(&seed) % 1000) / 1000;
    weight_tree_rebuild(&f.tree, f.losses, f.tree.scale);
    static const int64_t recorded[] = {434, 31, 199, 854, 229, 94, 223, 784};
    int64_t drawn[8];
    weight_tree_draw(&f.tree, 2022, 7, 0, 8, drawn);
    for (int j = 0; j < 8; j++)
        if (drawn[j] != recorded[j])
            fail_msg("draw %d is %lld, on record %lld", j, (long long)drawn[j], (long long)recorded[j]);
    fixture_close(&f);
}

/* ---- the weight function --------------------------------------------------------------------------------------- */

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* All finite floats in rising order: index 0 is -FLT_MAX. */
static float float_of_order(uint32_t order) {
    const uint32_t largest = 0x7f7fffff;
    return order <= largest ? -float_of(largest - order) : float_of(order - largest - 1);
}

static void weights_are_accurate_and_monotone(void **state) {
    (void)state;
    const double betas[] = {1, 10, 100, 1000};
    const uint32_t orders = 2 * (0x7f7fffffu + 1);
    const uint32_t stride = (uint32_t)test_size(4099, 1);
    for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
        const tree_scale scale = tree_scale_of(betas[b]);
        const tree_kernels *kernels = tree_kernels_choose();
        tree_word last = {0, -TREE_EXPONENT_BIAS, 0};
        long double worst = 0;
        for (uint64_t order = 0; order + TREE_PARTS * (uint64_t)stride < orders;
             order += TREE_PARTS * (uint64_t)stride) {
            float losses[TREE_PARTS];
            tree_word weights[TREE_PARTS];
            for (uint32_t i = 0; i < TREE_PARTS; i++) losses[i] = float_of_order((uint32_t)order + i * stride);
            kernels->leaf_weights(&scale, losses, weights);
            for (int i = 0; i < TREE_PARTS; i++) {
                assert_true(weights[i].mass > 0);
                assert_false(tree_word_ratio(weights[i], last) < 1 && last.mass);
                last = weights[i];
                const long double y = (long double)betas[b] * losses[i] * 1.442695040888963407359924681001892137L;
                if (fabsl(y) > 16000) continue; /* the range of long double */
                const long double exact = exp2l(y + 52 - (long double)weights[i].exponent);
                const long double error = fabsl((long double)weights[i].mass / exact - 1);
                if (error > worst) worst = error;
            }
        }
        /* 50 bits of rounding, the polynomial's 2^-51, and the reference's own rounding of y */
        if (worst > 0x1p-48L) fail_msg("beta %g: relative error %Lg", betas[b], worst);
    }
}

static void giants_are_told_apart(void **state) {
    (void)state;
    for (int b = 0; b < BETA_COUNT; b++) {
        if (BETAS[b] < 100) continue;
        fixture f = fixture_open(2, BETAS[b]);
        const float pairs[][2] = {
            {3e38f, nextafterf(3e38f, 0)}, {1e20f, nextafterf(1e20f, 0)}, {-3e38f, nextafterf(-3e38f, -INFINITY)}};
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            const tree_word a = weight_tree_weight(&f.tree, pairs[k][0]), c = weight_tree_weight(&f.tree, pairs[k][1]);
            assert_true(a.exponent >= c.exponent + 200);
        }
        fixture_close(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updated_equals_rebuilt),
        cmocka_unit_test(rooms_add_up_and_masses_fit),
        cmocka_unit_test(total_is_accurate),
        cmocka_unit_test(a_giant_leaves_no_trace),
        cmocka_unit_test(lost_draws_start_again),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(moments_are_those_of_the_weights),
        cmocka_unit_test(the_largest_and_its_ties),
        cmocka_unit_test(draws_are_those_on_record),
        cmocka_unit_test(weights_are_accurate_and_monotone),
        cmocka_unit_test(giants_are_told_apart),
        cmocka_unit_test(flights_draw_what_single_draws_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
