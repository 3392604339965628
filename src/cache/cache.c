#define _POSIX_C_SOURCE 200809L
#include "cache/cache.h"

#include "core/crc64.h"
#include "core/parallel.h"
#include "core/path.h"
#include "core/text.h"
#include "nifti/nifti.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------------------------------------ */

static char *joined(const char *a, const char *b, const char *c) {
    text path = {0};
    text_format(&path, "%s%s%s", a, b, c);
    return path.bytes; /* NULL if there was no memory */
}

char *cache_folder(const dataset *set, const char *folder) {
    return folder ? joined(folder, "", "") : joined(set->folder, "/hws_cache", "");
}

static char *case_path(const char *folder, const char *id) {
    char *start = joined(folder, "/cases/", id), *path = start ? joined(start, ".hwscase", "") : NULL;
    free(start);
    return path;
}

static status_code make_folder(const char *path, failure *failure) {
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode))) {
        if (access(path, W_OK) == 0) return STATUS_OK;
        return fail(failure, STATUS_CANNOT_WRITE,
                    "the cache folder %s cannot be written: %s; choose another with --out", path, strerror(errno));
    }
    return fail(failure, STATUS_CANNOT_WRITE, "the cache folder %s cannot be made: %s; choose another with --out", path,
                strerror(errno));
}

static status_code make_folders(const char *folder, failure *failure) {
    char *cases = joined(folder, "/cases", "");
    if (!cases) return fail_memory(failure, "the cache");
    status_code status = make_folder(folder, failure);
    if (status == STATUS_OK) status = make_folder(cases, failure);
    free(cases);
    return status;
}

status_code cache_open_case(case_file *file, const char *folder, const char *id, case_file_mode mode,
                            failure *failure) {
    *file = (case_file){0};
    char *path = case_path(folder, id);
    if (!path) return fail_memory(failure, id);
    const status_code status = case_file_open(file, path, mode, failure);
    free(path);
    return status;
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

static uint64_t inputs_print(const dataset_case *one, int classes) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, &classes, sizeof classes);
    for (int k = 0; k < one->files; k++) add_file(&crc, one->images[k]);
    if (one->labels) add_file(&crc, one->labels);
    return crc64_value(&crc);
}

typedef struct job {
    const dataset *set;
    const cache_options *options;
    const char *folder;
    plan *plan;
    fingerprint *print;
    cache_stage stage;
    size_t *todo, count; /* indices of training cases */
    int inner_threads;
} job;

static int stopped(const job *job) { return job->options->stop && *job->options->stop; }

static status_code fail_stopped(failure *failure) {
    return fail(failure, STATUS_STOPPED, "stopped; the same command goes on from here");
}

static case_prints prints_of(const job *job, const dataset_case *one) {
    return (case_prints){.preprocessing = plan_preprocessing_print(job->plan),
                         .inputs = inputs_print(one, job->set->values)};
}

/* Lists the cases that must be made. */
static status_code list_todo(job *job, failure *failure) {
    job->count = 0;
    for (size_t k = 0; k < job->set->train_count; k++) {
        const dataset_case *one = &job->set->train[k];
        char *path = case_path(job->folder, one->id);
        if (!path) return fail_memory(failure, one->id);
        case_prints found;
        const case_prints wanted = prints_of(job, one);
        const int there = case_file_prints(path, &found);
        if (!there || found.preprocessing != wanted.preprocessing || found.inputs != wanted.inputs)
            job->todo[job->count++] = k;
        free(path);
    }
    return STATUS_OK;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

static void tell_step(void *context, size_t done, size_t total) {
    const job *job = context;
    const cache_listener *listener = job->options->listener;
    if (listener && listener->step) listener->step(listener->context, job->stage, done, total);
}

static status_code run_stage(job *job, cache_stage stage, status_code (*run)(void *, size_t, failure *), size_t count,
                             int threads, failure *failure) {
    job->stage = stage;
    const parallel_work work = {.run = run, .progress = tell_step, .context = job, .progress_context = job};
    return parallel_run(&work, count, threads, failure);
}

/* ---- stages ----------------------------------------------------------------------------------------------------- */

static status_code check_dataset(job *job, failure *failure) {
    const cache_listener *listener = job->options->listener;
    dataset_report report = {0};
    job->stage = CACHE_CHECKING;
    const status_code status = dataset_check(job->set, job->options->threads, tell_step, job, &report, failure);
    for (size_t k = 0; k < report.count && listener && listener->finding; k++)
        listener->finding(listener->context, &report.findings[k]);
    dataset_report_close(&report);
    return status;
}

static status_code look_at_case(void *context, size_t index, failure *failure) {
    job *job = context;
    if (stopped(job)) return fail_stopped(failure);
    volume image = {0};
    label_map labels = {0};
    status_code status = dataset_load(job->set, &job->set->train[index], &image, &labels, failure);
    if (status == STATUS_OK) status = fingerprint_add(job->print, index, &image, &labels, failure);
    volume_close(&image);
    label_map_close(&labels);
    return status;
}

/* Plans once more as if memory were no question. */
static int is_shrunk(const plan *made, plan_request request, const fingerprint *print) {
    static _Thread_local plan ideal; /* large */
    request.memory = INFINITY;
    return plan_make(&ideal, &request, print, NULL) == STATUS_OK &&
           memcmp(ideal.patch, made->patch, sizeof made->patch) != 0;
}

static status_code make_plan(job *job, const char *path, cache_outcome *outcome, failure *failure) {
    const dataset *set = job->set;
    fingerprint print;
    status_code status = fingerprint_open(&print, set->train_count, set->channels, failure);
    if (status != STATUS_OK) return status;
    job->print = &print;
    status = run_stage(job, CACHE_FINGERPRINT, look_at_case, set->train_count, job->options->threads, failure);
    if (status == STATUS_OK) {
        fingerprint_finish(&print);
        const plan_request request = {.dataset = set->name,
                                      .channel_names = (const char *const *)set->channel_names,
                                      .classes = set->values,
                                      .memory = job->options->memory};
        status = plan_make(job->plan, &request, &print, failure);
        if (status == STATUS_OK) outcome->shrunk = is_shrunk(job->plan, request, &print);
    }
    fingerprint_close(&print);
    return status == STATUS_OK ? plan_write(job->plan, path, failure) : status;
}

/* Only a folder that was named can have served another dataset; one in the dataset's own may have moved with it. */
static status_code check_same_dataset(const job *job, const char *path, failure *failure) {
    if (!job->options->folder || plan_is_for(job->plan, job->set->name)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s is the plan of the dataset '%.100s', not of '%.100s'; name another folder (--out of hws plan, "
                "--cache of hws train), let hws plan --replan make it anew, or change \"dataset\" in it if it is to "
                "serve this one",
                path, job->plan->dataset, job->set->name);
}

static status_code check_plan(const job *job, const char *path, failure *failure) {
    const plan *plan = job->plan;
    if (plan->channels != job->set->channels || plan->classes != job->set->values)
        return fail(failure, STATUS_BAD_INPUT,
                    "%s is for %d channels and %d classes, the dataset has %d and %d; hws plan --replan makes it anew",
                    path, plan->channels, plan->classes, job->set->channels, job->set->values);
    return check_same_dataset(job, path, failure);
}

static uint64_t seed_of(const char *id) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, id, strlen(id));
    return crc64_value(&crc);
}

static status_code store_case(const job *job, const dataset_case *one, const prepared_case *prepared,
                              failure *failure) {
    char *path = case_path(job->folder, one->id);
    if (!path) return fail_memory(failure, one->id);
    const status_code status =
        case_file_write(path, prepared, job->set->values, prints_of(job, one), seed_of(one->id), failure);
    free(path);
    return status;
}

static status_code prepare_case(void *context, size_t item, failure *failure) {
    const job *job = context;
    if (stopped(job)) return fail_stopped(failure);
    const dataset_case *one = &job->set->train[job->todo[item]];
    channel_rule rules[PLAN_MAX_CHANNELS];
    const preprocessing how = plan_preprocessing(job->plan, rules, job->inner_threads);
    volume image = {0};
    label_map labels = {0};
    prepared_case prepared = {0};
    status_code status = dataset_load(job->set, one, &image, &labels, failure);
    if (status == STATUS_OK) {
        status = preprocess(&how, &image, &labels, &prepared, failure);
        if (status != STATUS_OK) {
            const struct failure reason = *failure;
            fail(failure, status, "%s: %.900s", one->id, reason.message);
        }
    }
    volume_close(&image);
    label_map_close(&labels);
    if (status == STATUS_OK) status = store_case(job, one, &prepared, failure);
    prepared_case_close(&prepared);
    return status;
}

/* Bytes that preprocessing the largest case takes, about: the image, cropped and resampled copies, masks. */
static double largest_case(const job *job) {
    double largest = 0;
    for (size_t k = 0; k < job->count; k++) {
        nifti_info info;
        const dataset_case *one = &job->set->train[job->todo[k]];
        if (nifti_inspect(one->images[0], &info, NULL) != STATUS_OK) continue;
        double before = 1, after = 1;
        for (int axis = 0; axis < 3; axis++) {
            before *= info.grid.size[axis];
            after *= fmax(1, info.grid.size[axis] * info.grid.spacing[axis] / job->plan->spacing[2 - axis]);
        }
        largest = fmax(largest, before * (4 * job->set->channels + 16) + after * (4 * job->set->channels + 14));
    }
    return largest;
}

/* Several cases at once, unless they are too large for that: then the threads share each case. */
static status_code prepare_cases(job *job, failure *failure) {
    const int threads = job->options->threads;
    const double fit = floor(0.8 * memory_available() / fmax(largest_case(job), 1));
    const int cases = fit < 1 ? 1 : fit < threads ? (int)fit : threads;
    job->inner_threads = cases == 1 ? threads : 1;
    return run_stage(job, CACHE_PREPROCESSING, prepare_case, job->count, cases, failure);
}

/* ---- together --------------------------------------------------------------------------------------------------- */

static status_code check_ids(const dataset *set, failure *failure) {
    for (size_t k = 0; k < set->train_count; k++)
        if (strchr(set->train[k].id, '/') || set->train[k].id[0] == '.')
            return fail(failure, STATUS_BAD_INPUT, "the case name '%s' cannot be the name of a file; rename it",
                        set->train[k].id);
    if (set->values > CASE_FILE_MAX_CLASSES || set->values < 2)
        return fail(failure, STATUS_BAD_INPUT, "%s has %d labels; 2 to %d are possible", set->folder, set->values,
                    CASE_FILE_MAX_CLASSES);
    return set->train_count ? STATUS_OK : fail(failure, STATUS_BAD_INPUT, "%s has no training cases", set->folder);
}

static status_code prepare_all(job *job, const char *plan_path, cache_outcome *outcome, failure *failure) {
    status_code status = STATUS_OK;
    const int keep = path_exists(plan_path) && !job->options->replan;
    if (keep) {
        status = plan_read(job->plan, plan_path, failure);
        if (status == STATUS_OK) status = check_plan(job, plan_path, failure);
        if (status == STATUS_OK) status = list_todo(job, failure);
        if (status != STATUS_OK || job->count == 0) return status;
    }
    status = check_dataset(job, failure);
    if (status == STATUS_OK && !keep) {
        status = make_plan(job, plan_path, outcome, failure);
        outcome->planned = status == STATUS_OK;
        if (status == STATUS_OK) status = list_todo(job, failure);
    }
    return status == STATUS_OK ? prepare_cases(job, failure) : status;
}

status_code cache_prepare(const dataset *set, const cache_options *options, plan *plan, cache_outcome *outcome,
                          failure *failure) {
    struct failure own;
    if (!failure) failure = &own;
    *outcome = (cache_outcome){.folder = cache_folder(set, options->folder)};
    char *plan_path = outcome->folder ? joined(outcome->folder, "/plans.json", "") : NULL;
    job job = {.set = set, .options = options, .folder = outcome->folder, .plan = plan};
    job.todo = calloc(set->train_count + 1, sizeof *job.todo);
    status_code status = plan_path && job.todo ? STATUS_OK : fail_memory(failure, "the cache");
    if (status == STATUS_OK) status = check_ids(set, failure);
    if (status == STATUS_OK) status = make_folders(outcome->folder, failure);
    if (status == STATUS_OK) status = prepare_all(&job, plan_path, outcome, failure);
    outcome->prepared = status == STATUS_OK ? job.count : 0;
    outcome->current = set->train_count - outcome->prepared;
    free(plan_path);
    free(job.todo);
    return status;
}
