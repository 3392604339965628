#include "sampler/tail.h"

#include "core/portable_math.h"
#include "sampler/options.h"
#include "sampler/robust.h"
#include "sampler/sampler.h"

#include <math.h>

/* Beta is renewed when the radius is off by more than RENEW, and then solved to EXACT; both relative. */
static const double RENEW = 0.02, EXACT = 2e-4;

/* A radius off by more than MUCH means that looks come too late, one off by less than LITTLE that they come too soon. */
static const double MUCH = 0.03, LITTLE = 0.01;

/* Ties at the largest loss limit what any beta can reach; this share of it is asked for at most. */
static const double REACHABLE = 0.95;

enum { FIRST_HASTE = 4, ALARMED_HASTE = 10, MOST_STEPS = 100 };

double tail_radius(const hws_divergence *divergence, double a) {
    if (a >= 1) return 0;
    return a * divergence_phi(divergence, 1 / a) + (1 - a) * divergence_phi(divergence, 0);
}

/* ---- the radius of the present losses -------------------------------------------------------------------------- */

enum { BLOCK = 64, LANES = 4 };

/* exp(t) for t in [-700, 0], in a form that compilers turn into vector instructions; the same bits everywhere. */
static double exp_in_range(double t) {
    const double shifted = t * HWS_LOG2_E + HWS_ROUNDING_MAGIC;
    const double f = t * HWS_LOG2_E - (shifted - HWS_ROUNDING_MAGIC);
    static const double c[] = {HWS_EXP2_0, HWS_EXP2_1, HWS_EXP2_2, HWS_EXP2_3, HWS_EXP2_4, HWS_EXP2_5,
                               HWS_EXP2_6, HWS_EXP2_7, HWS_EXP2_8, HWS_EXP2_9, HWS_EXP2_10};
    double sum = c[10];
    for (int k = 9; k >= 0; k--) sum = sum * f + c[k];
    /* The magic number leaves the rounded integer in the low bits. */
    return sum * hws_double_of((hws_bits_of(shifted) + 1023) << 52);
}

typedef struct kl_sums {
    wide_sum mass, moment, square; /* sum(e^t), sum(t e^t), sum(t^2 e^t) */
} kl_sums;

static double sum_lanes(const double lanes[LANES]) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

/* t = beta (loss - largest); what is below -700, an example without a loss included, weighs nothing. */
static void add_block(kl_sums *sums, double beta, double largest, const float *losses, size_t count) {
    double t[BLOCK], e[BLOCK], mass[LANES] = {0}, moment[LANES] = {0}, square[LANES] = {0};
    for (size_t i = 0; i < count; i++) {
        const double exponent = beta * (losses[i] - largest);
        t[i] = exponent > -700 ? exponent : -700;
    }
    for (size_t i = count; i < BLOCK; i++) t[i] = -700;
    for (size_t i = 0; i < BLOCK; i++) e[i] = exp_in_range(t[i]);
    for (size_t i = 0; i < BLOCK; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++) {
            mass[lane] += e[i + lane];
            moment[lane] += e[i + lane] * t[i + lane];
            square[lane] += e[i + lane] * t[i + lane] * t[i + lane];
        }
    sums->mass = wide_add_double(sums->mass, sum_lanes(mass));
    sums->moment = wide_add_double(sums->moment, sum_lanes(moment));
    sums->square = wide_add_double(sums->square, sum_lanes(square));
}

/* The divergence of p to uniform at some beta, and its derivative by ln(beta), 0 where that is not known. */
typedef struct reading {
    double radius, slope;
} reading;

/* KL(p || uniform) = sum(p t) - ln(sum(e^t) / n), and its derivative is the variance of t under p. */
static reading kl_reading(const loss_list *list, double beta, double largest) {
    kl_sums sums = {{0, 0}, {0, 0}, {0, 0}};
    for (size_t first = 0; first < list->n; first += BLOCK)
        add_block(&sums, beta, largest, list->losses + first, list->n - first < BLOCK ? list->n - first : BLOCK);
    const double mass = sums.mass.high, mean = sums.moment.high / mass;
    return (reading){mean - hws_log(mass / (double)list->known), sums.square.high / mass - mean * mean};
}

typedef struct ball {
    const hws_divergence *divergence;
    loss_list list;
    double largest, target;
} ball;

static reading reading_at(const ball *ball, double beta) {
    if (beta == 0) return (reading){0, 0};
    if (ball->divergence->kind == HWS_KL) return kl_reading(&ball->list, beta, ball->largest);
    const tilted_law law = tilted_law_of(ball->divergence, beta, &ball->list);
    return (reading){divergence_of(ball->divergence, &law, &ball->list), 0};
}

/* ---- beta ------------------------------------------------------------------------------------------------------ */

/* ln(radius / target), which rises with ln(beta): with slope 2 where beta is small, flatter further up. */
static double log_miss(const ball *ball, double radius) {
    const double miss = hws_log(radius / ball->target);
    return miss > -50 ? miss : -50; /* NaN, too: rounding can make a tiny radius negative */
}

typedef struct bracket {
    double low, high, low_miss, high_miss;
    double stride; /* as long as one of the ends is missing */
    int has_low, has_high, last_low;
} bracket;

/* Illinois: an end that stays for a second time counts for half, so that it does not stay for long. */
static void narrow(bracket *bracket, double x, double miss) {
    if (miss < 0) {
        if (bracket->has_low && bracket->last_low) bracket->high_miss /= 2;
        bracket->low = x, bracket->low_miss = miss, bracket->has_low = 1;
    } else {
        if (bracket->has_high && !bracket->last_low) bracket->low_miss /= 2;
        bracket->high = x, bracket->high_miss = miss, bracket->has_high = 1;
    }
    bracket->last_low = miss < 0;
}

static int is_inside(const bracket *bracket, double x) {
    return (!bracket->has_low || x > bracket->low) && (!bracket->has_high || x < bracket->high);
}

/* By Newton's step where the slope of the miss is known and the step is sensible, else between the ends, else outwards. */
static double next_guess(bracket *bracket, double x, double miss, double slope) {
    const double step = miss / slope;
    if (slope > 0 && fabs(step) < 1 && is_inside(bracket, x - step)) return x - step;
    if (bracket->has_low && bracket->has_high) {
        const double share = bracket->low_miss / (bracket->low_miss - bracket->high_miss);
        return bracket->low + share * (bracket->high - bracket->low);
    }
    const double stride = fabs(miss) > 2 * bracket->stride ? fabs(miss) : 2 * bracket->stride;
    bracket->stride = stride < 4 ? stride : 4;
    return miss < 0 ? x + bracket->stride : x - bracket->stride;
}

/* The beta at which the ball has its radius, from a first guess and what was read there. */
static double solve(const ball *ball, double beta, reading at) {
    const double limit = hws_log(LARGEST_BETA);
    bracket bracket = {0};
    double x = hws_log(beta);
    for (int step = 0; step < MOST_STEPS; step++) {
        const double miss = log_miss(ball, at.radius);
        if (fabs(miss) <= EXACT || (x == limit && miss < 0) || x < -600) break;
        narrow(&bracket, x, miss);
        const double guess = next_guess(&bracket, x, miss, at.slope / at.radius);
        x = guess < limit ? guess : limit;
        at = reading_at(ball, hws_exp(x));
    }
    const double found = hws_exp(x);
    return found < LARGEST_BETA ? found : LARGEST_BETA;
}

/* Where nothing is known of beta: the inverse of the spread. */
static double first_guess(const ball *ball) {
    const double guess = 1 / deviation_of(&ball->list, mean_of(&ball->list));
    return guess < LARGEST_BETA ? guess : LARGEST_BETA;
}

static size_t ties_at(const loss_list *list, double loss) {
    size_t ties = 0;
    for (size_t i = 0; i < list->n; i++) ties += list->losses[i] == loss;
    return ties;
}

static ball ball_of(const hws_sampler *sampler) {
    const law *law = &sampler->law;
    ball ball = {.divergence = &law->divergence, .list = law_list(law)};
    ball.largest = largest_of(&ball.list);
    const double ties = (double)ties_at(&ball.list, ball.largest);
    const double wanted = tail_radius(ball.divergence, sampler->options.tail);
    const double reachable = REACHABLE * tail_radius(ball.divergence, ties / (double)law->known);
    ball.target = wanted < reachable ? wanted : reachable;
    return ball;
}

static void look(hws_sampler *sampler) {
    tail_watch *watch = &sampler->watch;
    watch->updated = 0;
    const ball ball = ball_of(sampler);
    watch->target = watch->radius = ball.target;
    if (!(ball.target > 0)) return; /* all losses are equal: every beta gives the same draws */
    const double beta = sampler->options.beta;
    const reading now = reading_at(&ball, beta);
    const double drift = fabs(now.radius / ball.target - 1);
    if (isnan(drift)) return; /* a custom divergence that has none */
    if (drift > MUCH) watch->haste = watch->haste + 2 < TAIL_MAX_HASTE ? watch->haste + 2 : TAIL_MAX_HASTE;
    if (drift < LITTLE && watch->haste > 0) watch->haste--;
    if (drift <= RENEW) {
        watch->radius = now.radius;
        return;
    }
    if (now.radius > 0) {
        sampler_take_beta(sampler, solve(&ball, beta, now));
        return;
    }
    const double guess = first_guess(&ball);
    sampler_take_beta(sampler, solve(&ball, guess, reading_at(&ball, guess)));
}

static int is_followed(const hws_sampler *sampler) {
    return sampler->options.tail > 0 && sampler->options.tail < 1 && sampler->law.divergence.kind != HWS_CVAR &&
           sampler->law.known > 0;
}

void tail_begin(hws_sampler *sampler) {
    sampler->watch = (tail_watch){.haste = FIRST_HASTE};
    if (is_followed(sampler)) look(sampler);
}

tail_part tail_part_of(hws_sampler *sampler, int64_t count, const int64_t *examples) {
    law *law = &sampler->law;
    tail_part part = {.known = (double)law->known};
    if (!is_followed(sampler) || law_prepare(law) != HWS_OK) return part;
    part.total = law->tree_total;
    for (int64_t j = 0; j < count; j++) {
        if (!law_knows(law, examples[j])) continue;
        const double p = law_probability(law, examples[j]), z = p * part.known;
        part.p += p;
        if (!law_is_kl(law)) part.radius += divergence_phi(&law->divergence, z) / part.known;
        else if (p > 0) part.radius += p * hws_log(z);
    }
    return part;
}

/*
 * For KL this is exact: when the weights' total grows by a factor r, those that did not change go from p to p / r, and
 * their sum(p ln(n p)) follows. For the others the normaliser is taken as unchanged.
 */
void tail_exchange(hws_sampler *sampler, const tail_part *before, const tail_part *after) {
    tail_watch *watch = &sampler->watch;
    if (!is_followed(sampler)) return;
    if (sampler->options.trim > 0 || !after) { /* others may have gone in or out */
        watch->radius = 0;
        return;
    }
    if (!law_is_kl(&sampler->law)) {
        watch->radius += after->radius - before->radius;
    } else if (before->known > 0) {
        const double growth = tree_word_ratio(after->total, before->total);
        const double shift = hws_log(after->known / before->known) - hws_log(growth);
        watch->radius = (watch->radius - before->radius + shift * (1 - before->p)) / growth + after->radius;
    }
    if (!isfinite(watch->radius)) watch->radius = 0; /* far off: look */
}

void tail_follow(hws_sampler *sampler, int64_t changed, int64_t known_before) {
    if (!is_followed(sampler)) return;
    const law *law = &sampler->law;
    tail_watch *watch = &sampler->watch;
    watch->updated += (uint64_t)changed;
    const int complete = history_known(sampler) == law->n && known_before < law->n;
    const uint64_t known = (uint64_t)law->known;
    const int alarmed = fabs(watch->radius - watch->target) > RENEW * watch->target;
    if (complete || watch->updated >= known >> (alarmed ? ALARMED_HASTE : (int)watch->haste)) look(sampler);
}
