#include "sampler/visits.h"
#include "sampler/purposes.h"
#include "sampler/sampler.h"

int visits_reserve(visits *visits, int64_t n) { return visits->left.bits != NULL || visit_set_open(&visits->left, n); }

void visits_settle(hws_sampler *sampler) {
    if (history_known(sampler) < sampler->law.n) return;
    visit_set_close(&sampler->visits.left);
    sampler->visits.waited = 0;
}

int64_t visits_draw(hws_sampler *sampler, uint32_t slot, int64_t count, int64_t *indices) {
    visit_set *left = &sampler->visits.left;
    if (left->size == 0) return 0;
    const int64_t found = count < left->size ? count : left->size;
    random_stream random;
    random_start(&random, sampler->options.seed, RANDOM_VISIT, sampler->draws_made, slot);
    for (int64_t j = 0; j < found; j++) {
        indices[j] = visit_set_select(left, (int64_t)random_below(&random, (uint64_t)left->size));
        visit_set_remove(left, indices[j]);
    }
    sampler->visits.waited = 0;
    return found;
}

void visits_begin_again(hws_sampler *sampler) {
    visit_set *left = &sampler->visits.left;
    for (int64_t i = 0; i < sampler->law.n; i++)
        if (!history_knows(sampler, i)) visit_set_add(left, i);
    sampler->visits.waited = 0;
}

void visits_set_apart(hws_sampler *sampler, int64_t count, const int64_t *batch, int apart) {
    for (int64_t j = 0; j < count; j++) {
        if (history_knows(sampler, batch[j])) continue;
        if (apart) visit_set_remove(&sampler->visits.left, batch[j]);
        else visit_set_add(&sampler->visits.left, batch[j]);
    }
}

void visits_wait(hws_sampler *sampler, int64_t count) {
    if (!sampler->visits.left.bits) return;
    sampler->visits.waited += (uint64_t)count;
    if (sampler->visits.waited >= (uint64_t)sampler->law.n) visits_begin_again(sampler);
}
