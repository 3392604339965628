#define _POSIX_C_SOURCE 200809L
/* The objectives that DRO is compared with, transcribed in doubles as their papers have them, against the trainer. */
#include "plain_network.h"

#include "core/path.h"
#include "train/batch_tail.h"

static const plain ZERO;

/* The loss of an example, of which `weight` times the gradient is added. */
static double learn(const plain *net, const points *p, int64_t example, double weight, plain *gradient) {
    return loss_and_gradient(net, p->x[example], p->labels[example], weight, gradient);
}

/* ---- group DRO --------------------------------------------------------------------------------------------------- */

/* The batch of an iteration, as the trainer draws it. */
static void draw(const task *task, const train_settings *s, int64_t iteration, int64_t *batch) {
    batches b;
    const batches_options options = {.kind = s->objective,
                                     .examples = POINTS,
                                     .size = s->batch,
                                     .seed = (uint64_t)s->seed,
                                     .group = task->group,
                                     .context = task->context};
    assert_int_equal(batches_open(&b, &options, NULL), STATUS_OK);
    assert_int_equal(batches_draw(&b, iteration, batch, NULL), STATUS_OK);
    batches_close(&b);
}

/* sum over g of q_g (mean loss of g in the batch); then q_g <- q_g exp(step * that mean), scaled to 1. */
static void group_dro_step(plain *net, const points *p, const train_settings *s, const int64_t *batch, double *q) {
    double sums[CLASSES] = {0}, total = 0;
    int counts[CLASSES] = {0};
    plain gradient = ZERO, none = ZERO;
    for (int k = 0; k < s->batch; k++) counts[p->labels[batch[k]]]++;
    for (int k = 0; k < s->batch; k++) {
        const int g = p->labels[batch[k]];
        sums[g] += learn(net, p, batch[k], 0, &none);
        learn(net, p, batch[k], q[g] / counts[g], &gradient);
    }
    for (int g = 0; g < CLASSES; g++) total += q[g] *= exp(counts[g] ? s->group_step * sums[g] / counts[g] : 0);
    for (int g = 0; g < CLASSES; g++) q[g] /= total;
    descend(net, &gradient, s->lr);
}

static void group_dro_is_that_of_sagawa(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    for (p.micro_batch = 0; p.micro_batch <= 3; p.micro_batch += 3) {
        train_settings s = points_settings();
        s.objective = OBJECTIVE_GROUP_DRO;
        s.group_step = 0.5;
        trainer *t = begin(&s, &task);
        double q[CLASSES] = {1. / CLASSES, 1. / CLASSES, 1. / CLASSES};
        plain net;
        take_weights(t, &net);
        for (int i = 0; i < 60; i++) {
            int64_t batch[MOST];
            draw(&task, &s, i, batch);
            step(t);
            assert_memory_equal(t->chosen_examples, batch, (size_t)s.batch * sizeof *batch);
            group_dro_step(&net, &p, &s, batch, q);
            for (int g = 0; g < CLASSES; g++) assert_near(t->groups.q[g], q[g], 1e-5);
        }
        assert_true(q[0] > 1. / CLASSES); /* the rare class is the hard one */
        assert_weights(t, &net, 5e-5);
        trainer_close(&t);
    }
}

static int every_other(void *context, int64_t example) { return context ? -1 : (int)(example % 2) * 2; }

static void groups_without_examples_have_no_weight(void **state) {
    (void)state;
    group_weights w;
    const int64_t batch[3] = {0, 2, 3};
    const double losses[3] = {1000, 3000, 500};
    assert_int_equal(group_weights_open(&w, 4, every_other, NULL, NULL), STATUS_OK);
    assert_int_equal(w.count, 3);
    assert_true(w.q[0] == 0.5 && w.q[1] == 0 && w.q[2] == 0.5);
    group_weights_begin(&w, batch, 3);
    assert_true(group_weights_at(&w, 0) == 0.25 && group_weights_at(&w, 1) == 0.5);
    group_weights_update(&w, batch, losses, 3, 10); /* exp(20000) is no number */
    assert_true(w.q[0] > 1 - 1e-9 && w.q[1] == 0 && w.q[2] > 0 && w.q[2] < 1e-11);
    /* Who had hardly any weight can have all of it again, also where no loss is above zero. */
    group_weights_update(&w, batch, (double[]){-3000, -3000, -500}, 3, 10);
    assert_true(w.q[0] < 1e-11 && w.q[1] == 0 && w.q[2] > 1 - 1e-9);
    group_weights_close(&w);
}

/* ---- CVaR per batch ---------------------------------------------------------------------------------------------- */

/* CVaR of n losses is the largest sum of w loss with w from 0 to 1 / (tail n) that add up to 1. */
static void weights_of_a_tail_are_those_of_cvar(void **state) {
    (void)state;
    enum { N = 10 };
    uint64_t random = 3;
    for (int trial = 0; trial < 200; trial++) {
        double losses[N], weights[N], sum = 0, value = 0, cvar = HUGE_VAL;
        const double tail = trial % 10 == 0 ? 1 : (double)(trial % 10) * 0.1 + 0.037;
        for (int k = 0; k < N; k++) losses[k] = trial % 3 ? test_normal(&random) : (double)(k * 7 % 4); /* ties, too */
        assert_int_equal(batch_tail_weights(losses, N, tail, weights, NULL), STATUS_OK);
        const double most = fmin(1, 1 / (tail * N));
        for (int k = 0; k < N; k++) {
            assert_true(weights[k] >= 0 && weights[k] <= most + 1e-12);
            sum += weights[k];
            value += weights[k] * losses[k];
        }
        assert_near(sum, 1, 1e-12);
        for (int k = 0; k < N; k++) { /* Rockafellar and Uryasev: the least over eta, which is one of the losses */
            double above = 0;
            for (int j = 0; j < N; j++) above += fmax(losses[j] - losses[k], 0) * most;
            cvar = fmin(cvar, losses[k] + above);
        }
        assert_near(value, cvar, 1e-12);
    }
}

/* 0.07 * 100 and 0.14 * 50 are a little more than 7 in binary. */
static void what_is_rounding_is_no_example(void **state) {
    (void)state;
    enum { N = 100 };
    double losses[N], weights[N];
    points p;
    task task = points_task(&p);
    train_settings s = points_settings();
    trainer *t;
    int weighed = 0, errors = 0;
    for (int k = 0; k < N; k++) losses[k] = k;
    assert_int_equal(batch_tail_weights(losses, N, 0.07, weights, NULL), STATUS_OK);
    for (int k = 0; k < N; k++) weighed += weights[k] > 0;
    assert_int_equal(weighed, 7);
    task.is_wrong = NULL;
    s.objective = OBJECTIVE_JTT;
    s.tail = 0.14;
    folder_make(folder("rounding"), NULL);
    assert_int_equal(trainer_open(&t, &s, &task, folder("rounding"), NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    assert_int_equal(trainer_train_again(t, NULL), STATUS_OK);
    for (int k = 0; k < POINTS; k++) errors += t->errors[k];
    assert_int_equal(errors, 7);
    trainer_close(&t);
}

static void cvar_step(plain *net, const points *p, const train_settings *s, const int64_t *batch) {
    double losses[MOST], weights[MOST];
    plain gradient = ZERO, none = ZERO;
    for (int k = 0; k < s->batch; k++) losses[k] = learn(net, p, batch[k], 0, &none);
    for (int k = 0; k < s->batch; k++) { /* by its rank */
        int harder = 0;
        for (int j = 0; j < s->batch; j++) harder += losses[j] > losses[k];
        weights[k] = fmin(fmax(s->tail * (double)s->batch - harder, 0), 1) / (s->tail * (double)s->batch);
    }
    for (int k = 0; k < s->batch; k++) learn(net, p, batch[k], weights[k], &gradient);
    descend(net, &gradient, s->lr);
}

static void cvar_per_batch_trains_on_its_hardest_part(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    p.noise = 0;
    for (p.micro_batch = 0; p.micro_batch <= 3; p.micro_batch++) {
        train_settings s = points_settings();
        s.objective = OBJECTIVE_CVAR_BATCH;
        assert_int_equal(settings_set(&s, "tail", "0.3", NULL), STATUS_OK); /* 2.4 of 8 */
        trainer *t = begin(&s, &task);
        plain net;
        uint64_t draws = 0;
        take_weights(t, &net);
        for (int i = 0; i < 50; i++) {
            int64_t batch[MOST];
            draw(&task, &s, i, batch);
            step(t);
            cvar_step(&net, &p, &s, batch);
        }
        assert_weights(t, &net, 5e-5);
        for (int k = 0; k < POINTS; k++) draws += t->draws[k];
        assert_int_equal(draws, 3 * 50);
        trainer_close(&t);
    }
}

/* ---- just train twice -------------------------------------------------------------------------------------------- */

static void erm_step(plain *net, const points *p, const train_settings *s, const int64_t *batch) {
    plain gradient = ZERO;
    for (int k = 0; k < s->batch; k++) learn(net, p, batch[k], 1. / (double)s->batch, &gradient);
    descend(net, &gradient, s->lr);
}

static int is_error(const plain *net, const points *p, int64_t example) {
    double best = HUGE_VAL;
    int said = -1;
    plain none = ZERO;
    for (int c = 0; c < CLASSES; c++) {
        const double loss = loss_and_gradient(net, p->x[example], c, 0, &none);
        if (loss < best) best = loss, said = c;
    }
    return said != p->labels[example];
}

/* Each pass of the second training has the errors `times` times and the others once, but for what fills no batch. */
static void count_pass(trainer *t, const train_settings *s, plain *net, const points *p, int *counts, int64_t batches) {
    memset(counts, 0, POINTS * sizeof *counts);
    for (int64_t i = 0; i < batches; i++) {
        step(t);
        erm_step(net, p, s, t->chosen_examples);
        for (int k = 0; k < s->batch; k++) counts[t->chosen_examples[k]]++;
    }
}

static void jtt_trains_again_on_more_of_the_errors(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.objective = OBJECTIVE_JTT;
    s.epochs = 40;
    s.jtt_epochs = 3; /* of 6 iterations */
    s.jtt_weight = 4;
    s.look_ahead = 2;
    trainer *t = begin(&s, &task);
    plain start, net;
    int64_t errors = 0, pool = 0;
    int counts[POINTS], left = 0;
    take_weights(t, &start);
    net = start;
    for (int i = 0; i < 18; i++) {
        int64_t batch[MOST];
        draw(&task, &s, i, batch);
        step(t);
        assert_memory_equal(t->chosen_examples, batch, (size_t)s.batch * sizeof *batch);
        erm_step(&net, &p, &s, batch);
    }
    assert_weights(t, &net, 5e-5);
    const plain first = net;
    net = start; /* from the beginning */
    for (int k = 0; k < POINTS; k++) pool += is_error(&first, &p, k) ? s.jtt_weight : 1;
    for (int pass = 0; pass < 2; pass++) {
        count_pass(t, &s, &net, &p, counts, pool / s.batch);
        left = 0;
        for (int k = 0; k < POINTS; k++) {
            const int wrong = is_error(&first, &p, k);
            assert_int_equal(t->errors[k], wrong);
            assert_true(counts[k] <= (wrong ? s.jtt_weight : 1));
            left += (int)(wrong ? s.jtt_weight : 1) - counts[k];
            errors += wrong;
        }
        assert_int_equal(left, pool % s.batch);
    }
    assert_true(errors > 0 && errors < 2 * POINTS);
    assert_weights(t, &net, 5e-5);
    trainer_close(&t);
}

static void jtt_converges_in_its_second_training_alone(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    s.objective = OBJECTIVE_JTT;
    s.epochs = 4;
    s.jtt_epochs = 2; /* of 6 iterations */
    s.stop_grad_norm = 1e6;
    trainer *t = begin(&s, &task);
    trainer_end end;
    assert_int_equal(trainer_run(t, NULL, &end, NULL), STATUS_OK);
    assert_int_equal(end, TRAINER_CONVERGED);
    assert_int_equal(t->iteration, 18);
    trainer_close(&t);
}

/* The weights that --from names may change or go while the first training is under way. */
static void jtt_begins_both_trainings_with_the_same_weights(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    train_settings s = points_settings();
    char source[300], moved[320];
    snprintf(source, sizeof source, "%s", folder("source"));
    snprintf(moved, sizeof moved, "%s-moved", source);
    folder_make(source, NULL);
    s.epochs = 1;
    trainer *t;
    trainer_end end;
    assert_int_equal(trainer_open(&t, &s, &task, source, NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    assert_int_equal(trainer_run(t, NULL, &end, NULL), STATUS_OK);
    trainer_close(&t);
    s.objective = OBJECTIVE_JTT;
    s.epochs = 2;
    s.jtt_epochs = 1; /* of 6 iterations */
    s.from = source;
    s.lr = 0;
    plain first, again;
    t = begin(&s, &task);
    take_weights(t, &first);
    assert_int_equal(rename(source, moved), 0);
    for (int i = 0; i < 7; i++) step(t);
    assert_true(t->trains_again);
    take_weights(t, &again);
    assert_memory_equal(&first, &again, sizeof first);
    trainer_close(&t);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    points p;
    task task = points_task(&p);
    trainer *t;
    failure why;
    train_settings s = points_settings();
    s.objective = OBJECTIVE_JTT;
    s.jtt_epochs = s.epochs;
    assert_int_equal(trainer_open(&t, &s, &task, folders_root, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "leaves none for the second"));
    s.objective = OBJECTIVE_CVAR_BATCH;
    assert_int_equal(trainer_open(&t, &s, &task, folders_root, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "--tail"));
    s.objective = OBJECTIVE_GROUP_DRO;
    task.group = NULL;
    assert_int_equal(trainer_open(&t, &s, &task, folders_root, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "--group"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_dro_is_that_of_sagawa),
        cmocka_unit_test(groups_without_examples_have_no_weight),
        cmocka_unit_test(weights_of_a_tail_are_those_of_cvar),
        cmocka_unit_test(what_is_rounding_is_no_example),
        cmocka_unit_test(cvar_per_batch_trains_on_its_hardest_part),
        cmocka_unit_test(jtt_trains_again_on_more_of_the_errors),
        cmocka_unit_test(jtt_begins_both_trainings_with_the_same_weights),
        cmocka_unit_test(jtt_converges_in_its_second_training_alone),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
