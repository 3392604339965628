#define _POSIX_C_SOURCE 200809L
/*
 * Algorithm 1 of the paper, transcribed in doubles with the public sampler, against the trainer.
 *
 * The transcription computes its own losses, which must be near the trainer's; its sampler is then given the trainer's,
 * so that a difference in the eighth digit cannot lead to another draw.
 */
#include "plain_network.h"

static const plain ZERO;

static hws_sampler *sampler_of(const train_settings *s) {
    hws_sampler *sampler;
    hws_options o = hws_options_default();
    o.beta = s->beta;
    o.initial_loss = s->loss_init;
    o.momentum = s->history_momentum;
    o.seed = (uint64_t)s->seed;
    o.weight_min = s->weight_min;
    o.weight_max = s->weight_max;
    assert_int_equal(hws_sampler_open(&sampler, POINTS, NULL, &o, NULL), HWS_OK);
    return sampler;
}

/* One iteration, lines 6 to 14; `seen` are the losses that the trainer saw. */
static void plain_step(plain *net, const points *p, const train_settings *s, hws_sampler *sampler, const int64_t *batch,
                       const float *seen) {
    const int b = (int)s->batch;
    float fresh[MOST] = {0}, weights[MOST] = {0};
    plain gradient = ZERO, none = ZERO;
    for (int k = 0; k < b; k++) {
        fresh[k] = seen[k];
        weights[k] = 1;
        assert_near((double)fresh[k], loss_and_gradient(net, p->x[batch[k]], p->labels[batch[k]], 0, &none), 1e-5);
    }
    if (s->importance) assert_int_equal(hws_sampler_importance(sampler, b, batch, fresh, weights), STATUS_OK);
    assert_int_equal(hws_sampler_update(sampler, b, batch, fresh), STATUS_OK);
    for (int k = 0; k < b; k++)
        loss_and_gradient(net, p->x[batch[k]], p->labels[batch[k]], (double)weights[k] / b, &gradient);
    descend(net, &gradient, s->lr);
}

/* The transcription with look-ahead: batches wait in a queue as the definition says. */
static void compare(const train_settings *s, points *p, const task *task, int iterations) {
    trainer *t = begin(s, task);
    plain net;
    int64_t queue[8][MOST];
    float mine[POINTS], theirs[POINTS];
    int drawn = 0;
    hws_sampler *sampler = sampler_of(s);
    take_weights(t, &net);
    for (int i = 0; i < iterations; i++) {
        for (; drawn <= i + s->look_ahead; drawn++)
            assert_int_equal(hws_sampler_draw(sampler, s->batch, queue[drawn % 8]), STATUS_OK);
        step(t);
        for (int k = 0; k < s->batch; k++) assert_int_equal(t->chosen_examples[k], queue[i % 8][k]);
        plain_step(&net, p, s, sampler, queue[i % 8], t->fresh);
    }
    assert_weights(t, &net, 2e-5);
    hws_sampler_get_losses(sampler, 0, POINTS, mine);
    hws_sampler_get_losses(t->history, 0, POINTS, theirs);
    assert_memory_equal(theirs, mine, sizeof mine);
    hws_sampler_close(&sampler);
    trainer_close(&t);
}

static void the_trainer_is_algorithm_1(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.look_ahead = 0;
    compare(&s, &p, &task, 60);
}

static void importance_weights_momentum_and_look_ahead_are_as_defined(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.importance = 1;
    s.history_momentum = 0.3;
    s.look_ahead = 3;
    s.seed = 11;
    compare(&s, &p, &task, 60);
}

/* The same rule as that of hws.h: without a loss the first weight is 1; a guess is the first stale loss, as L_init. */
static void the_first_weight_goes_by_the_first_loss_if_there_is_one(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.importance = IMPORTANCE_PAPER;
    for (int guessed = 0; guessed < 2; guessed++) {
        s.loss_init = guessed ? 1.3 : (double)NAN;
        trainer *t = begin(&s, &task);
        step(t);
        for (int k = 0; k < s.batch; k++) {
            const double weight = exp(s.beta * ((double)t->fresh[k] - s.loss_init));
            assert_near((double)t->ratios[k], guessed ? fmin(fmax(weight, 0.1), 10) : 1, 1e-5);
        }
        trainer_close(&t);
    }
}

static void a_batch_can_be_worked_on_in_parts(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.importance = 1;
    for (p.micro_batch = 1; p.micro_batch <= 5; p.micro_batch += 2)
        compare(&s, &p, &task, 30); /* 3 and 5 leave an incomplete part */
}

static void exact_history_draws_from_losses_of_the_moment(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.history = HISTORY_EXACT;
    s.look_ahead = 0;
    trainer *t = begin(&s, &task);
    plain net, none = ZERO;
    hws_sampler *sampler = sampler_of(&s);
    take_weights(t, &net);
    for (int i = 0; i < 40; i++) {
        int64_t batch[MOST];
        step(t);
        for (int k = 0; k < POINTS; k++)
            assert_near((double)t->all[k], loss_and_gradient(&net, p.x[k], p.labels[k], 0, &none), 1e-5);
        hws_sampler_set_losses(sampler, 0, POINTS, t->all);
        assert_int_equal(hws_sampler_draw(sampler, s.batch, batch), STATUS_OK);
        for (int k = 0; k < s.batch; k++) assert_int_equal(t->chosen_examples[k], batch[k]);
        plain_step(&net, &p, &s, sampler, batch, t->fresh);
    }
    assert_weights(t, &net, 2e-5);
    hws_sampler_close(&sampler);
    trainer_close(&t);
}

/* The losses of a full pass written into the history of a stale run make it an exact one. */
static void a_stale_history_that_is_refreshed_fully_is_exact(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.look_ahead = 0;
    trainer *stale = begin(&s, &task);
    s.history = HISTORY_EXACT;
    trainer *exact = begin(&s, &task);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(trainer_all_losses(stale, NULL), STATUS_OK);
        assert_int_equal(hws_sampler_set_losses(stale->history, 0, POINTS, stale->all), STATUS_OK);
        step(stale);
        step(exact);
    }
    const size_t floats = graph_trained_floats(learner_graph(stale->learner));
    assert_memory_equal(graph_values(learner_graph(stale->learner)), graph_values(learner_graph(exact->learner)),
                        floats * sizeof(float));
    trainer_close(&stale);
    trainer_close(&exact);
}

/* softmax(beta * loss), in doubles. */
static void plain_chances(double beta, const double *losses, double *p) {
    double largest = losses[0], sum = 0;
    for (int k = 1; k < POINTS; k++) largest = fmax(largest, losses[k]);
    for (int k = 0; k < POINTS; k++) sum += p[k] = exp(beta * (losses[k] - largest));
    for (int k = 0; k < POINTS; k++) p[k] /= sum;
}

/* history.csv's stale_distance: total variation between p of the losses as last trained on and
   p of those of the moment. */
static void the_distance_of_stale_losses_is_recorded(void **state) {
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    const double *row;
    double seen[POINTS], stale[POINTS], exact[POINTS], p_stale[POINTS], p_exact[POINTS], distance = 0;
    plain net, none = ZERO;
    (void)state;
    s.history = HISTORY_EXACT;
    s.look_ahead = 0;
    trainer *t = begin(&s, &task);
    for (int k = 0; k < POINTS; k++) seen[k] = NAN;
    for (int i = 0; i < 7; i++) { /* some points are still unseen, others were seen long ago */
        step(t);
        for (int k = 0; k < s.batch; k++) seen[t->chosen_examples[k]] = (double)t->fresh[k];
    }
    assert_int_equal(trainer_end_epoch(t, &row, NULL), STATUS_OK);
    take_weights(t, &net);
    for (int k = 0; k < POINTS; k++) {
        exact[k] = loss_and_gradient(&net, p.x[k], p.labels[k], 0, &none);
        stale[k] = isnan(seen[k]) ? exact[k] : seen[k];
    }
    plain_chances(s.beta, stale, p_stale);
    plain_chances(s.beta, exact, p_exact);
    for (int k = 0; k < POINTS; k++) distance += fabs(p_stale[k] - p_exact[k]) / 2;
    assert_true(distance > 0.01);
    assert_near(row[rows_later(task.metrics) + ROW_STALE_DISTANCE], distance, 1e-4);
    trainer_close(&t);
}

static void the_norm_of_the_gradient_of_r_is_that_of_the_definition(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    for (int kind = 0; kind < 2; kind++) {
        s.divergence.kind = kind ? HWS_CHI2 : HWS_KL;
        trainer *t = begin(&s, &task);
        plain net, gradient = ZERO, none = ZERO;
        double losses[POINTS], weights[POINTS], norm = 0, squares = 0;
        float fresh[POINTS];
        for (int i = 0; i < 10; i++) step(t);
        take_weights(t, &net);
        for (int i = 0; i < POINTS; i++)
            fresh[i] = (float)(losses[i] = loss_and_gradient(&net, p.x[i], p.labels[i], 0, &none));
        hws_divergence_probabilities(&s.divergence, s.beta, POINTS, fresh, weights, NULL);
        for (int i = 0; i < POINTS; i++) loss_and_gradient(&net, p.x[i], p.labels[i], weights[i], &gradient);
        for (size_t k = 0; k < sizeof gradient / sizeof(double); k++)
            squares += (&gradient.first[0][0])[k] * (&gradient.first[0][0])[k];
        assert_int_equal(trainer_gradient_norm(t, &norm, NULL), STATUS_OK);
        assert_close(norm, sqrt(squares), 1e-5);
        trainer_close(&t);
    }
}

static void hard_example_mining_trains_on_the_hardest_candidates(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.objective = OBJECTIVE_OHEM;
    s.ohem_factor = 3;
    s.look_ahead = 0;
    trainer *t = begin(&s, &task);
    batches candidates;
    assert_int_equal(
        batches_open(&candidates, &(batches_options){.kind = OBJECTIVE_OHEM, .examples = POINTS, .size = 24}, NULL),
        STATUS_OK);
    for (int i = 0; i < 20; i++) {
        plain net, none = ZERO;
        int64_t drawn[24];
        take_weights(t, &net);
        assert_int_equal(batches_draw(&candidates, i, drawn, NULL), STATUS_OK);
        step(t);
        for (int k = 0; k < 8; k++) { /* the k-th chosen has exactly k harder candidates */
            const int64_t own = t->chosen_examples[k];
            const double loss = loss_and_gradient(&net, p.x[own], p.labels[own], 0, &none);
            int harder = 0, there = 0;
            for (int j = 0; j < 24; j++) {
                harder += loss_and_gradient(&net, p.x[drawn[j]], p.labels[drawn[j]], 0, &none) > loss + 1e-6;
                there += drawn[j] == own;
            }
            assert_int_equal(there, 1);
            assert_int_equal(harder, k);
        }
    }
    batches_close(&candidates);
    trainer_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_trainer_is_algorithm_1),
        cmocka_unit_test(importance_weights_momentum_and_look_ahead_are_as_defined),
        cmocka_unit_test(the_first_weight_goes_by_the_first_loss_if_there_is_one),
        cmocka_unit_test(a_batch_can_be_worked_on_in_parts),
        cmocka_unit_test(exact_history_draws_from_losses_of_the_moment),
        cmocka_unit_test(a_stale_history_that_is_refreshed_fully_is_exact),
        cmocka_unit_test(the_distance_of_stale_losses_is_recorded),
        cmocka_unit_test(the_norm_of_the_gradient_of_r_is_that_of_the_definition),
        cmocka_unit_test(hard_example_mining_trains_on_the_hardest_candidates),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
