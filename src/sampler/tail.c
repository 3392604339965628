#include "sampler/tail.h"

#include "core/portable_math.h"
#include "sampler/options.h"
#include "sampler/robust.h"
#include "sampler/sampler.h"

#include <math.h>

/* Beta is renewed when the radius is off by more than RENEW, and then solved to EXACT; both relative.
   Where the radius was followed, one step mostly comes closer than NEAR, which will do: each further one
   costs a pass over all losses. */
static const double RENEW = 0.02, EXACT = 2e-4, NEAR = 1e-2;

/* A radius off by more than MUCH means that looks come too late, one off by less than LITTLE
   that they come too soon. */
static const double MUCH = 0.03, LITTLE = 0.01;

/* Ties at the largest loss limit what any beta can reach; this share of it is asked for at most. */
static const double REACHABLE = 0.95;

enum { FIRST_HASTE = 4, ALARMED_HASTE = 10, MOST_STEPS = 100 };

double tail_radius(const hws_divergence *divergence, double a) {
    if (a >= 1) return 0;
    return a * divergence_phi(divergence, 1 / a) + (1 - a) * divergence_phi(divergence, 0);
}

/* ---- the radius of the present losses -------------------------------------------------------------------------- */

/* The divergence of p to uniform at some beta, and its derivative by ln(beta), 0 where that is not known. */
typedef struct reading {
    double radius, slope;
} reading;

/* KL(p || uniform) = sum(p t) - ln(sum(e^t) / n), and its derivative is the variance of t under p. */
static reading kl_reading(law *law, double beta, double largest) {
    const tree_moments sums = law_set_beta_moments(law, beta, largest);
    const double mean = sums.first / sums.mass;
    return (reading){mean - hws_log(sums.mass / (double)law->known), sums.second / sums.mass - mean * mean};
}

typedef struct ball {
    const hws_divergence *divergence;
    law *law;
    loss_list list;
    double largest, target;
} ball;

/* For KL the tree has this beta afterwards: its weights are what is summed. */
static reading reading_at(const ball *ball, double beta) {
    if (beta == 0) return (reading){0, 0};
    if (law_is_kl(ball->law)) return kl_reading(ball->law, beta, ball->largest);
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

/* By Newton's step where the slope of the miss is known and the step is sensible, else between
   the ends, else outwards. */
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

typedef struct solution {
    double beta;
    reading at;
} solution;

static solution solution_at(const ball *ball, double beta) { return (solution){beta, reading_at(ball, beta)}; }

/* The beta at which the ball has its radius, up to a share of it, from a first guess and what was read there. */
static solution solve(const ball *ball, solution guess, double enough) {
    const double limit = hws_log(LARGEST_BETA);
    bracket bracket = {0};
    solution found = guess;
    double x = hws_log(guess.beta);
    for (int step = 0; step < MOST_STEPS; step++) {
        const double miss = log_miss(ball, found.at.radius);
        if (fabs(miss) <= enough || (x == limit && miss < 0) || x < -600) break;
        narrow(&bracket, x, miss);
        const double next = next_guess(&bracket, x, miss, found.at.slope / found.at.radius);
        x = next < limit ? next : limit;
        const double beta = hws_exp(x);
        found = solution_at(ball, beta < LARGEST_BETA ? beta : LARGEST_BETA);
    }
    return found;
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

static double largest_and_ties(const ball *ball, size_t *ties) {
    if (law_is_kl(ball->law)) return weight_tree_largest(&ball->law->tree, ties);
    const double largest = largest_of(&ball->list);
    *ties = ties_at(&ball->list, largest);
    return largest;
}

static ball ball_of(hws_sampler *sampler) {
    law *law = &sampler->law;
    ball ball = {.divergence = &law->divergence, .law = law, .list = law_list(law)};
    size_t ties;
    ball.largest = largest_and_ties(&ball, &ties);
    const double wanted = tail_radius(ball.divergence, sampler->options.tail);
    const double reachable = REACHABLE * tail_radius(ball.divergence, (double)ties / (double)law->known);
    ball.target = wanted < reachable ? wanted : reachable;
    return ball;
}

static void watch_from(tail_watch *watch, reading at) {
    watch->radius = at.radius;
    watch->square = at.slope > 0 ? (float)(at.slope + at.radius * at.radius) : 0;
    if (!isfinite(watch->square)) watch->square = 0;
}

static void take(hws_sampler *sampler, const solution *found) {
    sampler_take_beta(sampler, found->beta);
    watch_from(&sampler->watch, found->at);
}

/* Where beta should be by what was followed, when that is far enough from where it is; else 0. */
static double foreseen(const hws_sampler *sampler, const ball *ball) {
    const tail_watch *watch = &sampler->watch;
    if (!law_is_kl(&sampler->law) || !(watch->square > 0) || !(watch->radius > 0)) return 0;
    if (fabs(watch->radius / ball->target - 1) <= RENEW) return 0;
    const double slope = watch->square / watch->radius - watch->radius;
    const double step = log_miss(ball, watch->radius) / slope;
    return slope > 0 && fabs(step) < 1 ? sampler->options.beta * hws_exp(-step) : 0;
}

static void look(hws_sampler *sampler) {
    tail_watch *watch = &sampler->watch;
    watch->updated = 0;
    const ball ball = ball_of(sampler);
    watch->target = ball.target;
    if (!(ball.target > 0)) { /* all losses are equal: every beta gives the same draws */
        watch->radius = watch->square = 0;
        return;
    }
    const double beta = sampler->options.beta, guess = foreseen(sampler, &ball);
    if (guess > 0 && guess < LARGEST_BETA) {
        const solution found = solve(&ball, solution_at(&ball, guess), NEAR);
        take(sampler, &found);
        return;
    }
    const solution now = solution_at(&ball, beta);
    const double drift = fabs(now.at.radius / ball.target - 1);
    if (isnan(drift)) { /* a custom divergence that has none */
        watch->radius = ball.target;
        return;
    }
    if (drift > MUCH) watch->haste = watch->haste + 2 < TAIL_MAX_HASTE ? watch->haste + 2 : TAIL_MAX_HASTE;
    if (drift < LITTLE && watch->haste > 0) watch->haste--;
    if (drift <= RENEW) {
        watch_from(watch, now.at);
        return;
    }
    const solution start = now.at.radius > 0 ? now : solution_at(&ball, first_guess(&ball));
    const solution found = solve(&ball, start, EXACT);
    take(sampler, &found);
}

static int is_followed(const hws_sampler *sampler) {
    return sampler->options.tail > 0 && sampler->options.tail < 1 && sampler->law.divergence.kind != HWS_CVAR &&
           sampler->law.known > 0;
}

void tail_begin(hws_sampler *sampler) {
    sampler->watch = (tail_watch){.haste = FIRST_HASTE};
    if (is_followed(sampler)) look(sampler);
}

/* The parts of losses are summed about the largest of them. */
static void add_kl(tail_part *part, const law *law, size_t count, const float *losses, float largest) {
    const tree_word weight = weight_tree_weight(&law->tree, largest);
    const double share = tree_word_ratio(weight, part->total);
    if (!(share > 0)) return;
    const double top = hws_log(share * part->known); /* ln(n p) of the largest */
    const tree_moments sums = weight_tree_moments(&law->tree, count, losses, law->beta, largest);
    part->p += share * sums.mass;
    part->radius += share * (sums.first + top * sums.mass);
    part->square += share * (sums.second + 2 * top * sums.first + top * top * sums.mass);
}

static void add_kl_parts(tail_part *part, const law *law, int64_t count, const int64_t *examples) {
    for (int64_t first = 0; first < count; first += TREE_FLIGHT) {
        float losses[TREE_FLIGHT], largest = -INFINITY;
        size_t listed = 0;
        for (int64_t j = first; j < count && listed < TREE_FLIGHT; j++, listed++) {
            losses[listed] = law->losses[examples[j]];
            largest = losses[listed] > largest ? losses[listed] : largest;
        }
        if (is_known(largest)) add_kl(part, law, listed, losses, largest);
    }
}

tail_part tail_part_of(hws_sampler *sampler, int64_t count, const int64_t *examples) {
    law *law = &sampler->law;
    tail_part part = {.known = (double)law->known};
    if (!is_followed(sampler)) return part;
    if (law_is_kl(law)) {
        part.total = law_total(law);
        add_kl_parts(&part, law, count, examples);
        return part;
    }
    if (law_prepare(law) != HWS_OK) return part;
    for (int64_t j = 0; j < count; j++) {
        if (!law_knows(law, examples[j])) continue;
        const double p = law_probability(law, examples[j]);
        part.p += p;
        part.radius += divergence_phi(&law->divergence, p * part.known) / part.known;
    }
    return part;
}

/* When the weights' total grows by a factor r, those that did not change go from p to p / r, and what is summed over
   them follows: ln(n p) moves by the same for all. */
static void exchange_kl(tail_watch *watch, const tail_part *before, const tail_part *after) {
    const double growth = tree_word_ratio(after->total, before->total);
    const double shift = hws_log(after->known / before->known) - hws_log(growth);
    const double p = 1 - before->p, radius = watch->radius - before->radius, square = watch->square - before->square;
    watch->radius = (radius + shift * p) / growth + after->radius;
    if (watch->square > 0)
        watch->square = (float)((square + 2 * shift * radius + shift * shift * p) / growth + after->square);
    if (!(watch->square > 0 && isfinite(watch->square))) watch->square = 0;
}

/* For KL this is exact. For the others the normaliser is taken as unchanged. */
void tail_exchange(hws_sampler *sampler, const tail_part *before, const tail_part *after) {
    tail_watch *watch = &sampler->watch;
    if (!is_followed(sampler)) return;
    if (sampler->options.trim > 0 || !after) { /* others may have gone in or out */
        watch->radius = watch->square = 0;
        return;
    }
    if (!law_is_kl(&sampler->law)) watch->radius += after->radius - before->radius;
    else if (before->known > 0) exchange_kl(watch, before, after);
    if (!isfinite(watch->radius)) watch->radius = 0; /* far off: look */
}

void tail_follow(hws_sampler *sampler, int64_t changed, int64_t known_before) {
    if (!is_followed(sampler)) return;
    const law *law = &sampler->law;
    tail_watch *watch = &sampler->watch;
    watch->updated += (uint64_t)changed;
    const int complete = history_known(sampler) == law->n && known_before < law->n;
    const uint64_t soonest = (uint64_t)law->n >> ALARMED_HASTE, usual = (uint64_t)law->known >> watch->haste;
    const int alarmed = fabs(watch->radius - watch->target) > RENEW * watch->target;
    if (complete || watch->updated >= (alarmed || usual < soonest ? soonest : usual)) look(sampler);
}

void tail_lose(hws_sampler *sampler) { sampler->watch.square = 0; }
