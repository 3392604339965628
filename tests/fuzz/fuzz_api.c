/* Bytes as a sequence of calls on a small sampler, with what must hold after each of them. */
#include "every_divergence.h"
#include "fuzz.h"
#include "hws.h"

#include <float.h>
#include <string.h>

enum { LARGEST = 400, CALLS = 60 };

/* ---- from bytes to arguments ----------------------------------------------------------------------------------- */

typedef struct input {
    const uint8_t *at, *end;
} input;

static unsigned next(input *input) { return input->at < input->end ? *input->at++ : 0; }

static double next_unit(input *input) { return next(input) / 255.0; }

/* Mostly ordinary numbers, sometimes the ones that break things. */
static float next_loss(input *input) {
    static const float special[] = {0,      -0.0f, 1,      FLT_MAX, -FLT_MAX, FLT_MIN,
                                    1e-45f, 1e30f, -1e30f, NAN,     INFINITY, -INFINITY};
    const unsigned byte = next(input);
    if (byte >= 240) return special[(byte - 240) % 12];
    return (float)((int)byte - 120) / 16;
}

static double next_beta(input *input) {
    static const double betas[] = {0, 1,  100, 1e4, 1e-3, 1e-300, 1e15, 5e-324,
                                   3, 10, 0.1, 1e8, -1,   NAN,    1e16, INFINITY};
    return betas[next(input) % 16];
}

static hws_options next_options(input *input) {
    hws_options options = hws_options_default();
    options.beta = next_beta(input);
    options.divergence = divergence_number(next(input) % DIVERGENCES);
    if (options.divergence.kind == HWS_CVAR) options.divergence.parameter = next_unit(input);
    if (options.divergence.kind == HWS_CRESSIE_READ) options.divergence.parameter = next(input) / 32.0 - 4;
    const unsigned bits = next(input);
    options.seed = next(input);
    options.replacement = bits & 1;
    options.keep_counts = bits >> 1 & 1;
    options.importance = bits >> 2 & 1 ? HWS_IMPORTANCE_EXACT : HWS_IMPORTANCE_APPROXIMATE;
    const unsigned more = next(input);
    if ((more & 3) == 3) options.importance = HWS_IMPORTANCE_NORMALISED;
    if (more >> 2 & 1) options.tail = next_unit(input);
    if (more >> 3 & 1) options.floor = 0, options.uniform_mix = next_unit(input);
    if (bits >> 3 & 1) options.momentum = next_unit(input);
    if (bits >> 4 & 1) options.floor = next_unit(input);
    if (bits >> 5 & 1) options.uniform_mix = next_unit(input);
    if (bits >> 6 & 1) options.jitter = next_unit(input);
    if (bits >> 7 & 1) options.weight_max = INFINITY, options.weight_min = 0;
    options.initial_loss = more >> 4 & 1 ? NAN : next_loss(input);
    return options;
}

/* ---- what must hold -------------------------------------------------------------------------------------------- */

static const double TOLERANCE = 1e-9;

/* Those that have no loss are those whose loss is NaN. */
static int64_t check_unseen(hws_sampler *sampler) {
    float losses[LARGEST];
    const int64_t n = hws_sampler_size(sampler);
    int64_t unseen = 0;
    require(hws_sampler_get_losses(sampler, 0, n, losses) == HWS_OK);
    for (int64_t i = 0; i < n; i++) {
        require(!isinf(losses[i]));
        unseen += isnan(losses[i]);
    }
    require(hws_sampler_unseen(sampler) == unseen);
    return unseen;
}

static void check_law(hws_sampler *sampler) {
    const int64_t n = hws_sampler_size(sampler);
    double *p = malloc((size_t)n * sizeof *p), total = 0;
    int64_t drawable = 0;
    require(p && hws_sampler_probabilities(sampler, 0, n, p) == HWS_OK);
    for (int64_t i = 0; i < n; i++) {
        require(p[i] >= 0 && p[i] <= 1 + TOLERANCE);
        total += p[i];
    }
    require(fabs(total - 1) <= TOLERANCE);
    free(p);
    require(hws_sampler_drawable(sampler, &drawable) == HWS_OK && drawable >= 1 && drawable <= n);
    const int64_t unseen = check_unseen(sampler);
    hws_statistics statistics;
    require(hws_sampler_statistics(sampler, &statistics) == HWS_OK);
    require(statistics.drawable == drawable && drawable >= unseen && statistics.unseen == unseen);
    require(statistics.beta == hws_sampler_options(sampler).beta);
    require(statistics.beta >= 0 && statistics.beta <= 1e15);
    if (unseen == n) {
        require(statistics.effective_size == 0 && isnan(statistics.loss_mean));
        return;
    }
    const double slack = 1 + 2 * TOLERANCE;
    require(statistics.effective_size >= 1 / slack && statistics.effective_size <= (double)n * slack);
    require(statistics.loss_min <= statistics.loss_max && isfinite(statistics.loss_std));
    require(!isnan(statistics.robust_loss));
}

static void check_round_trip(hws_sampler *sampler) {
    const hws_divergence divergence = hws_sampler_options(sampler).divergence;
    const size_t size = hws_sampler_state_size(sampler);
    uint8_t *state = malloc(size), *again = malloc(size);
    require(state && again);
    hws_sampler *resumed = NULL;
    require(hws_sampler_state_write(sampler, state, size) == HWS_OK);
    require(hws_sampler_state_read(&resumed, state, size, &divergence, NULL) == HWS_OK);
    int64_t a[LARGEST], b[LARGEST];
    const int64_t count = hws_sampler_size(sampler) < 5 ? 1 : 2;
    const hws_status status = hws_sampler_draw(sampler, count, a);
    require(hws_sampler_draw(resumed, count, b) == status);
    require(status != HWS_OK || memcmp(a, b, (size_t)count * sizeof *a) == 0);
    require(hws_sampler_state_write(sampler, state, size) == HWS_OK);
    require(hws_sampler_state_write(resumed, again, size) == HWS_OK);
    require(memcmp(state, again, size) == 0);
    hws_sampler_close(&resumed);
    free(state);
    free(again);
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

typedef struct session {
    hws_sampler *sampler;
    int64_t batch[LARGEST];
    float losses[LARGEST], out[LARGEST];
} session;

static void call_draw(session *session, input *input) {
    const int64_t n = hws_sampler_size(session->sampler), count = next(input) % 64;
    int64_t drawable = 0;
    char seen[LARGEST] = {0};
    const int replacement = hws_sampler_options(session->sampler).replacement;
    require(hws_sampler_drawable(session->sampler, &drawable) == HWS_OK);
    const hws_status status = hws_sampler_draw(session->sampler, count, session->batch);
    require(status == (replacement || count <= drawable ? HWS_OK : HWS_ERROR_TOO_FEW));
    for (int64_t j = 0; status == HWS_OK && j < count; j++) {
        require(session->batch[j] >= 0 && session->batch[j] < n);
        require(replacement || !seen[session->batch[j]]++);
    }
}

/* Fills a batch, now and then with what must be refused. Returns what to expect. */
static hws_status fill_batch(session *session, input *input, int64_t count) {
    const int64_t n = hws_sampler_size(session->sampler);
    hws_status expected = HWS_OK;
    for (int64_t j = 0; j < count; j++) {
        const unsigned byte = next(input);
        session->batch[j] = byte == 255 ? n : byte == 254 ? -1 : (int64_t)(byte * 7 % (unsigned)n);
        session->losses[j] = next_loss(input);
        const hws_status own = byte >= 254                     ? HWS_ERROR_INDEX
                               : !isfinite(session->losses[j]) ? HWS_ERROR_NOT_FINITE
                                                               : HWS_OK;
        if (expected == HWS_OK) expected = own;
    }
    return expected;
}

static void call_update(session *session, input *input) {
    const int64_t count = next(input) % 12;
    const hws_status expected = fill_batch(session, input, count);
    require(hws_sampler_importance(session->sampler, count, session->batch, session->losses, session->out) == expected);
    const hws_options options = hws_sampler_options(session->sampler);
    for (int64_t j = 0; expected == HWS_OK && j < count; j++)
        require(session->out[j] >= (float)options.weight_min && session->out[j] <= (float)options.weight_max);
    require(hws_sampler_update(session->sampler, count, session->batch, session->losses) == expected);
}

static void call_set_losses(session *session, input *input) {
    const int64_t n = hws_sampler_size(session->sampler), first = next(input) % (n + 2), count = next(input) % 40;
    hws_status expected = first + count > n ? HWS_ERROR_INDEX : HWS_OK;
    for (int64_t j = 0; j < count; j++) {
        session->losses[j] = next_loss(input);
        if (expected == HWS_OK && isinf(session->losses[j])) expected = HWS_ERROR_NOT_FINITE;
    }
    require(hws_sampler_set_losses(session->sampler, first, count, session->losses) == expected);
    if (expected != HWS_OK) return;
    require(hws_sampler_get_losses(session->sampler, first, count, session->out) == HWS_OK);
    for (int64_t j = 0; j < count; j++)
        require(session->out[j] == session->losses[j] || (isnan(session->out[j]) && isnan(session->losses[j])));
}

static void call_grow(session *session, input *input) {
    const int64_t n = hws_sampler_size(session->sampler), count = next(input) % 100;
    if (n + count > LARGEST) return;
    const int own = next(input) & 1;
    for (int64_t j = 0; j < count; j++) {
        const float loss = own ? next_loss(input) : 0;
        session->losses[j] = isinf(loss) ? 0 : loss;
    }
    require(hws_sampler_grow(session->sampler, count, own ? session->losses : NULL) == HWS_OK);
    require(hws_sampler_size(session->sampler) == n + count);
}

static void call_set_beta(session *session, input *input) {
    const double beta = next_beta(input);
    require(hws_sampler_set_beta(session->sampler, beta) == (beta >= 0 && beta <= 1e15 ? HWS_OK : HWS_ERROR_ARGUMENT));
}

static void call_find_beta(session *session, input *input) {
    const int64_t known = hws_sampler_size(session->sampler) - hws_sampler_unseen(session->sampler);
    const double n = (double)(known > 0 ? known : 1), share = next_unit(input);
    double beta = -1;
    const unsigned which = next(input) % 3;
    const hws_status status = which == 0 ? hws_sampler_beta_for_spread(session->sampler, 0.1 + share, &beta)
                              : which == 1
                                  ? hws_sampler_beta_for_effective_size(session->sampler, 1 + share * (n - 1), &beta)
                                  : hws_sampler_beta_for_kl(session->sampler, share * log(n), &beta);
    require(status == HWS_OK || status == HWS_ERROR_UNREACHABLE || status == HWS_ERROR_ARGUMENT ||
            (known == 0 && status == HWS_ERROR_NO_LOSS));
    require(status != HWS_OK || hws_sampler_set_beta(session->sampler, beta) == HWS_OK);
}

static void call_tails(session *session, input *input) {
    const double alpha = (1 + next(input)) / 256.0;
    double percentile, cvar, bound;
    if (hws_sampler_unseen(session->sampler) == hws_sampler_size(session->sampler)) {
        require(hws_sampler_percentile(session->sampler, alpha, &percentile) == HWS_ERROR_NO_LOSS);
        require(hws_sampler_cvar(session->sampler, alpha, &cvar) == HWS_ERROR_NO_LOSS);
        return;
    }
    require(hws_sampler_percentile(session->sampler, alpha, &percentile) == HWS_OK);
    require(hws_sampler_cvar(session->sampler, alpha, &cvar) == HWS_OK);
    const double scale = fmax(fabs(percentile), fabs(cvar));
    require(cvar >= percentile - 1e-9 * scale);
    const double beta = hws_sampler_options(session->sampler).beta;
    const hws_status status = hws_sampler_percentile_bound(session->sampler, alpha, &bound);
    require(status == (beta > 0 ? HWS_OK : HWS_ERROR_ARGUMENT));
    /* A subnormal beta divides an ordinary logarithm into infinity, which is a bound all right. */
    if (status == HWS_OK) require(bound >= percentile - 1e-9 * scale - 1e-12 / beta);
}

static void call_counts(session *session, input *input) {
    const int64_t n = hws_sampler_size(session->sampler);
    const uint64_t least = next(input);
    const hws_status expected = hws_sampler_options(session->sampler).keep_counts ? HWS_OK : HWS_ERROR_NOT_KEPT;
    uint64_t ages[LARGEST], draws[LARGEST];
    require(hws_sampler_ages(session->sampler, 0, n, ages) == expected);
    require(hws_sampler_draw_counts(session->sampler, 0, n, draws) == expected);
    if (expected != HWS_OK) return;
    int64_t cursor = 0, example = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ages[i] < least) continue;
        require(hws_sampler_next_stale(session->sampler, least, &cursor, &example) == HWS_OK && example == i);
    }
    require(hws_sampler_next_stale(session->sampler, least, &cursor, &example) == HWS_OK && example == -1);
}

static void call_hardest(session *session, input *input) {
    const int64_t n = hws_sampler_size(session->sampler), count = next(input) % n;
    require(hws_sampler_hardest(session->sampler, count, session->batch, session->losses) == HWS_OK);
    for (int64_t j = 1; j < count; j++) {
        const int last = isnan(session->losses[j]), tie = last && isnan(session->losses[j - 1]);
        require(last || session->losses[j - 1] >= session->losses[j]);
        require(last != tie || session->losses[j - 1] > session->losses[j] ||
                session->batch[j - 1] < session->batch[j]);
    }
}

static void call_check_law(session *session, input *input) {
    (void)input;
    check_law(session->sampler);
}

static void call_round_trip(session *session, input *input) {
    (void)input;
    check_round_trip(session->sampler);
}

static void (*const CALL[])(session *, input *) = {
    call_draw,      call_update, call_draw,   call_update,  call_set_losses, call_grow,       call_set_beta,
    call_find_beta, call_tails,  call_counts, call_hardest, call_check_law,  call_round_trip,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input input = {data, data + size};
    const hws_options options = next_options(&input);
    session session = {.sampler = (hws_sampler *)1};
    const int64_t n = 1 + (int64_t)next(&input) + (next(&input) & 1 ? 100 : 0);
    hws_error error;
    const hws_status status = hws_sampler_open(&session.sampler, n, NULL, &options, &error);
    require((status == HWS_OK) == (session.sampler != NULL));
    require(error.status == status && (status == HWS_OK) == (strlen(error.message) == 0));
    if (status != HWS_OK) return 0;
    for (int t = 0; t < CALLS && input.at < input.end; t++)
        CALL[next(&input) % (sizeof CALL / sizeof *CALL)](&session, &input);
    check_law(session.sampler);
    check_round_trip(session.sampler);
    hws_sampler_close(&session.sampler);
    return 0;
}
