#include "train/task_check.h"

/* A network that cannot be. */
static status_code check_network(const task *task, const train_settings *s, failure *failure) {
    learner_options options = {0};
    return task->network(task->context, s, &options, failure);
}

static status_code refuse_groupless(const task *task, const train_settings *s, int64_t example, failure *failure) {
    const char *objective = objective_name((int)s->objective);
    text name = {0};
    if (task->name) task->name(task->context, example, &name);
    const status_code status =
        *s->group ? fail(failure, STATUS_BAD_INPUT,
                         "--objective %s needs a group of each example: the column '%.100s' is empty for %.300s",
                         objective, s->group, text_string(&name))
                  : fail(failure, STATUS_BAD_INPUT,
                         "--objective %s needs a class or group of each example, and %.300s has none; name a column of "
                         "groups with --group",
                         objective, text_string(&name));
    text_close(&name);
    return status;
}

static status_code check_groups(const task *task, const train_settings *s, failure *failure) {
    if (!objective_draws_by_group(s->objective)) return STATUS_OK;
    for (int64_t i = 0; i < task->examples; i++)
        if (!task->group || task->group(task->context, i) < 0) return refuse_groupless(task, s, i, failure);
    return STATUS_OK;
}

static status_code check_effective_size(const task *task, const train_settings *s, failure *failure) {
    const double most = (1 - s->trim) * (double)task->examples;
    if (s->target_ess <= most) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--target-ess %g is more than the %.0f examples that can be drawn",
                s->target_ess, most);
}

status_code task_check(const task *task, const train_settings *settings, failure *failure) {
    status_code status = check_network(task, settings, failure);
    if (status == STATUS_OK) status = check_groups(task, settings, failure);
    return status == STATUS_OK ? check_effective_size(task, settings, failure) : status;
}
