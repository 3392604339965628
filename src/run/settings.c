#include "run/settings.h"

#include "run/setting_value.h"
#include "json/json_file.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- defaults ---------------------------------------------------------------------------------------------------- */

static const char *default_of(const setting *s, int volumes) { return volumes && s->volumes ? s->volumes : s->images; }

static const char *before_of(const setting *s, int volumes) {
    const char *before = volumes && s->before_volumes ? s->before_volumes : s->before;
    return before ? before : default_of(s, volumes);
}

static train_settings made_of(const char *(*value_of)(const setting *s, int volumes), int volumes) {
    train_settings settings = {.weight_min = 0.1, .weight_max = 10, .loss_init_file = ""};
    for (size_t k = 0; k < settings_count(); k++) {
        const char *value = value_of(settings_at(k), volumes);
        const status_code status = value ? setting_value_parse(&settings, settings_at(k), value, 0) : STATUS_OK;
        assert(status == STATUS_OK);
        (void)status;
    }
    return settings;
}

train_settings settings_default(void) { return made_of(default_of, 0); }
train_settings settings_default_volumes(void) { return made_of(default_of, 1); }
train_settings settings_before(int volumes) { return made_of(before_of, volumes); }

void settings_forget_free(train_settings *settings, int volumes) {
    for (size_t k = 0; k < settings_count(); k++)
        if (settings_at(k)->is_free)
            setting_value_parse(settings, settings_at(k), default_of(settings_at(k), volumes), 0);
}

void settings_close(train_settings *settings) {
    json_decref(settings->document);
    settings->document = 0;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

status_code settings_set(train_settings *settings, const char *key, const char *value, failure *failure) {
    const setting *s = settings_find(key);
    if (!s) return fail(failure, STATUS_BAD_INPUT, "there is no setting '%.100s'", key);
    return setting_value_parse(settings, s, value, failure);
}

void settings_write(const train_settings *settings, json_writer *json) {
    for (size_t k = 0; k < settings_count(); k++) setting_value_write(settings, settings_at(k), json);
}

static int is_given(json_t *object, const char *key) {
    const json_t *value = key ? json_object_get(object, key) : 0;
    return value && !json_is_null(value);
}

static status_code refuse_both(json_t *object, const char *name, failure *failure) {
    for (size_t k = 0; k < settings_count(); k++) {
        const setting *s = settings_at(k);
        if (is_given(object, s->key) && is_given(object, s->instead_of))
            return fail(failure, STATUS_BAD_INPUT, "%s: '%s' and '%s' cannot be used together; remove one of them",
                        name, s->key, s->instead_of);
    }
    return STATUS_OK;
}

status_code settings_read(train_settings *settings, json_t *object, const char *name, failure *failure) {
    const char *key;
    json_t *value;
    if (!json_is_object(object)) return fail(failure, STATUS_CORRUPT, "%s: is not a JSON object", name);
    const status_code status = refuse_both(object, name, failure);
    if (status != STATUS_OK) return status;
    json_object_foreach(object, key, value) {
        const setting *s = settings_find(key);
        if (!s)
            return fail(failure, STATUS_BAD_INPUT, "%s: there is no setting '%.100s'; remove or correct it", name, key);
        if (!setting_value_read(settings, s, value))
            return fail(failure, STATUS_BAD_INPUT, "%s: the value of '%.100s' is not possible", name, key);
    }
    return STATUS_OK;
}

status_code settings_read_text(train_settings *settings, const char *json, const char *name, failure *failure) {
    json_t *object;
    const status_code status = json_parse(name, json, strlen(json), &object, failure);
    if (status != STATUS_OK) return status;
    json_decref(settings->document);
    settings->document = object;
    return settings_read(settings, object, name, failure);
}

/* ---- comparing and checking -------------------------------------------------------------------------------------- */

int settings_may_be_longer(const train_settings *s) {
    const int warms_up = s->objective == OBJECTIVE_DRO && s->warm_up > 0;
    return s->schedule == SCHEDULE_CONSTANT && !s->iterations && !warms_up;
}

const char *settings_difference(const train_settings *a, const train_settings *b) {
    for (size_t k = 0; k < settings_count(); k++) {
        const setting *s = settings_at(k);
        if (s->is_free || (strcmp(s->key, "epochs") == 0 && settings_may_be_longer(a) && settings_may_be_longer(b)))
            continue;
        if (!setting_value_same(a, b, s)) return s->key;
    }
    return 0;
}

status_code settings_check(const train_settings *s, failure *failure) {
    if (s->history == HISTORY_EXACT && s->look_ahead > 0)
        return fail(failure, STATUS_BAD_INPUT,
                    "--history exact draws each batch from losses of that very moment: it needs --look-ahead 0");
    if (s->objective == OBJECTIVE_CVAR_BATCH && isnan(s->tail))
        return fail(failure, STATUS_BAD_INPUT,
                    "--objective cvar-batch trains on the hardest part of each batch: give --tail instead of --beta");
    if (isnan(s->beta) && isnan(s->tail))
        return fail(failure, STATUS_BAD_INPUT, "how robust? Give either --tail or --beta");
    if (!isnan(s->tail) && s->target_ess > 0)
        return fail(failure, STATUS_BAD_INPUT,
                    "--tail and --target-ess cannot be used together: both say how beta follows from the losses");
    if (s->divergence.kind == HWS_CVAR && !isnan(s->tail) && s->divergence.parameter != s->tail)
        return fail(failure, STATUS_BAD_INPUT,
                    "--tail %g and --divergence cvar:%g contradict each other: the parameter of CVaR is the tail",
                    s->tail, s->divergence.parameter);
    if (s->target_ess > 0 && s->target_ess < 1)
        return fail(failure, STATUS_BAD_INPUT, "--target-ess %g: no effective size is below 1", s->target_ess);
    if (s->stop_grad_norm >= 0 && (s->trim > 0 || s->doubt))
        return fail(
            failure, STATUS_BAD_INPUT,
            "--stop-grad-norm measures the gradient of the loss over all examples, of which --trim and --doubt leave "
            "some out");
    if (s->dropout > 0 && s->stop_grad_norm >= 0)
        return fail(
            failure, STATUS_BAD_INPUT,
            "--stop-grad-norm measures the gradient of the whole network, of which --dropout leaves a part out");
    return STATUS_OK;
}
