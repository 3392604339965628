/* What hws train is told: options upon a config, upon the run that is resumed, or upon the defaults. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "core/parallel.h"
#include "run/run_folder.h"
#include "task/classification_source.h"
#include "task/phantom_data.h"
#include "train/own_folder.h"
#include "train/training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int data_is_volumes(const char *data) { return *data && !classification_data_named(data); }
int data_is_path(const char *data) { return !classification_data_is_word(data) && !phantom_data_named(data); }

static status_code read_config(train_settings *settings, const char *data, const char *path, failure *failure) {
    status_code status = run_config_read_settings(settings, path, failure);
    if (status != STATUS_OK || data || !data_is_volumes(settings->data)) return status;
    settings_close(settings);
    *settings = settings_default_volumes();
    return run_config_read_settings(settings, path, failure);
}

/* What the options are laid upon. */
static status_code read_base(training *t, failure *failure) {
    const train_request *r = t->request;
    char path[PATH_SIZE];
    t->settings = r->data && data_is_volumes(r->data) ? settings_default_volumes() : settings_default();
    if (r->config && !t->resume) return read_config(&t->settings, r->data, r->config, failure);
    if (!t->resume) return STATUS_OK;
    const status_code status = run_path(path, r->folder, RUN_CONFIG, failure);
    return status == STATUS_OK ? read_config(&t->settings, 0, path, failure) : status;
}

static int has_option(const train_request *r, const char *key) {
    for (size_t k = 0; k < r->option_count; k++)
        if (strcmp(r->options[k].key, key) == 0) return 1;
    return 0;
}

int training_chooses(const training *t, const char *key) {
    return has_option(t->request, key) || run_config_chooses(&t->settings, key);
}

/* Who is left out must be seen again, or would be left out for good. */
static void take_trim(training *t) {
    train_settings *s = &t->settings;
    if (t->resume || !training_chooses(t, "trim") || training_chooses(t, "uniform_mix")) return;
    if (s->trim > 0 && s->floor == 0 && s->uniform_mix == 0) s->uniform_mix = 0.1;
}

/* What the default of the tail must give way to: a fraction of CVaR is a tail, and --target-ess chooses beta. */
static status_code yield_tail(training *t, failure *failure) {
    train_settings *s = &t->settings;
    if (t->resume || training_chooses(t, "tail") || training_chooses(t, "beta") || isnan(s->tail)) return STATUS_OK;
    if (training_chooses(t, "target_ess") && s->target_ess > 0)
        return settings_set(s, "beta", data_is_volumes(s->data) ? "100" : "10", failure);
    if (training_chooses(t, "divergence") && s->divergence.kind == HWS_CVAR) s->tail = s->divergence.parameter;
    return STATUS_OK;
}

static status_code refuse_contradictions(const train_request *r, failure *failure) {
    if (has_option(r, "beta") && has_option(r, "tail"))
        return fail(failure, STATUS_BAD_INPUT,
                    "--beta and --tail cannot be used together: with a tail, beta follows from the losses");
    if (has_option(r, "epochs") && has_option(r, "iterations"))
        return fail(failure, STATUS_BAD_INPUT,
                    "--epochs and --iterations cannot be used together: both say how long to train");
    return STATUS_OK;
}

/* What means nothing for this kind of data is refused rather than passed over. */
static status_code refuse_foreign(const training *t, failure *failure) {
    const train_request *r = t->request;
    const int volumes = data_is_volumes(t->settings.data);
    for (size_t k = 0; k < r->option_count; k++) {
        char name[SETTING_OPTION_SIZE];
        const setting *s = settings_find(r->options[k].key);
        if (!s || s->only == SETTING_FOR_BOTH || (s->only == SETTING_FOR_VOLUMES) == volumes) continue;
        return fail(failure, STATUS_BAD_INPUT, "%s is for %s, not for %s", setting_option(s, name),
                    volumes ? "images" : "volumes", volumes ? "volumes" : "images");
    }
    return STATUS_OK;
}

/* The gradient of the robust loss can be measured whatever is minimised, and these say which robust loss it is. */
static int names_measured_loss(const train_settings *s, const char *key) {
    static const char *const KEYS[] = {"beta", "tail", "divergence"};
    for (size_t k = 0; k < sizeof KEYS / sizeof *KEYS && s->stop_grad_norm >= 0; k++)
        if (strcmp(KEYS[k], key) == 0) return 1;
    return 0;
}

static status_code fail_idle(const training *t, const setting *idle, failure *failure) {
    char name[SETTING_OPTION_SIZE], known[128] = "";
    const int own = (int)t->settings.objective;
    for (int k = 0; objective_name(k); k++)
        if (idle->objectives & 1u << k)
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? " or " : "",
                     objective_name(k));
    return fail(failure, STATUS_BAD_INPUT, "%s means nothing to --objective %s: leave it out, or choose --objective %s",
                setting_option(idle, name), objective_name(own), known);
}

static status_code refuse_other_objectives(const training *t, failure *failure) {
    const train_request *r = t->request;
    const train_settings *s = &t->settings;
    for (size_t k = 0; k < r->option_count; k++) {
        const setting *one = settings_find(r->options[k].key);
        if (!one || !one->objectives || one->objectives & 1u << s->objective) continue;
        if (strcmp(r->options[k].value, "off") == 0 || names_measured_loss(s, one->key)) continue;
        return fail_idle(t, one, failure);
    }
    /* The tail of JTT is of volumes, which are never simply wrong. */
    if (s->objective != OBJECTIVE_JTT || data_is_volumes(s->data) || !has_option(r, "tail") ||
        names_measured_loss(s, "tail"))
        return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--tail means nothing to --objective jtt on images: its errors are those that are classified wrongly; "
                "leave it out");
}

/* What changes nothing of this run is refused: whoever gives it believes that it does. */
static status_code refuse_idle(const training *t, failure *failure) {
    const train_request *r = t->request;
    const train_settings *s = &t->settings;
    if (t->resume) return STATUS_OK;
    const status_code status = refuse_other_objectives(t, failure);
    if (status != STATUS_OK) return status;
    const int chosen_later = has_option(r, "budget") && !training_chooses(t, "optimizer");
    if (!has_option(r, "momentum") || chosen_later || s->optimizer == OPTIMIZER_MOMENTUM ||
        s->optimizer == OPTIMIZER_NESTEROV)
        return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--momentum means nothing to --optimizer %s: choose --optimizer momentum, which is SGD with momentum, "
                "or nesterov",
                optimizer_name(s->optimizer));
}

int training_wants_budget(const training *t) { return !t->resume && has_option(t->request, "budget"); }

budget_fixed training_fixed(const training *t) {
    return (budget_fixed){.optimizer = training_chooses(t, "optimizer"),
                          .lr = training_chooses(t, "lr"),
                          .schedule = training_chooses(t, "schedule"),
                          .batch = training_chooses(t, "batch") || !data_is_volumes(t->settings.data),
                          .epoch_length = training_chooses(t, "epoch_length"),
                          .jtt_epochs = training_chooses(t, "jtt_epochs")};
}

static status_code check_budget(const training *t, failure *failure) {
    const train_request *r = t->request;
    double seconds;
    if (!training_wants_budget(t)) return STATUS_OK;
    if (t->ranks->count > 1)
        return fail(failure, STATUS_BAD_INPUT,
                    "--budget measures what one process does: with several ranks choose --epochs or --iterations");
    if (has_option(r, "epochs") || has_option(r, "iterations"))
        return fail(failure, STATUS_BAD_INPUT,
                    "--budget decides how long to train: leave out --epochs and --iterations");
    const budget_fixed fixed = training_fixed(t);
    const status_code status = budget_check(&t->settings, &fixed, failure);
    return status == STATUS_OK ? budget_parse(t->settings.budget, &seconds, failure) : status;
}

/* Options that say how long to train replace all that a config says about it: what its clock decided, too. */
static void take_length(training *t) {
    const train_request *r = t->request;
    train_settings *s = &t->settings;
    const int timed = has_option(r, "budget"), counted = has_option(r, "iterations");
    if (t->resume || !(timed || counted || has_option(r, "epochs"))) return;
    s->budget_costs = s->budget_lengths = "";
    if (!timed) s->budget = "";
    if (!timed && !counted) s->iterations = 0;
}

/* What is drawn ahead cannot know the losses of its moment. */
static void take_history(training *t) {
    if (t->resume || training_chooses(t, "look_ahead") || t->settings.history != HISTORY_EXACT) return;
    t->settings.look_ahead = 0;
}

/* What is not there is of no kind: it is told before options are held against one. */
static status_code check_data(const training *t, failure *failure) {
    const train_settings *s = &t->settings;
    if (!*s->data) return fail(failure, STATUS_BAD_INPUT, "train on what? See hws train --help");
    if (!data_is_path(s->data)) return STATUS_OK;
    if (path_exists(s->data) && data_is_volumes(s->data) && !path_is_folder(s->data))
        return fail(failure, STATUS_BAD_INPUT,
                    "'%.500s' cannot be trained on: files are .csv (a list of pictures, or a table) or .npz; see hws "
                    "train --help",
                    s->data);
    if (path_exists(s->data)) return STATUS_OK;
    return fail(
        failure, STATUS_BAD_INPUT,
        "'%.500s' cannot be trained on: it is neither digits, mnist nor phantom, and there is no such folder or file%s",
        s->data, t->resume ? "; if it has moved, name where it is: hws train DATA --resume --out RUN" : "");
}

static status_code apply_options(training *t, failure *failure) {
    const train_request *r = t->request;
    status_code status = refuse_contradictions(r, failure);
    int keeps = 0;
    if (r->data) t->settings.data = r->data;
    if (status == STATUS_OK) status = check_data(t, failure);
    if (status == STATUS_OK && r->recipe)
        status = settings_follow_recipe(&t->settings, r->recipe, data_is_volumes(t->settings.data), failure);
    for (size_t k = 0; k < r->option_count && status == STATUS_OK; k++) {
        if (strcmp(r->options[k].key, "keep") == 0 && !keeps++) t->settings.keep_count = 0;
        status = settings_set(&t->settings, r->options[k].key, r->options[k].value, failure);
    }
    if (status == STATUS_OK) status = refuse_foreign(t, failure);
    if (status == STATUS_OK) status = refuse_idle(t, failure);
    if (status != STATUS_OK) return status;
    take_trim(t);
    take_length(t);
    take_history(t);
    return yield_tail(t, failure);
}

/* Files may have moved: whether they are the same the checkpoint knows by what is in them. Of what kind a folder was
   that is gone only the run's task tells. */
static int may_have_moved(const training *t, const char *from, const char *to) {
    task_kind task;
    if (!data_is_path(from) || !data_is_path(to) || run_config_task(t->request->folder, &task, NULL) != STATUS_OK)
        return 0;
    return (task == TASK_UNKNOWN ? data_is_volumes(from) : task == TASK_SEGMENTATION) == data_is_volumes(to);
}

static status_code check_same(const train_settings *base, const training *t, failure *failure) {
    const char *difference = t->resume ? settings_difference(base, &t->settings) : 0;
    if (t->resume && !difference && strcmp(base->data, t->settings.data) != 0 &&
        !may_have_moved(t, base->data, t->settings.data))
        difference = "data";
    if (!difference) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s was begun with another '%s', see its config.json; a run is resumed with the settings it began "
                "with: leave the option out, or start a new run in another folder",
                t->request->folder, difference);
}

/* What is not there is left as it is, for who reads it to refuse. */
static const char *real_path(const char *path, char real[PATH_SIZE]) {
    return *path && realpath(path, real) ? real : path;
}

/* So that a run can be resumed and evaluated from elsewhere. What one that is resumed has been
   told already stays as it is. */
static void make_absolute(training *t, const train_settings *base) {
    train_settings *s = &t->settings;
    char here[PATH_SIZE];
    if (!t->resume || strcmp(s->from, base->from) != 0) s->from = real_path(s->from, t->from);
    if (!t->resume || strcmp(s->loss_init_file, base->loss_init_file) != 0)
        s->loss_init_file = real_path(s->loss_init_file, t->losses);
    if (data_is_path(s->data) && (!t->resume || strcmp(s->data, base->data) != 0))
        s->data = real_path(s->data, t->data);
    if (*s->cache && s->cache[0] != '/' && getcwd(here, sizeof here) &&
        path_join(t->cache, here, s->cache, 0) == STATUS_OK)
        s->cache = t->cache;
}

/* The first rank looks: what it makes later must not confuse the others. */
static void choose_resume(training *t) {
    const train_request *r = t->request;
    t->resume = r->resume || (r->resume_or_start && run_exists(r->folder));
    ranks_share_first(t->ranks, &t->resume, sizeof t->resume);
}

static status_code check_request(const training *t, failure *failure) {
    const train_request *r = t->request;
    if (r->resume && r->resume_or_start)
        return fail(failure, STATUS_BAD_INPUT, "train: --resume and --resume-or-start cannot be used together");
    if (r->resume && r->config)
        return fail(failure, STATUS_BAD_INPUT, "train: --resume and --config cannot be used together");
    if (r->resume && !run_exists(r->folder))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s holds no run that could be resumed; leave out --resume to begin one", r->folder);
    if (!t->resume && r->folder && run_exists(r->folder) && !run_is_ours(r->folder))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s has a config.json that is not of a run of hws; name another folder, or move the file away",
                    r->folder);
    if (!t->resume && r->folder && run_exists(r->folder))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s holds a run already; continue it with --resume, or name another folder", r->folder);
    return STATUS_OK;
}

/* What a run writes must not mix with the data, where it would be examples of the next one, nor
   replace what is there. */
static status_code check_folder(const training *t, failure *failure) {
    const char *data = t->settings.data, *folder = t->request->folder;
    int same = 0;
    if (t->request->dry_run || t->resume) return STATUS_OK;
    const status_code status = data_is_path(data) ? classification_data_same(data, folder, &same, failure) : STATUS_OK;
    if (status != STATUS_OK || !same) return status == STATUS_OK ? own_folder_check(folder, failure) : status;
    return fail(failure, STATUS_BAD_INPUT, "--out %.400s is the folder of the %s; name another", folder,
                classification_data_is_classes(data) ? "pictures, in which every folder is a class"
                : data_is_volumes(data)              ? "dataset"
                                                     : "pictures");
}

status_code training_settle(training *t, failure *failure) {
    train_settings *s = &t->settings;
    choose_resume(t);
    status_code status = check_request(t, failure);
    if (status == STATUS_OK) status = read_base(t, failure);
    if (status != STATUS_OK) return status;
    const train_settings base = *s;
    status = apply_options(t, failure);
    make_absolute(t, &base);
    if (t->resume && !s->batch) s->batch = base.batch; /* the plan's, which the run has taken */
    if (status == STATUS_OK) status = check_same(&base, t, failure);
    if (status == STATUS_OK) status = check_folder(t, failure);
    if (status == STATUS_OK) status = check_budget(t, failure);
    if (!s->threads) s->threads = parallel_processors();
    return status == STATUS_OK ? settings_check(s, failure) : status;
}
