/*
 * The law: the losses and the distribution p-bar that follows from them. Two structures stand behind one face: the
 * weight tree for KL, the ranked set for all others.
 *
 * Members can be taken out for the duration of a batch; draws then follow p-bar restricted to the others.
 */
#ifndef HWS_SAMPLER_LAW_H
#define HWS_SAMPLER_LAW_H

#include "core/random.h"
#include "sampler/divergence.h"
#include "sampler/level_window.h"
#include "sampler/ranked_set.h"
#include "sampler/weight_tree.h"

enum { LAW_OCTAVES = 34 };

/*
 * An envelope over the ranks: octave k covers ranks [2^(k-1), 2^k) and is as high as its first, largest weight. Since
 * weights fall with rank, at least a third of what is proposed under it is accepted.
 */
typedef struct law_envelope {
    int octaves;
    double height[LAW_OCTAVES], end[LAW_OCTAVES]; /* end: running total of size times height */
    uint32_t drawable;
} law_envelope;

/* What makes the weights sum to n: a tilt at a reference loss or, for CVaR, a boundary. */
typedef struct law_level {
    double reference;
    tilt tilt;
    cvar_boundary cvar;
    double total; /* what the weights sum to */
} law_level;

typedef struct law {
    hws_divergence divergence; /* canonical */
    double beta;
    int64_t n, known; /* examples, and how many of them have a loss: p-bar is a distribution over these */
    float *losses;    /* padded to whole leaves; -infinity marks padding, examples without a loss and members taken out
                         of the tree */
    size_t loss_bytes;

    weight_tree tree;     /* KL */
    size_t tree_behind;   /* of the members put back last, so many are still to be refreshed in the tree */
    tree_word tree_total; /* before members were taken out */

    ranked_set set;      /* all others */
    level_window window; /* those without a closed form */
    law_level level;
    int level_current; /* it follows the current losses */
    law_envelope envelope;
    int envelope_current;

    int64_t *taken; /* members that are out, in order */
    float *taken_losses;
    size_t taken_count, taken_capacity;
    int64_t taken_known; /* of them, those that have a loss: a trim lets batches hold others, too */
    double taken_mass;   /* their share of p-bar (ranked laws) */
} law;

/* Copies the losses; NaN (and -infinity) is no loss. On failure the law is closed. */
hws_status law_open(law *law, const hws_divergence *divergence, double beta, int64_t n, const float *losses);
void law_close(law *law);
size_t law_memory(const law *law);
int law_is_kl(const law *law);

/* Replaces single losses; indices and values have been checked. NaN is no loss. The last of repeated indices wins. */
void law_write(law *law, int64_t count, const int64_t *examples, const float *losses);
/* Replaces a range; NaN is no loss. */
hws_status law_write_range(law *law, int64_t first, int64_t count, const float *losses);
/* Makes room for and adds losses at the end; nothing changes on failure. */
hws_status law_grow(law *law, int64_t count, const float *losses);
/* Other losses, of as many examples or more; nothing changes on failure. */
hws_status law_replace(law *law, int64_t n, const float *losses);
void law_set_beta(law *law, double beta);
/* The same for KL, and what it finds on the way. The reference must be the largest loss. */
tree_moments law_set_beta_moments(law *law, double beta, double reference);

/* The losses as a list. Not while members are taken out. */
loss_list law_list(const law *law);

/* Has this example a loss? Not for a member that is taken out. */
static inline int law_knows(const law *law, int64_t example) { return is_known(law->losses[example]); }

/* Brings the normaliser up to date. To be called before any of those below, all of which need some known loss. */
hws_status law_prepare(law *law);

/* KL: the total of all weights, as law_prepare would find it, without the work. */
tree_word law_total(const law *law);

/* p-bar of one example; 0 without a loss. */
double law_probability(const law *law, int64_t example);
/* p-bar of an example that had this loss, the normaliser taken as it is; may exceed 1. */
double law_probability_at(const law *law, double loss);
/* p-bar of one example if its loss were this one, the others as they are. */
double law_probability_after(law *law, int64_t example, float loss);

/* Members with p-bar > 0 that are not taken out. */
int64_t law_drawable(law *law);

/* Independent draws from p-bar restricted to what is not taken out; slot first_slot + j gives examples[j]. */
void law_draw(law *law, uint64_t seed, uint64_t iteration, uint32_t first_slot, size_t count, int64_t *examples);

/* Takes members out (room must have been reserved) and puts all of them back. */
hws_status law_reserve(law *law, size_t count);
void law_take(law *law, const int64_t *examples, size_t count);
void law_restore(law *law);
/* One of the members that have a loss and are not taken out, each with the same chance. */
int64_t law_draw_uniform(const law *law, random_stream *random);
/* The share of p-bar that is not taken out. */
double law_mass_left(const law *law);

#endif
