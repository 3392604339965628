/*
 * Memory runs out at every single allocation of a walk through all functions: the call that needed it says so, changes
 * nothing, and works when it is made again. Leaks are for the address sanitizer to find.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "every_divergence.h"
#include "failing_memory.h"
#include "hws.h"
#include "testing.h"

#include <unistd.h>

enum { N = 300, MORE = 90, BATCH = 12 };

static char folder[200], path[300];

static int open_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/hws-memory-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/state", folder);
    return 0;
}

static int close_folder(void **state) {
    (void)state;
    (void)unlink(path);
    return rmdir(folder); /* fails if a temporary file was left */
}

/* ---- one call after the other ---------------------------------------------------------------------------------- */

/* What the calls work on. */
typedef struct walk {
    hws_options options;
    hws_sampler *sampler;
    float losses[N + MORE];
    int64_t batch[BATCH];
    float weights[BATCH];
    double p[N + MORE];
    unsigned char *state;
    size_t state_size;
} walk;

typedef hws_status step(walk *walk);

static hws_status step_open(walk *walk) { return hws_sampler_open(&walk->sampler, N, NULL, &walk->options, NULL); }

static hws_status reopen(walk *walk, hws_status status, hws_sampler **fresh) {
    if (status != HWS_OK) {
        assert_null(*fresh);
        return status;
    }
    hws_sampler_close(&walk->sampler);
    walk->sampler = *fresh;
    return HWS_OK;
}

static hws_status step_open_with_losses(walk *walk) {
    hws_sampler *fresh = (hws_sampler *)1;
    return reopen(walk, hws_sampler_open(&fresh, N, walk->losses, &walk->options, NULL), &fresh);
}

static hws_status step_draw(walk *walk) { return hws_sampler_draw(walk->sampler, BATCH / 2, walk->batch); }
static hws_status step_draw_more(walk *walk) { return hws_sampler_draw(walk->sampler, BATCH, walk->batch); }

static hws_status step_importance(walk *walk) {
    return hws_sampler_importance(walk->sampler, BATCH, walk->batch, walk->losses, walk->weights);
}

static hws_status step_update(walk *walk) {
    return hws_sampler_update(walk->sampler, BATCH, walk->batch, walk->losses + 20);
}

/* Lower than any before: what is believed of all losses changes. */
static hws_status step_update_low(walk *walk) {
    const float loss = -1;
    return hws_sampler_update(walk->sampler, 1, walk->batch, &loss);
}

static hws_status step_set_low(walk *walk) {
    const float loss = -300;
    return hws_sampler_set_losses(walk->sampler, 2, 1, &loss);
}

static hws_status step_set_some(walk *walk) { return hws_sampler_set_losses(walk->sampler, 3, 5, walk->losses); }
static hws_status step_set_many(walk *walk) { return hws_sampler_set_losses(walk->sampler, 0, N, walk->losses); }

static hws_status step_grow(walk *walk) { return hws_sampler_grow(walk->sampler, MORE / 2, NULL); }
static hws_status step_grow_with_losses(walk *walk) { return hws_sampler_grow(walk->sampler, MORE / 2, walk->losses); }

static hws_status step_set_beta(walk *walk) {
    return hws_sampler_set_beta(walk->sampler, hws_sampler_options(walk->sampler).beta == 2 ? 3 : 2);
}

static hws_status step_probabilities(walk *walk) {
    return hws_sampler_probabilities(walk->sampler, 0, hws_sampler_size(walk->sampler), walk->p);
}

static hws_status step_hardest(walk *walk) {
    return hws_sampler_hardest(walk->sampler, BATCH, walk->batch, walk->weights);
}

static hws_status step_statistics(walk *walk) {
    hws_statistics statistics;
    return hws_sampler_statistics(walk->sampler, &statistics);
}

static hws_status step_robust_loss(walk *walk) { return hws_sampler_robust_loss(walk->sampler, walk->p); }
static hws_status step_bound(walk *walk) { return hws_sampler_percentile_bound(walk->sampler, 0.1, walk->p); }
static hws_status step_percentile(walk *walk) { return hws_sampler_percentile(walk->sampler, 0.1, walk->p); }
static hws_status step_cvar(walk *walk) { return hws_sampler_cvar(walk->sampler, 0.1, walk->p); }

static hws_status step_beta(walk *walk) {
    const hws_status status = hws_sampler_beta_for_effective_size(walk->sampler, 50, walk->p);
    return status == HWS_ERROR_ARGUMENT ? HWS_OK : status; /* CVaR has none */
}

static hws_status step_divergence(walk *walk) {
    return hws_divergence_probabilities(&walk->options.divergence, 2, N, walk->losses, walk->p, NULL);
}

static hws_status step_ages(walk *walk) {
    uint64_t ages[N];
    return hws_sampler_ages(walk->sampler, 0, N, ages);
}

static hws_status step_save(walk *walk) { return hws_sampler_save(walk->sampler, path); }

static hws_status step_load(walk *walk) {
    hws_sampler *fresh = (hws_sampler *)1;
    return reopen(walk, hws_sampler_load(&fresh, path, &walk->options.divergence, NULL), &fresh);
}

static hws_status step_state_write(walk *walk) {
    walk->state_size = hws_sampler_state_size(walk->sampler);
    walk->state = realloc(walk->state, walk->state_size);
    return hws_sampler_state_write(walk->sampler, walk->state, walk->state_size);
}

static hws_status step_state_read(walk *walk) {
    hws_sampler *fresh = (hws_sampler *)1;
    return reopen(walk, hws_sampler_state_read(&fresh, walk->state, walk->state_size, &walk->options.divergence, NULL),
                  &fresh);
}

static step *const STEPS[] = {
    step_open,
    step_draw,
    step_update,
    step_open_with_losses,
    step_probabilities,
    step_draw,
    step_draw_more,
    step_importance,
    step_update,
    step_set_some,
    step_draw_more,
    step_set_many,
    step_draw,
    step_update,
    step_update_low,
    step_draw,
    step_set_low,
    step_draw,
    step_grow,
    step_draw_more,
    step_grow_with_losses,
    step_importance,
    step_update,
    step_set_beta,
    step_draw_more,
    step_hardest,
    step_statistics,
    step_robust_loss,
    step_bound,
    step_percentile,
    step_cvar,
    step_beta,
    step_divergence,
    step_ages,
    step_save,
    step_load,
    step_draw_more,
    step_update,
    step_state_write,
    step_state_read,
    step_draw_more,
    step_update,
    step_save,
    step_state_write,
};

/* ---- failing --------------------------------------------------------------------------------------------------- */

typedef struct snapshot {
    unsigned char *state;
    size_t size;
} snapshot;

static snapshot snapshot_of(hws_sampler *sampler) {
    snapshot taken = {NULL, 0};
    if (!sampler) return taken;
    taken.size = hws_sampler_state_size(sampler);
    taken.state = malloc(taken.size);
    assert_int_equal(hws_sampler_state_write(sampler, taken.state, taken.size), HWS_OK);
    return taken;
}

/*
 * The level window may have been placed by a call that then found no memory; that is no change that anyone could see
 * in a draw. Flags and window are left out.
 */
static void assert_unchanged(const snapshot *before, hws_sampler *sampler) {
    snapshot after = snapshot_of(sampler);
    assert_int_equal(before->size, after.size);
    if (after.size) {
        assert_memory_equal(before->state, after.state, 12);
        assert_memory_equal(before->state + 16, after.state + 16, 136 - 16);
        assert_memory_equal(before->state + 168, after.state + 168, after.size - 168 - 8);
    }
    free(after.state);
}

static void assert_caller_untouched(const walk *walk, const int64_t *batch, const float *weights) {
    assert_memory_equal(walk->batch, batch, sizeof walk->batch);
    assert_memory_equal(walk->weights, weights, sizeof walk->weights);
}

/* Makes a call with its k-th allocation failing. Returns whether the call was refused. */
static int fails_at(walk *walk, step *step, long k) {
    int64_t batch[BATCH];
    float weights[BATCH];
    memcpy(batch, walk->batch, sizeof batch);
    memcpy(weights, walk->weights, sizeof weights);
    const snapshot before = snapshot_of(walk->sampler);
    (void)memory_fail_after(k);
    const hws_status status = step(walk);
    const long made = memory_fail_after(-1);
    if (status == HWS_OK) {
        /* It got along without: all allocations came before the one that would have failed, or it tried again. */
        free(before.state);
        return 0;
    }
    assert_int_equal(status, HWS_ERROR_MEMORY);
    assert_true(made > k);
    if (step != step_open) {
        assert_unchanged(&before, walk->sampler);
        assert_caller_untouched(walk, batch, weights);
    } else {
        assert_null(walk->sampler);
    }
    free(before.state);
    return 1;
}

/* Every allocation of every call fails once; the call is repeated until it gets through. */
static long walk_through(hws_options options) {
    walk walk = {.options = options};
    uint64_t random = 3;
    long refused = 0;
    for (int i = 0; i < N + MORE; i++) walk.losses[i] = (float)(1 + 0.2 * test_normal(&random));
    for (size_t s = 0; s < sizeof STEPS / sizeof *STEPS; s++)
        for (long k = 0; fails_at(&walk, STEPS[s], k); k++) refused++;
    hws_sampler_close(&walk.sampler);
    free(walk.state);
    return refused;
}

/* The same walk, without failures or with the first allocation of each call failing once: how it ends. */
static snapshot end_of_walk(hws_options options, int disturbed) {
    walk walk = {.options = options};
    uint64_t random = 3;
    for (int i = 0; i < N + MORE; i++) walk.losses[i] = (float)(1 + 0.2 * test_normal(&random));
    for (size_t s = 0; s < sizeof STEPS / sizeof *STEPS; s++)
        if (!disturbed || fails_at(&walk, STEPS[s], 0)) assert_int_equal(STEPS[s](&walk), HWS_OK);
    const snapshot end = snapshot_of(walk.sampler);
    hws_sampler_close(&walk.sampler);
    free(walk.state);
    return end;
}

static hws_options options_of(hws_divergence divergence, int variant) {
    hws_options options = hws_options_default();
    options.beta = 2;
    options.divergence = divergence;
    options.keep_counts = 1;
    options.initial_loss = variant < 2 ? 1 : NAN;
    options.jitter = 0.1;
    options.importance = variant == 1 || variant == 2 ? HWS_IMPORTANCE_EXACT : HWS_IMPORTANCE_APPROXIMATE;
    options.momentum = variant ? 0.5 : 0;
    options.floor = variant == 2 ? 0.1 : 0;
    options.uniform_mix = variant == 1 || variant == 3 ? 0.1 : 0;
    options.trim = variant == 3 ? 0.1 : 0;
    options.doubt = variant == 3 ? 1 : 0;
    return options;
}

static void test_every_allocation(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int variant = 0; variant < 4; variant++)
            assert_true(walk_through(options_of(divergence_number(d), variant)) > 40);
}

static void test_failures_leave_no_trace(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int variant = 0; variant < 4; variant++) {
            const hws_options options = options_of(divergence_number(d), variant);
            const snapshot plain = end_of_walk(options, 0), disturbed = end_of_walk(options, 1);
            assert_int_equal(plain.size, disturbed.size);
            assert_memory_equal(plain.state, disturbed.state, plain.size);
            free(plain.state);
            free(disturbed.state);
        }
}

static void test_message(void **state) {
    (void)state;
    hws_sampler *sampler = NULL;
    int64_t batch[BATCH];
    assert_int_equal(hws_sampler_open(&sampler, N, NULL, NULL, NULL), HWS_OK);
    (void)memory_fail_after(0);
    assert_int_equal(hws_sampler_draw(sampler, BATCH, batch), HWS_ERROR_MEMORY);
    (void)memory_fail_after(-1);
    const hws_error *error = hws_sampler_error(sampler);
    assert_int_equal(error->status, HWS_ERROR_MEMORY);
    assert_true(error->position == -1 && error->example == -1);
    assert_non_null(strstr(error->message, "memory"));
    assert_int_equal(hws_sampler_draws_made(sampler), 0);
    hws_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation),
        cmocka_unit_test(test_failures_leave_no_trace),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests_name("memory", tests, open_folder, close_folder);
}
