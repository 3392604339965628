/*
 * hws: hardness weighted sampling for distributionally robust deep learning
 *
 * This header is the manual of libhws. The library needs nothing but libc and libm.
 *
 * WHAT IT DOES
 *
 * A sampler holds the last known loss ("stale loss") of each of n training examples and draws batches with
 * probability
 *
 *     p(L) = argmax over q of  <L, q> - (1/beta) D_phi(q || uniform)
 *
 * which, for the Kullback-Leibler divergence, is softmax(beta * L). Stochastic gradient descent on batches drawn
 * like this minimises the distributionally robust loss R(L) = max over q of the same expression (Fidon et al. 2022,
 * Algorithm 1). beta = 0 is ordinary training; the larger beta, the more the hard examples count.
 *
 * beta has the unit of 1 / loss. Who would rather say which fraction of the examples training should be good for sets
 * `tail`: beta then follows from the losses.
 *
 * FIRST VISITS
 *
 * An example that has no loss yet is drawn before any that has one, in an order that chance (the seed) decides,
 * whatever the scale of the losses, and its first importance weight is 1. Once drawn it waits for its loss: it is drawn
 * again only when nothing else can be, or when as many others as there are examples have been drawn meanwhile (its loss
 * got lost). Probabilities p, beta, robust losses and statistics speak of the examples that have a loss.
 *
 * Losses that are given, one by one or by the option initial_loss for all, are the paper's L_init: those examples have
 * a loss from the beginning, guessed or not. They are drawn by it, their first importance weight is p_new / p_old by
 * it, and it counts in the mean of the normalised weights.
 *
 * ONE TRAINING STEP
 *
 *     hws_sampler *sampler = NULL;
 *     hws_options options = hws_options_default();
 *     options.tail = 0.1;                                            train for the hardest tenth
 *     hws_error error;
 *     if (hws_sampler_open(&sampler, n, NULL, &options, &error) != HWS_OK) puts(error.message), exit(1);
 *     ...
 *     int64_t batch[64];
 *     float losses[64], weights[64];
 *     hws_sampler_draw(sampler, 64, batch);                          draw I ~ p(L)
 *     ... forward pass: losses[j] is the loss of example batch[j] ...
 *     hws_sampler_importance(sampler, 64, batch, losses, weights);   optional: w = clip(p_new / p_old)
 *     hws_sampler_update(sampler, 64, batch, losses);                L[I] <- losses
 *     ... backward pass of mean(weights[j] * losses[j]), optimiser ...
 *     hws_sampler_close(&sampler);
 *
 * RULES THAT HOLD EVERYWHERE
 *
 * - Every function that can fail returns an hws_status; HWS_OK is 0. A call that fails changes nothing, neither in
 *   the sampler nor in the caller's arrays, unless its text says otherwise.
 * - An hws_error tells more: a message that says what, where and what to do, and the position in the caller's array
 *   that was at fault. Calls that have no sampler yet (open, load, divergences) take an `hws_error *`; for calls on a
 *   sampler, hws_sampler_error has the last failure.
 * - A NULL sampler is refused like any other wrong argument; a pointer that is neither NULL nor open is not noticed.
 * - The library never prints, never exits, and keeps no global state.
 * - Arrays belong to the caller and are read or written only during the call. A sampler belongs to the caller from
 *   hws_sampler_open (or load) to hws_sampler_close.
 * - One sampler must be used by one thread at a time, queries included. Different samplers are independent.
 * - Examples are numbered from 0 to n - 1.
 * - Randomness is counter-based (Philox4x32-10): the draws of batch t depend on the seed, on t and on the losses at
 *   that moment, and on nothing else: not on the CPU, on the instruction set, on earlier calls or on a resume. (Where
 *   the normaliser is amortised, see below, its 13th digit also depends on when it was last renewed; a state keeps it.)
 *
 * PROGRAMS AND LIBRARIES OF DIFFERENT AGE
 *
 * A program goes on working with every later library of the same soname, and a program built for a later one is refused
 * where the library at hand would not do as told. The soname is libhws.so.0.1 in 0.1 and 0.2 alike: it names the oldest
 * version whose programs still work, and changes only when they no longer do.
 *
 * - hws_options may grow at its end. Its first member is the size that it has in the program; hws_options_default sets
 *   it. Options that a smaller struct lacks have their defaults, which do what was done before they existed. Of a
 *   larger struct, the bytes that the library does not know must be 0, as hws_options_default leaves them: anything
 *   else is an option that this library cannot obey, and is refused.
 * - hws_divergence, hws_error and hws_statistics keep their size and end in reserved room, from which later versions
 *   take what they add. In an hws_divergence, which the caller fills, the room must be 0 and anything else is refused:
 *   begin with {0} or an initialiser like {.kind = HWS_CVAR, .parameter = 0.1}. In the other two, which the library
 *   fills, it is 0: "not told by this version".
 * - Status codes, enumerators and the meaning of members do not change.
 *
 * Bindings for other languages call hws_options_init and hws_sampler_get_options with the size of their own struct.
 *
 * WHAT IT COSTS (n examples, a batch of k)
 *
 *     divergence                 draw                     update          memory per example
 *     KL                         O(k log n)               O(k log n)      4.8 bytes (4.9 while some have no loss)
 *     chi-square, CVaR           O((k + log n) log n)     O(k log n)      36 bytes
 *     the others                 the same, amortised      O(k log n)      36 bytes
 *
 * and 5 KB for the sampler itself. Opening, growing and changing beta are O(n). With a tail, beta follows at an
 * amortised O(1) per updated example (docs/sampler.md has the times), in passes over all losses.
 *
 * "Amortised": these divergences keep their normaliser current in O(1) per changed loss within a window of about
 * 10 %; when it leaves the window, the next draw makes some twenty passes over all losses. As long as no single example
 * holds much of the mass this comes after a number of updates that grows with n. When one does (reverse KL,
 * Hellinger, Jensen-Shannon and Cressie-Read k < 1 put all mass that is left over on the hardest example when beta is
 * large), every draw after an update is O(n). A kink at p = 0 (Cressie-Read 1 < k < 2,
 * some custom ones) makes the window narrower, and with the infinite slope of Cressie-Read k > 2 nearly every draw
 * after an update is O(n).
 *
 * Draws are exact. For KL the probabilities are ratios of integers (the weights, rounded to 50 bits) and the draw
 * realises these ratios exactly whatever the range of the losses; nothing underflows and nothing drifts. For the other
 * divergences they are exact to double precision, but for Cressie-Read k > 2: there p rises with infinite slope from
 * the loss at which it becomes positive, and a p just above 0 can be wrong by about (1/n) 10^(-16 / (k - 1)): 1e-8 / n
 * for k = 3, and more than a hundredth of 1/n for k = 10. Use k <= 3 where small probabilities matter.
 */
#ifndef HWS_H
#define HWS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HWS_VERSION_MAJOR 0
#define HWS_VERSION_MINOR 2
#define HWS_VERSION_PATCH 0
#define HWS_VERSION "0.2.0"

/* Marks what the shared library exports. */
#if defined(__GNUC__) || defined(__clang__)
#define HWS_API __attribute__((visibility("default")))
#else
#define HWS_API
#endif

/* The version of the library that is linked, as "major.minor.patch". */
HWS_API const char *hws_version(void);

/* ---- status codes ---------------------------------------------------------------------------------------------- */

/* Name, value, meaning. The values are fixed for all versions; new codes are added at the end. */
#define HWS_STATUS_LIST(X)                                                                                             \
    X(HWS_OK, 0, "done")                                                                                               \
    X(HWS_ERROR_ARGUMENT, 1, "an argument is out of its range")                                                        \
    X(HWS_ERROR_INDEX, 2, "an example index is out of range")                                                          \
    X(HWS_ERROR_NOT_FINITE, 3, "a loss is NaN or infinite")                                                            \
    X(HWS_ERROR_TOO_FEW, 4, "the batch is larger than the number of examples that can be drawn")                       \
    X(HWS_ERROR_MEMORY, 5, "out of memory")                                                                            \
    X(HWS_ERROR_IO, 6, "a file could not be read or written")                                                          \
    X(HWS_ERROR_CORRUPT, 7, "the state is damaged, truncated or not a sampler's")                                      \
    X(HWS_ERROR_VERSION, 8, "the state was written by a newer version")                                                \
    X(HWS_ERROR_DIVERGENCE, 9, "the custom divergence is missing or inconsistent")                                     \
    X(HWS_ERROR_UNREACHABLE, 10, "no beta reaches the target with these losses")                                       \
    X(HWS_ERROR_NOT_KEPT, 11, "ages and draw counts are not kept by this sampler")                                     \
    X(HWS_ERROR_NO_LOSS, 12, "no example has a loss yet")

typedef enum hws_status {
#define HWS_STATUS_ENUMERATOR(name, value, text) name = value,
    HWS_STATUS_LIST(HWS_STATUS_ENUMERATOR)
#undef HWS_STATUS_ENUMERATOR
} hws_status;

/* The meaning of a status as an English phrase without a full stop; never NULL. */
HWS_API const char *hws_status_text(hws_status status);

/*
 * Why a call failed. Functions that take an `hws_error *` accept NULL, need nothing in it beforehand, and always fill
 * all of it: after success the status is HWS_OK, the message empty.
 */
typedef struct hws_error {
    hws_status status;    /* what the call returned */
    int system_error;     /* the errno behind HWS_ERROR_IO, else 0 */
    int64_t position;     /* where in the caller's array, or -1 */
    int64_t example;      /* which example, or -1 */
    char message[256];    /* what, where, what to do; no full stop at the end */
    uint64_t reserved[4]; /* 0 */
} hws_error;

/* ---- divergences ----------------------------------------------------------------------------------------------- */

/* clang-format off */
typedef enum hws_divergence_kind {
    HWS_KL = 0,             /* Kullback-Leibler: p = softmax(beta L), the paper's choice */
    HWS_CHI2 = 1,           /* Pearson chi-square, phi(z) = (z - 1)^2 / 2: linear above a threshold, 0 below */
    HWS_REVERSE_KL = 2,     /* Burg: phi(z) = z - 1 - ln z */
    HWS_HELLINGER = 3,      /* squared Hellinger: phi(z) = (sqrt z - 1)^2 */
    HWS_CRESSIE_READ = 4,   /* phi(z) = (z^k - k z + k - 1) / (k (k - 1)); parameter = k; 0 and 1 are the limits */
    HWS_JENSEN_SHANNON = 5, /* phi(z) = z ln z - (z + 1) ln((z + 1) / 2) */
    HWS_CVAR = 6,           /* uniform over the worst fraction; parameter = that fraction in (0, 1]; beta plays no part.
                               Examples tied at the boundary share its mass equally. */
    HWS_CUSTOM = 7          /* the callbacks below */
} hws_divergence_kind;
/* clang-format on */

/*
 * A phi of the paper's Definition 2: convex on [0, n], phi(1) = phi'(1) = 0.
 *
 * For HWS_CUSTOM the callbacks say what phi is. They must be pure functions (same arguments, same bits), are called
 * from within any function that takes the sampler, and must not call back into it. `context` is handed through and
 * stays the caller's. Opening a sampler checks them at some points and answers HWS_ERROR_DIVERGENCE if they disagree.
 * Members that are not needed are 0.
 */
typedef struct hws_divergence {
    hws_divergence_kind kind;
    double parameter;                                 /* k of Cressie-Read, -100 to 100; alpha of CVaR; else unused */
    double (*slope)(double z, void *context);         /* phi'(z) for z in [0, n]; may be -infinity at 0 */
    double (*slope_inverse)(double y, void *context); /* z with phi'(z) = y, for y in (phi'(0), phi'(n)] */
    double (*phi)(double z, void *context);           /* phi(z) for z in [0, n], with a tail also 1 / tail; only
                                                         the robust loss and tail need it, else it may be NULL */
    void *context;
    uint64_t reserved[4]; /* must be 0 */
} hws_divergence;

/*
 * Fills *divergence as "kl", "chi2", "reverse-kl", "hellinger", "cressie-read:K" with K from -100 to 100, "js" or
 * "cvar:ALPHA" with ALPHA above 0 and at most 1 says; numbers have a decimal point in every locale. Anything else is
 * refused with HWS_ERROR_ARGUMENT: other names and spellings, a parameter that is missing, superfluous or out of its
 * range. A custom divergence has no name, since it consists of callbacks: fill in the struct.
 */
HWS_API hws_status hws_divergence_parse(const char *text, hws_divergence *divergence, hws_error *error);

/* p-bar(L) for n losses, O(n): what a sampler with these losses draws from (without floor and mixing). */
HWS_API hws_status hws_divergence_probabilities(const hws_divergence *divergence, double beta, int64_t n,
                                                const float *losses, double *probabilities, hws_error *error);

/* R(L) = max over q of <L, q> - (1/beta) D_phi(q || uniform), O(n). For KL: (1/beta) ln(mean(exp(beta L))). */
HWS_API hws_status hws_divergence_robust_loss(const hws_divergence *divergence, double beta, int64_t n,
                                              const float *losses, double *robust_loss, hws_error *error);

/* ---- options --------------------------------------------------------------------------------------------------- */

/* How hws_sampler_importance forms p_new / p_old for an example of the batch (appendix C of the paper). */
typedef enum hws_importance {
    /* The normaliser is taken as unchanged. For KL this is exp(beta (1 - momentum) (new - stale)), the paper's
       step 9. O(1) per example. It overstates the ratio for an example that holds much of the mass. */
    HWS_IMPORTANCE_APPROXIMATE = 0,
    /* The normaliser is recomputed with this example's loss replaced, the others as they are. O(log n) per
       example, O(n) when a floor is set or when it moves an amortised normaliser far. */
    HWS_IMPORTANCE_EXACT = 1,
    /* KL only: exp(beta (1 - momentum) (new - stale)) over the mean of it, which estimates how the normaliser has
       changed with all losses, also of the examples that were not drawn. The mean weight stays near 1 while losses
       fall, so the learning rate keeps its meaning, as long as the effective sample size is well above the batch:
       below it the mean weight can rise as far as weight_max. The mean is a running one over about the last 64 drawn
       examples
       (docs/sampler.md derives it); hws_sampler_update adds to it. O(1) per example. */
    HWS_IMPORTANCE_NORMALISED = 2
} hws_importance;

/* Beside each option stands its default, then what it means. */
/* clang-format off */
typedef struct hws_options {
    size_t size;               /*        sizeof(hws_options) as the program knows it; hws_options_default sets it */
    double beta;               /* 100    robustness, 0 to 1e15 */
    hws_divergence divergence; /* KL */
    uint64_t seed;             /* 0      key of all randomness */
    double initial_loss;       /* NAN    first visits (see above). A number is taken for the loss of the examples that
                                         have none yet, in p and in weights, as in the paper: a good choice is the
                                         largest loss to come */
    double jitter;             /* 0      relative standard deviation of Gaussian noise on initial_loss, in [0, 1]
                                         (the paper's package uses 1e-3) */
    double momentum;           /* 0      in [0, 1): stale <- momentum * stale + (1 - momentum) * new */
    double floor;              /* 0      in [0, 1]: draw from max(p, floor/n), renormalised (the package: 1e-4) */
    double uniform_mix;        /* 0      in [0, 1]: draw from (1 - uniform_mix) p + uniform_mix / n; not with floor */
    double weight_min;         /* 0.1    importance weights are clipped to [weight_min, weight_max]; */
    double weight_max;         /* 10     0 and INFINITY mean no clipping */
    hws_importance importance; /* HWS_IMPORTANCE_APPROXIMATE */
    int replacement;           /* 0      1: an example may stand twice in one batch */
    int keep_counts;           /* 0      1: keep each example's age and number of draws (16 bytes per example) */
    int reserved;              /* 0      must be 0 */
    double tail;               /* 0      in (0, 1]: train for the hardest fraction `tail`. beta follows from the losses,
                                         see hws_sampler_set_beta; of CVaR it is the fraction itself.
                                         0: beta as given */
    double trim;               /* 0      in [0, 1), below tail: the hardest fraction `trim` is left out before p is
                                         formed. Set uniform_mix or floor with it: without one, an example that is left
                                         out is not drawn again unless enough others become harder */
    double doubt;              /* 0      0 to 1: how far losses are discounted that stay above their peers' although the
                                         example is drawn (hws_sampler_records) */
    int keep_record;           /* 0      1: keep what hws_sampler_records tells (20 bytes per example); with doubt it is
                                         kept */
    int reserved_2;            /* 0      must be 0 */
} hws_options;
/* clang-format on */

/* Fills a struct of this size with the defaults that stand beside the members; what the library does not know is 0. */
HWS_API void hws_options_init(hws_options *options, size_t size);

/* The defaults, in a struct of the size that the program was compiled with. Begin with it, then set what differs. */
static inline hws_options hws_options_default(void) {
    hws_options options;
    hws_options_init(&options, sizeof options);
    return options;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

typedef struct hws_sampler hws_sampler;

/* The most examples that a sampler can hold, 2^31 (with KL they take 10 GB). To open or grow one beyond that is refused
   with HWS_ERROR_ARGUMENT. */
#define HWS_MAX_EXAMPLES ((int64_t)2147483648)

/*
 * Opens a sampler over n >= 1 examples. `losses` are their losses, NAN where there is none yet, or NULL for
 * options->initial_loss (with jitter). `options` may be NULL for the defaults. On failure *sampler is NULL, and *error
 * names the option or the loss at fault. O(n).
 */
HWS_API hws_status hws_sampler_open(hws_sampler **sampler, int64_t n, const float *losses, const hws_options *options,
                                    hws_error *error);

/* Frees the sampler and sets *sampler to NULL. Accepts NULL and a pointer to NULL. */
HWS_API void hws_sampler_close(hws_sampler **sampler);

/* What the last failing call on this sampler had to say. It stands until the next one; success does not clear it. */
HWS_API const hws_error *hws_sampler_error(const hws_sampler *sampler);

/* The number of examples, of those without a loss, batches drawn so far and updates made so far. */
HWS_API int64_t hws_sampler_size(const hws_sampler *sampler);
HWS_API int64_t hws_sampler_unseen(const hws_sampler *sampler);
HWS_API uint64_t hws_sampler_draws_made(const hws_sampler *sampler);
HWS_API uint64_t hws_sampler_updates_made(const hws_sampler *sampler);

/* The options now in force (beta as it follows from tail), as far as a struct of this size can hold them; the defaults
   for a NULL sampler. */
HWS_API void hws_sampler_get_options(const hws_sampler *sampler, hws_options *options, size_t size);

static inline hws_options hws_sampler_options(const hws_sampler *sampler) {
    hws_options options;
    hws_sampler_get_options(sampler, &options, sizeof options);
    return options;
}

/* Bytes of memory that the sampler holds, everything included. */
HWS_API size_t hws_sampler_memory(const hws_sampler *sampler);

/* ---- Algorithm 1 ----------------------------------------------------------------------------------------------- */

/*
 * Draws `count` examples into `indices`: first visits first, none of them twice, then by p. Without replacement (the
 * default) the latter are a successive draw: each next example follows p restricted to those not yet in the batch.
 * HWS_ERROR_TOO_FEW if fewer than `count` examples have no loss or p > 0: chi-square, CVaR and Cressie-Read k > 1 give
 * many examples p = 0 exactly, and Jensen-Shannon does where beta (L_max - L) is beyond 745. Mix with uniform to
 * refresh them.
 */
HWS_API hws_status hws_sampler_draw(hws_sampler *sampler, int64_t count, int64_t *indices);

/*
 * weights[j] = clip(p_new / p_old, [weight_min, weight_max]) for the new loss of example indices[j], as
 * options.importance says; 1 for an example that has no loss yet. Call it before hws_sampler_update, with the batch in
 * the order in which it was drawn. Non-finite losses are refused. Who must weigh an example before the other losses of
 * its batch are known may ask for it alone; the mean of the normalised weights then lacks the others until the update.
 */
HWS_API hws_status hws_sampler_importance(hws_sampler *sampler, int64_t count, const int64_t *indices,
                                          const float *losses, float *weights);

/* Changes options.importance; refused like there. */
HWS_API hws_status hws_sampler_set_importance(hws_sampler *sampler, hws_importance importance);

/*
 * Writes fresh losses into the history, with momentum (the first loss of an example as it is). All or nothing: one
 * index out of range or one non-finite loss and nothing is written; hws_sampler_error names it. If an index stands
 * twice in the call, the last one wins.
 */
HWS_API hws_status hws_sampler_update(hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses);

/* ---- the history ----------------------------------------------------------------------------------------------- */

/* Copies the stale losses of examples first .. first + count - 1; NAN for those without. */
HWS_API hws_status hws_sampler_get_losses(hws_sampler *sampler, int64_t first, int64_t count, float *losses);

/* Replaces them, without momentum and without touching ages: for a full evaluation, or to restore a history. NAN takes
   an example's loss away: it is visited as if it were new. */
HWS_API hws_status hws_sampler_set_losses(hws_sampler *sampler, int64_t first, int64_t count, const float *losses);

/* Adds `count` examples at the end, with these losses (NAN: none yet) or, if NULL, options.initial_loss with jitter.
   O(n). */
HWS_API hws_status hws_sampler_grow(hws_sampler *sampler, int64_t count, const float *losses);

/* The k examples with the largest stale losses, hardest first, ties by index. Those without a loss come last, by
   index, with a loss of NAN. `losses` may be NULL. k <= n.
   O(n + k log k) for KL, O(k log n) otherwise. */
HWS_API hws_status hws_sampler_hardest(hws_sampler *sampler, int64_t k, int64_t *indices, float *losses);

/*
 * Ages and draw counts; HWS_ERROR_NOT_KEPT unless options.keep_counts. The age of an example is the number of
 * updates (calls of hws_sampler_update) since it last took part in one, or since it was added.
 */
HWS_API hws_status hws_sampler_ages(hws_sampler *sampler, int64_t first, int64_t count, uint64_t *ages);
HWS_API hws_status hws_sampler_draw_counts(hws_sampler *sampler, int64_t first, int64_t count, uint64_t *draws);

/*
 * Walks over the stale examples. Start with *cursor = 0; each call sets *example to the next one whose age is at
 * least min_age and moves *cursor behind it; when there is none left, *example is -1. A whole walk is O(n).
 *
 *     for (int64_t cursor = 0, i; hws_sampler_next_stale(s, 1000, &cursor, &i) == HWS_OK && i >= 0;) ...
 */
HWS_API hws_status hws_sampler_next_stale(hws_sampler *sampler, uint64_t min_age, int64_t *cursor, int64_t *example);

/*
 * Labels, one per example, from 0 to 2^20 - 1: which examples are peers for the doubt (all, unless labels are given).
 * They are those that training uses, right or wrong. HWS_ERROR_NOT_KEPT unless a record is kept.
 */
HWS_API hws_status hws_sampler_set_labels(hws_sampler *sampler, int64_t first, int64_t count, const int32_t *labels);

/* How the losses of an example answered to being drawn. */
/* clang-format off */
typedef struct hws_record {
    double loss_mean;     /* of its losses that came back, of about the last 16; NAN if none has */
    double level;         /* what its peers, the examples with the same label, have: the geometric mean of their stale
                             losses, but at least half the mean of all; NAN if none has a loss */
    double evidence;      /* a running sum, from 0 to 8, of ln(loss / level) - 1/4, each within [-2, 1] */
    double doubt;         /* 0 to 1: that its label is wrong; (evidence - 1) / 5 within these limits */
    uint64_t updates;     /* how many losses have come back */
    int64_t label;
    double excess;        /* ln(loss_mean / level); both this and the evidence count losses from 0, or, if any was
                             negative, from the nearest of -1, -2, -4 .. that none was below. -INFINITY if no loss has
                             come back */
    uint64_t reserved[3]; /* 0 */
} hws_record;
/* clang-format on */

/*
 * The records of examples first .. first + count - 1; HWS_ERROR_NOT_KEPT unless one is kept. docs/triage.md tells how
 * to read them. With options.doubt = d the stale loss of an example counts (1 - d * doubt) times when p is formed; what
 * the history tells, and the mean, least and largest loss of hws_sampler_statistics, are the losses as they came.
 */
HWS_API hws_status hws_sampler_records(hws_sampler *sampler, int64_t first, int64_t count, hws_record *records);

/* ---- the distribution ------------------------------------------------------------------------------------------ */

/*
 * The probability that the next single draw is this example, first visits, floor and mixing included. O(1) for KL,
 * O(log n) for the others; the first call after a change is O(n) when a floor is set.
 */
HWS_API hws_status hws_sampler_probability(hws_sampler *sampler, int64_t example, double *probability);

/* The same for examples first .. first + count - 1. */
HWS_API hws_status hws_sampler_probabilities(hws_sampler *sampler, int64_t first, int64_t count, double *probabilities);

/* How many examples have p > 0 or no loss yet: the largest batch without replacement. */
HWS_API hws_status hws_sampler_drawable(hws_sampler *sampler, int64_t *count);

/* ---- robust losses and telemetry ------------------------------------------------------------------------------- */

/*
 * These speak of the examples that have a loss, and answer HWS_ERROR_NO_LOSS when none has. The robust loss, the
 * percentile, its bound and CVaR are those of the losses that p is formed from: examples that options.trim leaves out
 * do not count in them, neither as losses nor in n, and a loss in doubt counts as options.doubt discounts it.
 */

/* R(L) of the stale losses, for the sampler's divergence and beta. Free for KL with beta >= 0.001 (to an
   absolute error of 1e-13 / beta), O(log n) for CVaR, else O(n). */
HWS_API hws_status hws_sampler_robust_loss(hws_sampler *sampler, double *robust_loss);

/*
 * The percentile bound of section 3.2.3: at most a fraction alpha of the stale losses is >= the bound
 *     l_alpha = (1/beta) ln(sum(exp(beta L)) / (alpha n)),
 * whatever the sampler's divergence. Free for KL, else O(n). alpha in (0, 1], beta > 0.
 */
HWS_API hws_status hws_sampler_percentile_bound(hws_sampler *sampler, double alpha, double *bound);

/*
 * What the bound bounds: the smallest stale loss l such that at most a fraction alpha of the examples lies strictly
 * above l; and the mean of the worst fraction alpha (the example at the boundary counts in part).
 * O(n) for KL, O(log n) otherwise.
 */
HWS_API hws_status hws_sampler_percentile(hws_sampler *sampler, double alpha, double *percentile);
HWS_API hws_status hws_sampler_cvar(hws_sampler *sampler, double alpha, double *cvar);

typedef struct hws_statistics {
    double loss_mean, loss_std; /* of the stale losses (std: population) */
    double loss_min, loss_max;
    double robust_loss;    /* R(L); NaN for a custom divergence without phi */
    double effective_size; /* 1 / sum(p^2): n for uniform, 1 for a single example */
    double entropy;        /* -sum(p ln p) in nats: ln n for uniform */
    double kl_to_uniform;  /* ln n - entropy */
    double largest_p;
    int64_t drawable;     /* examples with p > 0 or no loss yet */
    uint64_t oldest_age;  /* 0 unless counts are kept */
    int64_t never_drawn;  /* 0 unless counts are kept */
    int64_t unseen;       /* examples without a loss */
    double beta;          /* in force now */
    uint64_t reserved[6]; /* 0 */
} hws_statistics;

/*
 * All of them, O(n). p is what is drawn from among the examples with a loss, floor and mixing included. When none has a
 * loss yet, what speaks of losses is NAN and what speaks of p is 0.
 */
HWS_API hws_status hws_sampler_statistics(hws_sampler *sampler, hws_statistics *statistics);

/* ---- beta ------------------------------------------------------------------------------------------------------ */

/*
 * Changes beta, for good: options.tail, if it was set, becomes 0 (the fraction of CVaR stays). O(n).
 *
 * WHAT TAIL DOES. With tail = a, beta is such that D_phi(p || uniform) = a phi(1/a) + (1 - a) phi(0), which is how far
 * the uniform distribution on any fraction a of the examples is from uniform on all: ln(1/a) for KL, (1/a - 1) / 2 for
 * chi-square. tail = 1 is beta = 0, uniform draws. The divergence is followed from update to update; where it is off by
 * more than 2 %, beta is solved anew, but not more often than once per n / 1024 updated examples: for KL to 1 %, mostly
 * in one pass over all losses, for the others to 2e-4 in a few. All losses are looked at after at most n of them, and
 * when the last loss that was missing has come: then beta is solved to 2e-4. It is a matter of these counts alone, not
 * of time, and a state keeps them. Until there are losses, beta is 0. Ties at the largest loss set a limit to what any
 * beta can reach; then beta is the one that reaches 95 % of it, or 1e15 at most, and when all losses are equal beta
 * stays as it is. Divergences whose phi(0) is infinite (reverse KL, Cressie-Read k <= 0) are refused.
 */
HWS_API hws_status hws_sampler_set_beta(hws_sampler *sampler, double beta);

/*
 * Betas for the current losses; nothing is changed until hws_sampler_set_beta. Each is O(n) per step of a bracketing
 * solver, some tens of steps, and exact to double precision.
 *  - spread: factor / std(L). The paper's hypothesis is that a good beta is of the order of 1 / std.
 *  - effective size: the beta at which 1 / sum(p^2) equals the target, a number between the number of examples tied
 * at the largest loss and n.
 *  - KL radius: the beta at which KL(p || uniform) equals the radius in nats, between 0 and ln(n / ties).
 * They speak of p-bar, before floor and mixing. HWS_ERROR_NO_LOSS if no example has a loss, HWS_ERROR_UNREACHABLE if
 * the losses are all equal or no beta up to 1e15 reaches the target; HWS_ERROR_ARGUMENT for CVaR, which has no beta.
 */
HWS_API hws_status hws_sampler_beta_for_spread(hws_sampler *sampler, double factor, double *beta);
HWS_API hws_status hws_sampler_beta_for_effective_size(hws_sampler *sampler, double target, double *beta);
HWS_API hws_status hws_sampler_beta_for_kl(hws_sampler *sampler, double radius, double *beta);

/* ---- saving and resuming --------------------------------------------------------------------------------------- */

/*
 * A state holds everything: options, losses, counters. A sampler that was loaded goes on to the same bits as the one
 * that was saved. The format (docs/formats.md) is versioned and checksummed. What load and state_read refuse, *error
 * explains:
 *
 *     HWS_ERROR_IO           the file cannot be read, and why
 *     HWS_ERROR_CORRUPT      the state is truncated, it was altered (its checksum says so), or it is not a sampler's
 *     HWS_ERROR_VERSION      a newer version of hws wrote it
 *     HWS_ERROR_DIVERGENCE   the sampler had a custom divergence, and `divergence` does not give its callbacks
 *     HWS_ERROR_MEMORY       it does not fit into memory
 *
 * hws_sampler_save writes beside the file and renames, so that a crash leaves the old file or the new one, never
 * half. `divergence` gives load the callbacks of a custom divergence; it is ignored for the others and may be NULL.
 */
HWS_API hws_status hws_sampler_save(hws_sampler *sampler, const char *path);
HWS_API hws_status hws_sampler_load(hws_sampler **sampler, const char *path, const hws_divergence *divergence,
                                    hws_error *error);

/* The same in memory, for callers with checkpoints of their own. `size` must be exactly what
   hws_sampler_state_size says. */
HWS_API size_t hws_sampler_state_size(const hws_sampler *sampler);
HWS_API hws_status hws_sampler_state_write(hws_sampler *sampler, void *bytes, size_t size);
HWS_API hws_status hws_sampler_state_read(hws_sampler **sampler, const void *bytes, size_t size,
                                          const hws_divergence *divergence, hws_error *error);

#ifdef __cplusplus
}
#endif

#endif
