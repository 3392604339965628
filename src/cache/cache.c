#define _POSIX_C_SOURCE 200809L
#include "cache/cache.h"

#include "cache/dataset_scheme.h"
#include "cache/kept_cases.h"
#include "core/available.h"
#include "core/crc64.h"
#include "core/path.h"
#include "core/text.h"
#include "preprocess/normalise.h"
#include "ranks/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------------------------------------ */

static status_code cache_path(char path[PATH_SIZE], const dataset *set, const char *folder, failure *failure) {
    return folder ? path_format(path, failure, "%s", folder) : path_join(path, set->folder, "hws_cache", failure);
}

static void plan_file(const plan_model *model, char *name, size_t size) {
    char model_name[PLAN_MODEL_SIZE];
    plan_model_name(model, model_name);
    if (model->residual || model->slices) snprintf(name, size, "plans-%s.json", model_name);
    else snprintf(name, size, "plans.json");
}

static status_code case_path(char path[PATH_SIZE], const char *folder, const char *id, failure *failure) {
    return path_format(path, failure, "%s/cases/%s.hwscase", folder, id);
}

static status_code make_folder(const char *path, failure *failure) {
    const status_code status = folder_make(path, failure);
    if (status == STATUS_OK && access(path, W_OK) == 0) return STATUS_OK;
    if (status != STATUS_OK && status != STATUS_CANNOT_WRITE) return status;
    return fail(failure, STATUS_CANNOT_WRITE, "the cache folder %.500s cannot be %s: %s; choose another with --out",
                path, status == STATUS_OK ? "written" : "made", strerror(errno));
}

static status_code make_folders(const char *folder, failure *failure) {
    char cases[PATH_SIZE];
    status_code status = path_join(cases, folder, "cases", failure);
    if (status == STATUS_OK) status = make_folder(folder, failure);
    return status == STATUS_OK ? make_folder(cases, failure) : status;
}

status_code cache_open_case(cached_case *one, const char *folder, const char *id, cached_case_mode mode,
                            failure *failure) {
    *one = (cached_case){0};
    char path[PATH_SIZE];
    const status_code status = case_path(path, folder, id, failure);
    return status == STATUS_OK ? cached_case_open(one, path, mode, failure) : status;
}

/* ---- what is current -------------------------------------------------------------------------------------------- */

static void add_file(crc64 *crc, const char *path) {
    struct stat info;
    int64_t numbers[3] = {-1, -1, -1};
    if (stat(path, &info) == 0) {
        numbers[0] = (int64_t)info.st_size;
        numbers[1] = (int64_t)info.st_mtim.tv_sec;
        numbers[2] = (int64_t)info.st_mtim.tv_nsec;
    }
    crc64_add(crc, numbers, sizeof numbers);
}

/* The classes that its labels become: their number, and their values where some are left out. */
static uint64_t inputs_checksum(const dataset_case *one, const label_scheme *labels) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, &labels->classes, sizeof labels->classes);
    if (label_scheme_has_gaps(labels))
        crc64_add(&crc, labels->values, (size_t)labels->classes * sizeof *labels->values);
    for (int k = 0; k < one->files; k++) add_file(&crc, one->images[k]);
    if (one->labels) add_file(&crc, one->labels);
    return crc64_value(&crc);
}

typedef struct job {
    const dataset *set;
    const cache_options *options;
    const char *folder;
    label_scheme labels; /* the dataset's */
    plan *plan;
    fingerprint *fingerprint; /* NULL unless a plan is made */
    uint64_t *inputs;    /* of each training case, taken before anything is read: a file that changes later is seen */
    size_t *todo, count; /* indices of training cases */
    enum case_state { CASE_CURRENT, CASE_MISSING, CASE_OLD, CASE_DAMAGED } * states; /* of each training case's file */
    kept_cases kept; /* those of them that need not be read again */
    dataset_report report;
    int inner_threads;
    const ranks *ranks; /* who share the cases; the first one plans */
} job;

static case_checksums checksums_of(const job *job, size_t index) {
    return (case_checksums){.preprocessing = plan_preprocessing_checksum(job->plan), .inputs = job->inputs[index]};
}

/* What the checksums say, and whether the file is for as many channels and classes as the plan, whatever they say. */
static enum case_state state_of(const job *job, size_t index, const cached_case *file) {
    const case_checksums wanted = checksums_of(job, index), *found = &file->checksums;
    if (found->preprocessing != wanted.preprocessing || found->inputs != wanted.inputs) return CASE_OLD;
    const int fits = file->view.channels == job->plan->channels && file->view.classes == job->plan->labels.classes;
    return fits ? CASE_CURRENT : CASE_DAMAGED;
}

static status_code look_at_file(void *context, size_t index, failure *failure) {
    job *job = context;
    const cached_case_mode mode = job->options->verify ? CACHED_CASE_VERIFY : CACHED_CASE_TRUST;
    cached_case file;
    char path[PATH_SIZE];
    status_code status = case_path(path, job->folder, job->set->train[index].id, failure);
    if (status != STATUS_OK) return status;
    if (!path_exists(path)) return job->states[index] = CASE_MISSING, STATUS_OK;
    status = cached_case_open(&file, path, mode, failure);
    if (status == STATUS_CORRUPT) return job->states[index] = CASE_DAMAGED, STATUS_OK;
    if (status == STATUS_OK) job->states[index] = state_of(job, index, &file);
    cached_case_close(&file);
    return status;
}

static void tell_damaged(const job *job) {
    const char *first = NULL;
    size_t count = 0;
    for (size_t k = 0; k < job->set->train_count; k++)
        if (job->states[k] == CASE_DAMAGED && count++ == 0) first = job->set->train[k].id;
    if (!count) return;
    text notice = {0};
    text_format(&notice, "%zu %s of the cache %s damaged or of another version and made anew, such as %s", count,
                count == 1 ? "file" : "files", count == 1 ? "is" : "are", first);
    listener_notice(job->options->listener, text_string(&notice));
    text_close(&notice);
}

/* Lists the cases that must be made. */
static status_code list_todo(job *job, failure *failure) {
    const size_t count = job->set->train_count;
    const parallel_work work = {.run = look_at_file,
                                .context = job,
                                .listener = job->options->verify ? job->options->listener : NULL,
                                .what = "verifying"};
    memset(job->states, 0, count * sizeof *job->states);
    status_code status = ranks_run(job->ranks, &work, count, job->options->threads, failure);
    if (status == STATUS_OK) status = ranks_gather_items(job->ranks, job->states, count, sizeof *job->states, failure);
    if (status != STATUS_OK) return status;
    tell_damaged(job);
    job->count = 0;
    for (size_t k = 0; k < job->set->train_count; k++)
        if (job->states[k] != CASE_CURRENT) job->todo[job->count++] = k;
    return STATUS_OK;
}

/* ---- checking, and looking at the cases meanwhile --------------------------------------------------------------- */

static status_code look_at_case(void *context, size_t index, volume *image, label_map *labels, failure *failure) {
    job *job = context;
    const status_code status =
        job->fingerprint ? fingerprint_add(job->fingerprint, index, image, labels, failure) : STATUS_OK;
    if (status == STATUS_OK) kept_cases_put(&job->kept, index, image, labels);
    return status;
}

static void tell_findings(const job *job) {
    for (size_t k = 0; k < job->report.count; k++) {
        const dataset_finding *finding = &job->report.findings[k];
        text notice = {0};
        text_format(&notice, "%s: %s", finding->fatal ? "problem" : "note", finding->sentence);
        listener_notice(job->options->listener, text_string(&notice));
        text_close(&notice);
    }
}

static status_code check_dataset(job *job, failure *failure) {
    const dataset_check_options options = {
        .threads = job->options->threads, .listener = job->options->listener, .take = look_at_case, .context = job};
    const status_code status = dataset_check(job->set, &options, &job->report, failure);
    tell_findings(job);
    return status;
}

/* ---- planning --------------------------------------------------------------------------------------------------- */

/* Plans once more as if memory were no question. */
static int is_shrunk(const plan *made, plan_request request, const fingerprint *fingerprint) {
    static _Thread_local plan ideal; /* large */
    request.memory = INFINITY;
    return plan_make(&ideal, &request, fingerprint, NULL) == STATUS_OK &&
           memcmp(ideal.patch, made->patch, sizeof made->patch) != 0;
}

/* Cases are kept once for all models, so that a second plan must preprocess as the first does. */
static status_code check_other_plans(const job *job, const char *own, failure *failure) {
    static _Thread_local plan other; /* large */
    for (int k = 0; k < PLAN_MODELS; k++) {
        char name[32], path[PATH_SIZE];
        const plan_model model = plan_model_at(k);
        plan_file(&model, name, sizeof name);
        const status_code status = path_join(path, job->folder, name, failure);
        if (status != STATUS_OK) return status;
        if (strcmp(path, own) == 0 || !path_exists(path) || plan_read(&other, path, NULL) != STATUS_OK) continue;
        if (plan_preprocessing_checksum(&other) != plan_preprocessing_checksum(job->plan))
            return fail(failure, STATUS_BAD_INPUT,
                        "%.500s preprocesses the cases in another way than this plan would; name another folder (--out "
                        "of hws plan, --cache of hws train), or remove it if it is not needed",
                        path);
    }
    return STATUS_OK;
}

static status_code make_plan(job *job, const char *path, cache_outcome *outcome, failure *failure) {
    const dataset *set = job->set;
    const plan_request request = {.dataset = set->name,
                                  .channel_names = (const char *const *)set->channel_names,
                                  .labels = &job->labels,
                                  .model = job->options->model,
                                  .memory = job->options->memory};
    fingerprint_finish(job->fingerprint);
    status_code status = plan_make(job->plan, &request, job->fingerprint, failure);
    if (status == STATUS_OK) status = check_other_plans(job, path, failure);
    if (status != STATUS_OK) return status;
    outcome->shrunk = is_shrunk(job->plan, request, job->fingerprint);
    return plan_write(job->plan, path, failure);
}

/* The first rank's is that of all. */
static status_code share_plan(const job *job, status_code status, failure *failure) {
    status = ranks_agree(job->ranks, status, failure);
    if (status == STATUS_OK) ranks_share_first(job->ranks, job->plan, sizeof *job->plan);
    return status;
}

static status_code check_and_plan(job *job, const char *path, cache_outcome *outcome, failure *failure) {
    fingerprint fingerprint;
    status_code status = fingerprint_open(&fingerprint, job->set->train_count, job->set->channels, failure);
    status = ranks_agree(job->ranks, status, failure);
    job->fingerprint = &fingerprint;
    if (status == STATUS_OK) status = check_dataset(job, failure);
    if (status == STATUS_OK) status = fingerprint_share(&fingerprint, failure);
    if (status == STATUS_OK) {
        status = ranks_is_first(job->ranks) ? make_plan(job, path, outcome, failure) : STATUS_OK;
        status = share_plan(job, status, failure);
    }
    outcome->planned = status == STATUS_OK;
    job->fingerprint = NULL;
    fingerprint_close(&fingerprint);
    return status;
}

/* Only a folder that was named can have served another dataset; one in the dataset's own may have moved with it. */
static status_code check_same_dataset(const job *job, const char *path, failure *failure) {
    if (!job->options->folder || plan_is_for(job->plan, job->set->name)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s is the plan of the dataset '%.100s', not of '%.100s'; name another folder (--out of hws plan, "
                "--cache of hws train), have hws plan --replan make a new one, or change \"dataset\" in it if it is to "
                "serve this one",
                path, job->plan->dataset, job->set->name);
}

/* The name decides how a channel is normalised; names that ask for the same may change, and who
   edits the rule knows. */
static status_code check_channels(const job *job, const char *path, failure *failure) {
    for (int c = 0; c < job->plan->channels; c++) {
        const char *then = job->plan->channel[c].name, *now = job->set->channel_names[c];
        if (normalisation_of_channel(then) != normalisation_of_channel(now))
            return fail(
                failure, STATUS_BAD_INPUT,
                "%.500s was made when channel %d was called '%.100s', which is normalised otherwise than '%.100s'; "
                "hws plan --replan makes a new one",
                path, c, then, now);
    }
    return STATUS_OK;
}

static status_code check_plan(const job *job, const char *path, failure *failure) {
    const plan *plan = job->plan;
    if (plan->channels != job->set->channels || plan->labels.classes != job->labels.classes)
        return fail(
            failure, STATUS_BAD_INPUT,
            "%s is for %d channels and %d classes, the dataset has %d and %d; hws plan --replan makes a new one", path,
            plan->channels, plan->labels.classes, job->set->channels, job->labels.classes);
    if (!label_scheme_same(&plan->labels, &job->labels))
        return fail(failure, STATUS_BAD_INPUT,
                    "%s is for other label values or regions than dataset.json has; hws plan --replan makes a new one",
                    path);
    if (memcmp(&plan->model, &job->options->model, sizeof plan->model) != 0) {
        char found[PLAN_MODEL_SIZE];
        plan_model_name(&plan->model, found);
        return fail(failure, STATUS_BAD_INPUT, "%.500s is a plan for the model %s; hws plan --replan makes a new one",
                    path, found);
    }
    const status_code status = check_channels(job, path, failure);
    return status == STATUS_OK ? check_same_dataset(job, path, failure) : status;
}

/* ---- preprocessing ---------------------------------------------------------------------------------------------- */

static uint64_t seed_of(const char *id) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, id, strlen(id));
    return crc64_value(&crc);
}

static status_code store_case(const job *job, size_t index, const prepared_case *prepared, failure *failure) {
    const char *id = job->set->train[index].id;
    char path[PATH_SIZE];
    const status_code status = case_path(path, job->folder, id, failure);
    if (status != STATUS_OK) return status;
    return cached_case_write(path, prepared, job->set->values, checksums_of(job, index), seed_of(id), failure);
}

static status_code preprocess_case(const job *job, const char *id, const volume *image, const label_map *labels,
                                   prepared_case *prepared, failure *failure) {
    channel_rule rules[PLAN_MAX_CHANNELS];
    const preprocessing how = plan_preprocessing(job->plan, rules, job->inner_threads);
    struct failure reason;
    const status_code status = preprocess(&how, image, labels, prepared, &reason);
    return status == STATUS_OK ? STATUS_OK : fail(failure, status, "%s: %.900s", id, reason.message);
}

static status_code prepare_case(void *context, size_t item, failure *failure) {
    job *job = context;
    const size_t index = job->todo[item];
    const dataset_case *one = &job->set->train[index];
    volume image = {0};
    label_map labels = {0};
    prepared_case prepared = {0};
    status_code status = STATUS_OK;
    if (!kept_cases_take(&job->kept, index, &image, &labels))
        status = dataset_load(job->set, one, &image, &labels, failure);
    if (status == STATUS_OK) status = preprocess_case(job, one->id, &image, &labels, &prepared, failure);
    volume_close(&image);
    label_map_close(&labels);
    if (status == STATUS_OK) status = store_case(job, index, &prepared, failure);
    prepared_case_close(&prepared);
    return status;
}

/* Bytes that preprocessing the largest case takes, about: the image, cropped and resampled copies, masks. */
static double largest_case(const job *job) {
    double largest = 0;
    for (size_t k = 0; k < job->count; k++) {
        const volume_grid *grid = &job->report.grids[job->todo[k]];
        double before = 1, after = 1;
        for (int axis = 0; axis < 3; axis++) {
            before *= grid->size[axis];
            after *= fmax(1, grid->size[axis] * grid->spacing[axis] / job->plan->spacing[2 - axis]);
        }
        largest = fmax(largest, before * (4 * job->set->channels + 16) + after * (4 * job->set->channels + 14));
    }
    return largest;
}

/* Several cases at once, unless they are too large for that: then the threads share each case, and if not even that
   fits, those that were kept make way. */
static status_code prepare_cases(job *job, failure *failure) {
    const int threads = job->options->threads;
    const double largest = fmax(largest_case(job), 1);
    double fit = floor(0.8 * ranks_memory(job->ranks, memory_available()) / largest);
    if (fit < 1) {
        kept_cases_close(&job->kept);
        fit = floor(0.8 * ranks_memory(job->ranks, memory_available()) / largest);
    }
    const int cases = fit < 1 ? 1 : fit < threads ? (int)fit : threads;
    job->inner_threads = cases == 1 ? threads : 1;
    const parallel_work work = {
        .run = prepare_case, .context = job, .listener = job->options->listener, .what = "preprocessing"};
    return ranks_run(job->ranks, &work, job->count, cases, failure);
}

/* ---- together --------------------------------------------------------------------------------------------------- */

static status_code check_ids(const dataset *set, failure *failure) {
    for (size_t k = 0; k < set->train_count; k++)
        if (strchr(set->train[k].id, '/') || set->train[k].id[0] == '.')
            return fail(failure, STATUS_BAD_INPUT, "the case name '%s' cannot be the name of a file; rename it",
                        set->train[k].id);
    return set->train_count ? STATUS_OK : fail(failure, STATUS_BAD_INPUT, "%s has no training cases", set->folder);
}

static status_code prepare_by_plan(job *job, const char *plan_path, failure *failure) {
    status_code status = STATUS_OK;
    if (ranks_is_first(job->ranks)) status = plan_read(job->plan, plan_path, failure);
    if (ranks_is_first(job->ranks) && status == STATUS_OK) status = check_plan(job, plan_path, failure);
    status = share_plan(job, status, failure);
    if (status == STATUS_OK) status = list_todo(job, failure);
    if (status != STATUS_OK || job->count == 0) return status; /* somebody else's, perhaps, and not to be written */
    status = ranks_agree(job->ranks, make_folders(job->folder, failure), failure);
    if (status != STATUS_OK) return status;
    for (size_t k = 0; k < job->count; k++)
        if (ranks_has(job->ranks, k)) kept_cases_want(&job->kept, &job->todo[k], 1);
    status = check_dataset(job, failure);
    return status == STATUS_OK ? prepare_cases(job, failure) : status;
}

static status_code prepare_all(job *job, const char *plan_path, cache_outcome *outcome, failure *failure) {
    int planned = path_exists(plan_path) && !job->options->replan;
    ranks_share_first(job->ranks, &planned, sizeof planned);
    if (planned) return prepare_by_plan(job, plan_path, failure);
    kept_cases_want_all(&job->kept);
    status_code status = ranks_agree(job->ranks, make_folders(job->folder, failure), failure);
    if (status == STATUS_OK) status = check_and_plan(job, plan_path, outcome, failure);
    if (status == STATUS_OK) status = list_todo(job, failure);
    return status == STATUS_OK ? prepare_cases(job, failure) : status;
}

static status_code job_open(job *job, failure *failure) {
    const size_t count = job->set->train_count;
    job->todo = calloc(count + 1, sizeof *job->todo);
    job->inputs = calloc(count + 1, sizeof *job->inputs);
    job->states = calloc(count + 1, sizeof *job->states);
    if (!job->todo || !job->inputs || !job->states) return fail_memory(failure, "the cache");
    for (size_t k = 0; k < count; k++) job->inputs[k] = inputs_checksum(&job->set->train[k], &job->labels);
    return kept_cases_open(&job->kept, count, ranks_memory(job->ranks, memory_available()), failure);
}

/* Who see other cases would wait for each other forever. */
static status_code check_same_cases(const job *job, failure *failure) {
    crc64 crc;
    crc64_start(&crc);
    for (size_t k = 0; k < job->set->train_count; k++)
        crc64_add(&crc, job->set->train[k].id, strlen(job->set->train[k].id) + 1);
    for (size_t k = 0; k < job->set->test_count; k++)
        crc64_add(&crc, job->set->test[k].id, strlen(job->set->test[k].id) + 1);
    return ranks_check_same(job->ranks, crc64_value(&crc), job->set->folder, failure);
}

static void job_close(job *job) {
    kept_cases_close(&job->kept);
    dataset_report_close(&job->report);
    free(job->inputs);
    free(job->states);
    free(job->todo);
}

status_code cache_prepare(const dataset *set, const cache_options *options, plan *plan, cache_outcome *outcome,
                          failure *failure) {
    struct failure own;
    if (!failure) failure = &own;
    *outcome = (cache_outcome){0};
    char folder[PATH_SIZE], plan_path[PATH_SIZE];
    job job = {.set = set, .options = options, .folder = folder, .plan = plan, .ranks = ranks_here()};
    status_code status = cache_path(folder, set, options->folder, failure);
    plan_file(&options->model, outcome->plan, sizeof outcome->plan);
    if (status == STATUS_OK) status = path_join(plan_path, folder, outcome->plan, failure);
    if (status == STATUS_OK && !(outcome->folder = strdup(folder))) status = fail_memory(failure, "the cache");
    if (status == STATUS_OK) status = check_ids(set, failure);
    if (status == STATUS_OK) status = dataset_scheme(set, &job.labels, failure);
    if (status == STATUS_OK) status = job_open(&job, failure);
    status = ranks_agree(job.ranks, status, failure);
    if (status == STATUS_OK) status = check_same_cases(&job, failure);
    if (status == STATUS_OK) ranks_share_first(job.ranks, job.inputs, set->train_count * sizeof *job.inputs);
    if (status == STATUS_OK) status = prepare_all(&job, plan_path, outcome, failure);
    if (status == STATUS_STOPPED) fail(failure, status, "stopped; the same command goes on from here");
    outcome->prepared = status == STATUS_OK ? job.count : 0;
    outcome->current = set->train_count - outcome->prepared;
    job_close(&job);
    return status;
}
