#include "sampler/law.h"
#include "sampler/purposes.h"

#include "core/memory.h"

#include <math.h>
#include <string.h>

int law_is_kl(const law *law) { return law->divergence.kind == HWS_KL; }

static int has_closed_form(const law *law) {
    return law->divergence.kind == HWS_CHI2 || law->divergence.kind == HWS_CVAR;
}

/* Everything that depends on the losses is out of date. */
static void forget(law *law) { law->level_current = law->envelope_current = 0; }

/* Points the parts of a law that refer to other parts at their places; needed after the struct was copied. */
static void connect(law *law) {
    law->window.divergence = &law->divergence;
    law->window.beta = law->beta;
    law->window.n = (size_t)law->known;
    law->window.most = (double)law->n;
    law->tree.losses = law->losses;
    law->set.losses = law->losses;
    forget(law);
}

/* Returns how many are losses. */
static int64_t copy_losses(float *to, const float *losses, int64_t count) {
    int64_t known = 0;
    for (int64_t i = 0; i < count; i++) {
        to[i] = is_known(losses[i]) ? losses[i] : -INFINITY;
        known += is_known(losses[i]);
    }
    return known;
}

loss_list law_list(const law *law) { return (loss_list){law->losses, (size_t)law->n, (size_t)law->known}; }

/* Room for n losses, to be filled in by copy_losses. */
static hws_status begin(law *law, const hws_divergence *divergence, double beta, int64_t n) {
    *law = (struct law){.divergence = divergence_canonical(divergence), .beta = beta, .n = n};
    law->loss_bytes = tree_padded_size((size_t)n) * sizeof *law->losses;
    law->losses = memory_open(law->loss_bytes);
    return law->losses ? HWS_OK : HWS_ERROR_MEMORY;
}

static int build(law *law) {
    const size_t n = (size_t)law->n, padded = law->loss_bytes / sizeof *law->losses;
    for (size_t i = n; i < padded; i++) law->losses[i] = -INFINITY;
    if (!law_is_kl(law)) return ranked_set_open(&law->set, law->losses, n) && ranked_set_fill(&law->set, n);
    if (!weight_tree_open(&law->tree, n)) return 0;
    weight_tree_rebuild(&law->tree, law->losses, tree_scale_of(law->beta));
    return 1;
}

static hws_status finish(law *law) {
    if (!build(law)) {
        law_close(law);
        return HWS_ERROR_MEMORY;
    }
    connect(law);
    return HWS_OK;
}

hws_status law_open(law *law, const hws_divergence *divergence, double beta, int64_t n, const float *losses) {
    const hws_status status = begin(law, divergence, beta, n);
    if (status != HWS_OK) return status;
    law->known = copy_losses(law->losses, losses, n);
    return finish(law);
}

void law_close(law *law) {
    weight_tree_close(&law->tree);
    ranked_set_close(&law->set);
    memory_close(law->losses);
    memory_close(law->taken);
    memory_close(law->taken_losses);
    *law = (struct law){0};
}

size_t law_memory(const law *law) {
    const size_t set = law->set.items ? (size_t)law->n * sizeof *law->set.items : 0;
    return law->loss_bytes + law->tree.block_size + set +
           law->taken_capacity * (sizeof *law->taken + sizeof *law->taken_losses);
}

/* ---- changing losses ------------------------------------------------------------------------------------------- */

static void write_ranked(law *law, uint32_t example, float given) {
    const float old = law->losses[example], loss = is_known(given) ? given : -INFINITY;
    if (old == loss) return;
    if (is_known(old)) ranked_set_erase(&law->set, example);
    if (is_known(old) && !has_closed_form(law)) level_window_remove(&law->window, old);
    law->losses[example] = loss;
    law->known += is_known(loss) - is_known(old);
    law->window.n = (size_t)law->known;
    if (is_known(loss) && !has_closed_form(law)) level_window_add(&law->window, loss);
    if (is_known(loss)) ranked_set_insert(&law->set, example);
}

/*
 * Members that were put back are refreshed in the tree only when it is needed again. Mostly that is when their new
 * losses come, as the head of the same batch: then once is enough.
 */
static void catch_up(law *law) {
    if (law->tree_behind) weight_tree_refresh(&law->tree, law->taken, law->tree_behind);
    law->tree_behind = 0;
}

static int writes_what_is_behind(const law *law, int64_t count, const int64_t *examples) {
    return (size_t)count >= law->tree_behind && memcmp(law->taken, examples, law->tree_behind * sizeof *examples) == 0;
}

void law_write(law *law, int64_t count, const int64_t *examples, const float *losses) {
    if (law_is_kl(law)) {
        if (law->tree_behind && !writes_what_is_behind(law, count, examples)) catch_up(law);
        law->tree_behind = 0;
        for (int64_t j = 0; j < count; j++) {
            law->known -= law_knows(law, examples[j]);
            law->known += copy_losses(law->losses + examples[j], losses + j, 1);
        }
        weight_tree_refresh(&law->tree, examples, (size_t)count);
    } else {
        for (int64_t j = 0; j < count; j++) write_ranked(law, (uint32_t)examples[j], losses[j]);
    }
    forget(law);
}

static void refresh_range(law *law, int64_t first, int64_t count) {
    int64_t examples[TREE_FLIGHT];
    for (int64_t next = first - first % TREE_PARTS; next < first + count;) {
        size_t listed = 0;
        for (; listed < TREE_FLIGHT && next < first + count; next += TREE_PARTS) examples[listed++] = next;
        weight_tree_refresh(&law->tree, examples, listed);
    }
}

/* Puts a fresh law of n losses, some of them new, in the place of the old one, which stays until that is complete. */
static hws_status remake(law *law, int64_t n, int64_t first, int64_t count, const float *losses) {
    struct law fresh;
    hws_status status = begin(&fresh, &law->divergence, law->beta, n);
    if (status != HWS_OK) return status;
    const int64_t after = first + count;
    fresh.known = copy_losses(fresh.losses, law->losses, first) + copy_losses(fresh.losses + first, losses, count);
    if (after < law->n) fresh.known += copy_losses(fresh.losses + after, law->losses + after, law->n - after);
    status = finish(&fresh);
    if (status != HWS_OK) return status;
    law_close(law);
    *law = fresh;
    connect(law);
    return HWS_OK;
}

hws_status law_write_range(law *law, int64_t first, int64_t count, const float *losses) {
    if (!law_is_kl(law) && count >= law->n / 16) return remake(law, law->n, first, count, losses);
    if (law_is_kl(law)) {
        catch_up(law);
        for (int64_t j = 0; j < count; j++) law->known -= law_knows(law, first + j);
        law->known += copy_losses(law->losses + first, losses, count);
        if (count < law->n / 4) refresh_range(law, first, count);
        else weight_tree_rebuild(&law->tree, law->losses, law->tree.scale);
    } else {
        for (int64_t j = 0; j < count; j++) write_ranked(law, (uint32_t)(first + j), losses[j]);
    }
    forget(law);
    return HWS_OK;
}

hws_status law_grow(law *law, int64_t count, const float *losses) {
    return remake(law, law->n + count, law->n, count, losses);
}

hws_status law_replace(law *law, int64_t n, const float *losses) { return remake(law, n, 0, n, losses); }

void law_set_beta(law *law, double beta) {
    if (law_is_kl(law) && beta == law->beta) return;
    law->beta = law->window.beta = beta;
    law->window.valid = 0;
    if (law_is_kl(law)) weight_tree_rebuild(&law->tree, law->losses, tree_scale_of(beta));
    law->tree_behind = 0;
    forget(law);
}

tree_moments law_set_beta_moments(law *law, double beta, double reference) {
    law->beta = beta;
    law->tree_behind = 0;
    return weight_tree_rebuild_moments(&law->tree, law->losses, beta, reference);
}

/* What is still to be refreshed was taken out after the total had been found. */
tree_word law_total(const law *law) { return law->tree_behind ? law->tree_total : law->tree.root; }

/* ---- the normaliser -------------------------------------------------------------------------------------------- */

static double largest_loss(const law *law) { return law->losses[ranked_set_select(&law->set, 0)]; }

/* Chi-square: a prefix of `count` is positive throughout if count * loss + n / beta > sum at its last member. */
typedef struct chi2_budget {
    double n_over_beta;
} chi2_budget;

static int chi2_keeps(const void *context, double loss, uint32_t count, wide_sum sum) {
    const chi2_budget *budget = context;
    const wide_sum others = wide_add(wide_product(loss, count), (wide_sum){-sum.high, -sum.low});
    return wide_add_double(others, budget->n_over_beta).high > 0;
}

/* z at the largest loss: sum over the positive ones of (z - t) = n. */
static double chi2_level(const law *law, double largest) {
    if (law->beta == 0) return 1;
    const double n = (double)law->known;
    /* No gaps add up to 1e300, and infinity would not add up at all. */
    const chi2_budget budget = {n / law->beta < 1e300 ? n / law->beta : 1e300};
    wide_sum sum;
    const uint32_t count = ranked_set_prefix(&law->set, chi2_keeps, &budget, &sum);
    const wide_sum gaps = wide_add(wide_product(largest, count), (wide_sum){-sum.high, -sum.low});
    return (n + law->beta * gaps.high) / count;
}

static cvar_boundary ranked_cvar(const law *law, double alpha) {
    const uint32_t rank = (uint32_t)cvar_boundary_rank(alpha, (size_t)law->known);
    const double boundary = law->losses[ranked_set_select(&law->set, rank)];
    const double above = ranked_set_above(&law->set, boundary, NULL), from = ranked_set_from(&law->set, boundary);
    return cvar_boundary_of(alpha, (double)law->known, boundary, above, from - above);
}

/* n p, or for CVaR alpha n p: a weight that falls with rank. */
static double ranked_weight(const law *law, double loss) {
    if (law->divergence.kind == HWS_CVAR) return cvar_weight(&law->level.cvar, loss);
    return tilt_value(&law->level.tilt, law->beta * (law->level.reference - loss));
}

static law_level solve_level(law *law) {
    law_level level = {.total = (double)law->known};
    const double largest = largest_loss(law);
    if (law->divergence.kind == HWS_CVAR) {
        level.cvar = ranked_cvar(law, law->divergence.parameter);
        level.total = level.cvar.total;
    } else if (law->divergence.kind == HWS_CHI2) {
        level.reference = largest;
        level.tilt = tilt_at(&law->divergence, chi2_level(law, largest), (double)law->n);
    } else {
        const loss_list list = law_list(law);
        const solved_level solved = level_window_solve(&law->window, &list, largest);
        level.reference = solved.reference;
        level.total = solved.total;
        level.tilt = tilt_at(&law->divergence, solved.z, (double)law->n);
    }
    return level;
}

hws_status law_prepare(law *law) {
    if (law_is_kl(law)) {
        catch_up(law);
        law->tree_total = law->tree.root;
        return HWS_OK;
    }
    if (law->level_current) return HWS_OK;
    law->level = solve_level(law);
    law->envelope_current = 0;
    /* Callbacks that answer NaN, or against their promise, show up here. */
    const double most = ranked_weight(law, largest_loss(law));
    if (!(law->level.total > 0 && law->level.total < INFINITY && most > 0 && most < INFINITY))
        return HWS_ERROR_DIVERGENCE;
    law->level_current = 1;
    return HWS_OK;
}

/* ---- probabilities --------------------------------------------------------------------------------------------- */

double law_probability_at(const law *law, double loss) {
    if (law_is_kl(law)) return tree_word_ratio(weight_tree_weight(&law->tree, (float)loss), law->tree_total);
    return ranked_weight(law, loss) / law->level.total;
}

double law_probability(const law *law, int64_t example) {
    return law_knows(law, example) ? law_probability_at(law, law->losses[example]) : 0;
}

/* For an example with most of the mass, 1 - p has no digits left: the others' total must come from the tree. */
static double giant_probability_after(law *law, int64_t example, float loss) {
    const float old = law->losses[example];
    law->losses[example] = loss;
    weight_tree_refresh(&law->tree, &example, 1);
    const double p = tree_word_ratio(weight_tree_weight(&law->tree, loss), law->tree.root);
    law->losses[example] = old;
    weight_tree_refresh(&law->tree, &example, 1);
    return p;
}

double law_probability_after(law *law, int64_t example, float loss) {
    if (law_is_kl(law)) {
        const double old = law_probability(law, example), fresh = law_probability_at(law, loss);
        if (old > 0.5) return giant_probability_after(law, example, loss);
        return fresh < INFINITY ? fresh / ((1 - old) + fresh) : 1;
    }
    /* Write, solve, look, write back: the set is then what it was, and so is what had been derived from it. */
    const float old = law->losses[example];
    const level_window window = law->window;
    const law_level level = law->level;
    const int current = law->level_current;
    write_ranked(law, (uint32_t)example, loss);
    law->level_current = 0;
    const double p = law_prepare(law) == HWS_OK ? law_probability(law, example) : NAN;
    write_ranked(law, (uint32_t)example, old);
    law->window = window;
    law->level = level;
    law->level_current = current;
    return p;
}

/* ---- draws ----------------------------------------------------------------------------------------------------- */

static int keep_positive(const void *context, double loss, uint32_t count, wide_sum sum) {
    (void)count, (void)sum;
    return ranked_weight(context, loss) > 0;
}

static void build_envelope(law *law) {
    law_envelope *envelope = &law->envelope;
    envelope->drawable = ranked_set_prefix(&law->set, keep_positive, law, NULL);
    envelope->octaves = 0;
    double end = 0;
    for (uint64_t first = 0; first < envelope->drawable; first = first ? 2 * first : 1) {
        const uint64_t limit = first ? 2 * first : 1;
        const uint64_t size = (limit < envelope->drawable ? limit : envelope->drawable) - first;
        const uint32_t hardest = ranked_set_select(&law->set, (uint32_t)first);
        const double height = ranked_weight(law, law->losses[hardest]);
        end += height * (double)size;
        envelope->height[envelope->octaves] = height;
        envelope->end[envelope->octaves++] = end;
    }
    law->envelope_current = 1;
}

int64_t law_drawable(law *law) {
    if (law_is_kl(law)) return law->known - law->taken_known;
    if (!law->envelope_current) build_envelope(law);
    return law->envelope.drawable;
}

static uint32_t draw_ranked(const law *law, random_stream *random) {
    const law_envelope *envelope = &law->envelope;
    for (;;) {
        const double at = random_unit(random) * envelope->end[envelope->octaves - 1];
        int octave = 0;
        while (octave + 1 < envelope->octaves && at >= envelope->end[octave]) octave++;
        const uint64_t first = octave ? (uint64_t)1 << (octave - 1) : 0, limit = octave ? 2 * first : 1;
        const uint64_t size = (limit < envelope->drawable ? limit : envelope->drawable) - first;
        const uint32_t example = ranked_set_select(&law->set, (uint32_t)(first + random_below(random, size)));
        if (random_unit(random) * envelope->height[octave] < ranked_weight(law, law->losses[example])) return example;
    }
}

void law_draw(law *law, uint64_t seed, uint64_t iteration, uint32_t first_slot, size_t count, int64_t *examples) {
    if (law_is_kl(law)) {
        weight_tree_draw(&law->tree, seed, iteration, first_slot, count, examples);
        return;
    }
    if (!law->envelope_current) build_envelope(law);
    for (size_t j = 0; j < count; j++) {
        random_stream random;
        random_start(&random, seed, RANDOM_DRAW, iteration, first_slot + (uint32_t)j);
        examples[j] = draw_ranked(law, &random);
    }
}

/* ---- taking members out ---------------------------------------------------------------------------------------- */

hws_status law_reserve(law *law, size_t count) {
    if (count <= law->taken_capacity) return HWS_OK;
    int64_t *taken = memory_open(count * sizeof *taken);
    float *losses = memory_open(count * sizeof *losses);
    if (!taken || !losses) {
        memory_close(taken);
        memory_close(losses);
        return HWS_ERROR_MEMORY;
    }
    catch_up(law);
    memory_close(law->taken);
    memory_close(law->taken_losses);
    law->taken = taken;
    law->taken_losses = losses;
    law->taken_capacity = count;
    return HWS_OK;
}

void law_take(law *law, const int64_t *examples, size_t count) {
    for (size_t j = 0; j < count; j++) {
        const int64_t example = examples[j];
        law->taken[law->taken_count] = example;
        law->taken_losses[law->taken_count++] = law->losses[example];
        law->taken_known += law_knows(law, example);
        if (law_is_kl(law)) {
            law->losses[example] = -INFINITY;
        } else {
            law->taken_mass += law_probability(law, example);
            if (law_knows(law, example)) ranked_set_erase(&law->set, (uint32_t)example);
        }
    }
    if (law_is_kl(law)) weight_tree_refresh(&law->tree, examples, count);
    law->envelope_current = 0;
}

void law_restore(law *law) {
    if (law->taken_count == 0) return;
    for (size_t j = 0; j < law->taken_count; j++) {
        law->losses[law->taken[j]] = law->taken_losses[j];
        if (!law_is_kl(law) && is_known(law->taken_losses[j])) ranked_set_insert(&law->set, (uint32_t)law->taken[j]);
    }
    if (law_is_kl(law)) law->tree_behind = law->taken_count;
    law->taken_count = 0;
    law->taken_known = 0;
    law->taken_mass = 0;
    law->envelope_current = 0;
}

int64_t law_draw_uniform(const law *law, random_stream *random) {
    if (!law_is_kl(law)) return ranked_set_select(&law->set, (uint32_t)random_below(random, law->set.size));
    int64_t example;
    do example = (int64_t)random_below(random, (uint64_t)law->n);
    while (!law_knows(law, example));
    return example;
}

double law_mass_left(const law *law) {
    if (law->taken_count == 0) return 1;
    if (law_is_kl(law)) return tree_word_ratio(law->tree.root, law->tree_total);
    return law->taken_mass < 1 ? 1 - law->taken_mass : 0;
}
