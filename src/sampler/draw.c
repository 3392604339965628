/* Drawing a batch: steps 4 and 5 of Algorithm 1. */
#include "sampler/purposes.h"
#include "sampler/sampler.h"

#include <math.h>
#include <string.h>

/*
 * What is drawn from among the examples with a loss, as an envelope over p-bar and uniform: with a floor, max(p,
 * floor/n) lies below p + floor/n and is reached by rejection; mixing is (1 - mix) p + mix/n itself.
 */
typedef struct proposal {
    double law, uniform; /* masses of the two parts */
} proposal;

static proposal proposal_of(const hws_sampler *sampler) {
    const hws_options *options = &sampler->options;
    if (options->floor > 0) return (proposal){1, options->floor};
    return (proposal){1 - options->uniform_mix, options->uniform_mix};
}

static const int64_t REJECTED = -1;

/* One of the examples that have a loss, left out of p or not, each with the same chance. */
static int64_t draw_known(const hws_sampler *sampler, random_stream *random) {
    int64_t example;
    do example = (int64_t)random_below(random, (uint64_t)sampler->law.n);
    while (!history_knows(sampler, example));
    return example;
}

/* Replaces a draw from p-bar by one from the uniform part, by chance, and rejects what the floor's shape asks for. */
static int64_t mixed(hws_sampler *sampler, proposal from, double law_left, uint32_t slot, int64_t drawn) {
    random_stream random;
    random_start(&random, sampler->options.seed, RANDOM_MIX, sampler->draws_made, slot);
    const law *law = &sampler->law;
    const double law_mass = from.law * law_left;
    /* Where some examples have no loss, uniform is over those that have one, without those taken out; who is drawn for
       a second time is dropped. */
    const int own = sampler->history.losses != NULL, some = law->known < law->n && !own;
    const double uniform =
        some ? from.uniform * (double)(law->known - (int64_t)law->taken_count) / (double)law->known : from.uniform;
    if (random_unit(&random) * (law_mass + uniform) < uniform)
        drawn = own    ? draw_known(sampler, &random)
                : some ? law_draw_uniform(law, &random)
                       : (int64_t)random_below(&random, (uint64_t)law->n);
    if (sampler->options.floor > 0 && (own || law_knows(law, drawn))) {
        const double least = sampler->options.floor / (double)history_known(sampler);
        const double p = law_probability(law, drawn);
        /* Not >=: both sides may be 0, and then nothing would ever be accepted. */
        if (random_unit(&random) * (p + least) > (p > least ? p : least)) return REJECTED;
    }
    return drawn;
}

static void propose(hws_sampler *sampler, uint32_t first_slot, int64_t count, int64_t *examples) {
    law *law = &sampler->law;
    const proposal from = proposal_of(sampler);
    const double law_left = law_drawable(law) > 0 ? law_mass_left(law) : 0;
    if (law_left > 0 || from.uniform == 0)
        law_draw(law, sampler->options.seed, sampler->draws_made, first_slot, (size_t)count, examples);
    if (from.uniform == 0) return;
    for (int64_t j = 0; j < count; j++)
        examples[j] = mixed(sampler, from, law_left, first_slot + (uint32_t)j, law_left > 0 ? examples[j] : 0);
}

size_t batch_table_size(int64_t count) {
    size_t size = 64;
    while (size < 4 * (size_t)count) size *= 2;
    return size;
}

/* Adds an example to the batch unless it is there already. The table holds positions in the batch, plus 1. */
static int add_new(uint32_t *table, size_t size, int64_t *indices, int64_t found, int64_t example) {
    size_t at = (size_t)((uint64_t)example * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (size - 1);
    for (; table[at]; at = (at + 1) & (size - 1))
        if (indices[table[at] - 1] == example) return 0;
    table[at] = (uint32_t)(found + 1);
    indices[found] = example;
    return 1;
}

/* How many to propose next: few at first, for a batch may be all about a few examples, and more when all were new. */
static int64_t next_round(int64_t proposed, int64_t fresh, int64_t missing) {
    const int64_t sensible = 4 + (fresh == proposed ? 4 : 1) * fresh;
    return missing < sensible ? missing : sensible;
}

/* Proposals that were made and not looked at yet, and the slot of the next one to be made. */
typedef struct proposal_queue {
    int64_t first, end;
    uint32_t slot;
} proposal_queue;

/*
 * Sees to it that the next `want` proposals are there. A proposal is named by its slot and depends on what has been
 * taken out alone. So all that are missing are made at once, which is faster, where nothing is likely to be taken out,
 * to judge by the last batch; if something is after all, they are made again.
 */
static void propose_ahead(hws_sampler *sampler, proposal_queue *queue, int64_t want, int64_t missing) {
    const int64_t left = queue->end - queue->first;
    if (left >= want) return;
    memmove(sampler->proposals, sampler->proposals + queue->first, (size_t)left * sizeof *sampler->proposals);
    const int64_t ahead = sampler->took_nothing ? missing : want;
    propose(sampler, queue->slot, ahead - left, sampler->proposals + left);
    queue->slot += (uint32_t)(ahead - left);
    queue->first = 0;
    queue->end = ahead;
}

/* Takes what has been found out of the law, and forgets what was proposed with it. */
static void take_out(hws_sampler *sampler, proposal_queue *queue, const int64_t *indices, int64_t found) {
    const int64_t taken = (int64_t)sampler->law.taken_count;
    law_take(&sampler->law, indices + taken, (size_t)(found - taken));
    queue->slot -= (uint32_t)(queue->end - queue->first);
    queue->end = queue->first = 0;
}

/*
 * Successive draws without replacement. Draws are independent, and those already in the batch are dropped: each next
 * one then follows the law restricted to the rest. When a quarter of a round was dropped, what has been found is taken
 * out of the law, so that an example with almost all of the mass cannot hold the draw up.
 */
static void draw_without_replacement(hws_sampler *sampler, int64_t count, int64_t *indices) {
    if (count == 0) return; /* there may be no table yet */
    const size_t size = batch_table_size(count);
    memset(sampler->found, 0, size * sizeof *sampler->found);
    int64_t found = 0, want = next_round(0, 0, count);
    int took_nothing = 1;
    proposal_queue queue = {0};
    while (found < count) {
        propose_ahead(sampler, &queue, want, count - found);
        const int64_t found_before = found;
        for (int64_t j = 0; j < want; j++) {
            const int64_t example = sampler->proposals[queue.first++];
            if (example != REJECTED) found += add_new(sampler->found, size, indices, found, example);
        }
        const int64_t fresh = found - found_before;
        if (found < count && 4 * fresh < 3 * want) {
            take_out(sampler, &queue, indices, found);
            took_nothing = 0;
        }
        want = next_round(want, fresh, count - found);
    }
    law_restore(&sampler->law);
    sampler->took_nothing = took_nothing;
}

static void draw_with_replacement(hws_sampler *sampler, int64_t count, int64_t *indices) {
    uint32_t slot = 0;
    for (int64_t found = 0; found < count;) {
        const int64_t want = count - found;
        propose(sampler, slot, want, sampler->proposals);
        slot += (uint32_t)want;
        for (int64_t j = 0; j < want; j++)
            if (sampler->proposals[j] != REJECTED) indices[found++] = sampler->proposals[j];
    }
}

/* The examples with a loss that can be drawn for it. */
static int64_t drawable_by_loss(hws_sampler *sampler) {
    if (sampler->law.known == 0) return 0;
    return proposal_of(sampler).uniform > 0 ? history_known(sampler) : law_drawable(&sampler->law);
}

int64_t sampler_drawable(hws_sampler *sampler) { return hws_sampler_unseen(sampler) + drawable_by_loss(sampler); }

hws_status hws_sampler_drawable(hws_sampler *sampler, int64_t *count) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (!count) return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "count is NULL");
    const hws_status status = sampler_prepare(sampler);
    if (status != HWS_OK) return status;
    *count = sampler_drawable(sampler);
    return HWS_OK;
}

/* The batch: first visits, then p, and only then again what was visited and has no loss. */
static void draw_batch(hws_sampler *sampler, int64_t count, int64_t *indices) {
    const int64_t visited = visits_draw(sampler, 0, count, indices), rest = count - visited;
    const int64_t drawable = drawable_by_loss(sampler);
    int64_t by_loss;
    if (sampler->options.replacement) {
        by_loss = drawable > 0 ? rest : 0;
        draw_with_replacement(sampler, by_loss, indices + visited);
    } else {
        by_loss = rest < drawable ? rest : drawable;
        draw_without_replacement(sampler, by_loss, indices + visited);
    }
    int64_t found = visited + by_loss;
    for (uint32_t slot = 1; found < count; slot++) {
        const int64_t apart = sampler->options.replacement ? 0 : found;
        visits_begin_again(sampler);
        visits_set_apart(sampler, apart, indices, 1);
        found += visits_draw(sampler, slot, count - found, indices + found);
        visits_set_apart(sampler, apart, indices, 0);
    }
    visits_wait(sampler, by_loss);
}

hws_status hws_sampler_draw(hws_sampler *sampler, int64_t count, int64_t *indices) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (count < 0 || count > HWS_MAX_EXAMPLES)
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "there is no batch of %lld examples",
                            (long long)count);
    if (count > 0 && !indices) return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "indices is NULL");
    int64_t drawable;
    hws_status status = hws_sampler_drawable(sampler, &drawable);
    if (status != HWS_OK) return status;
    if (!sampler->options.replacement && count > sampler->law.n)
        return sampler_fail(sampler, HWS_ERROR_TOO_FEW, -1, -1,
                            "a batch of %lld without replacement, but there are only %lld examples", (long long)count,
                            (long long)sampler->law.n);
    if (!sampler->options.replacement && count > drawable)
        return sampler_fail(sampler, HWS_ERROR_TOO_FEW, -1, -1,
                            "a batch of %lld without replacement, but only %lld of %lld examples can be drawn; mix "
                            "with uniform, lower beta or allow replacement",
                            (long long)count, (long long)drawable, (long long)sampler->law.n);
    status = sampler_reserve_batch(sampler, count);
    if (status != HWS_OK) return status;
    draw_batch(sampler, count, indices);
    for (int64_t j = 0; sampler->draw_counts && j < count; j++) sampler->draw_counts[indices[j]]++;
    sampler->draws_made++;
    return HWS_OK;
}
