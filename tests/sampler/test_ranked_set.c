/* The ranked set against sorting: ranks, sums, prefixes, and updated against rebuilt. */
#include "sampler/loss_order.h"
#include "sampler/ranked_set.h"
#include "testing.h"

enum { N = 700 };

static float grid_loss(uint64_t *seed) {
    if (test_random(seed) % 20 == 0) return (float)(test_normal(seed) * 1e20);
    return (float)(test_random(seed) % 64) - 32;
}

static int harder_first(const float *losses, uint32_t a, uint32_t b) {
    return losses[a] > losses[b] || (losses[a] == losses[b] && a < b);
}

static void check_against_sorting(const ranked_set *set, const char *member) {
    uint32_t order[N], size = 0;
    for (uint32_t i = 0; i < N; i++) {
        if (!member[i]) continue;
        uint32_t at = size++;
        for (; at > 0 && harder_first(set->losses, i, order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = i;
    }
    assert_int_equal(set->size, size);
    long double sum = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        assert_int_equal(ranked_set_select(set, rank), order[rank]);
        const float loss = set->losses[order[rank]];
        if (rank + 1 < size && set->losses[order[rank + 1]] == loss) continue;
        sum = 0;
        uint32_t above = 0;
        for (; above < size && set->losses[order[above]] > loss; above++) sum += set->losses[order[above]];
        wide_sum got;
        assert_int_equal(ranked_set_above(set, loss, &got), above);
        assert_near(got.high, (double)sum, 1e-15 * fabs((double)sum) + 1e3);
        assert_int_equal(ranked_set_from(set, loss), rank + 1);
    }
}

static void operations_agree_with_sorting(void **state) {
    (void)state;
    float losses[N];
    char member[N];
    uint64_t seed = 1;
    for (int i = 0; i < N; i++) losses[i] = grid_loss(&seed);
    ranked_set set;
    assert_true(ranked_set_open(&set, losses, N));
    assert_true(ranked_set_fill(&set, N));
    memset(member, 1, sizeof member);
    check_against_sorting(&set, member);
    const long rounds = test_size(300, 20000);
    for (long round = 0; round < rounds; round++) {
        for (int k = 0; k < 20; k++) {
            const uint32_t i = (uint32_t)(test_random(&seed) % N);
            if (member[i]) {
                ranked_set_erase(&set, i);
                losses[i] = grid_loss(&seed);
                member[i] = 0;
            } else {
                ranked_set_insert(&set, i);
                member[i] = 1;
            }
        }
        if (round % 50 == 0) check_against_sorting(&set, member);
    }
    ranked_set_close(&set);
}

static void updated_equals_rebuilt(void **state) {
    (void)state;
    float losses[N];
    uint64_t seed = 2;
    for (int i = 0; i < N; i++) losses[i] = grid_loss(&seed);
    ranked_set set, fresh;
    assert_true(ranked_set_open(&set, losses, N));
    assert_true(ranked_set_open(&fresh, losses, N));
    assert_true(ranked_set_fill(&set, N));
    for (int round = 0; round < 200; round++) {
        for (int k = 0; k < 10; k++) {
            const uint32_t i = (uint32_t)(test_random(&seed) % N);
            ranked_set_erase(&set, i);
            losses[i] = grid_loss(&seed);
            ranked_set_insert(&set, i);
        }
        assert_true(ranked_set_fill(&fresh, N));
        assert_int_equal(set.root, fresh.root);
        assert_memory_equal(set.items, fresh.items, N * sizeof *set.items);
    }
    ranked_set_close(&set);
    ranked_set_close(&fresh);
}

static void ranks_can_be_had_without_a_set(void **state) {
    (void)state;
    float losses[N];
    uint64_t seed = 3;
    for (int i = 0; i < N; i++) losses[i] = grid_loss(&seed);
    losses[5] = -0.0f;
    losses[6] = 0;
    uint32_t order[N];
    assert_true(hardest_first(losses, N, order));
    for (int rank = 0; rank + 1 < N; rank++) assert_true(harder_first(losses, order[rank], order[rank + 1]));
    for (size_t rank = 0; rank < N; rank++) assert_true(loss_of_rank(losses, N, rank) == losses[order[rank]]);
    for (size_t k = 0; k <= N; k += 50) {
        int64_t hardest[N];
        hardest_k(losses, N, k, hardest);
        for (size_t j = 0; j < k; j++) assert_int_equal(hardest[j], order[j]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_agree_with_sorting),
        cmocka_unit_test(updated_equals_rebuilt),
        cmocka_unit_test(ranks_can_be_had_without_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
