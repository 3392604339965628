#define _POSIX_C_SOURCE 200809L
#include "phantom/phantom_folder.h"

#include "core/atomic_file.h"
#include "core/random.h"
#include "core/text.h"
#include "nifti/nifti.h"
#include "phantom/purposes.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ID_BYTES = 24, ASSIGN_SLOT = 100 };

phantom_options phantom_options_default(void) {
    return (phantom_options){
        .cases = 60, .spina_bifida = 3, .other = 3, .size = {40, 48, 40}, .spacing = 3, .threads = 1};
}

typedef struct phantom_case {
    char id[ID_BYTES];
    phantom_part part;
    uint32_t index;
    phantom_condition condition;
    phantom_facts facts;
} phantom_case;

typedef struct writer {
    const char *folder;
    const phantom_options *options;
    volume_grid grid;
    int total;
    phantom_case *cases; /* training, then test */
    failure *failure;
} writer;

/* ---- which case has what ----------------------------------------------------------------------------------------- */

static void assign_training(writer *w) {
    const phantom_options *o = w->options;
    for (int k = 0; k < o->cases; k++)
        w->cases[k].condition = k < o->spina_bifida              ? PHANTOM_SPINA_BIFIDA
                                : k < o->spina_bifida + o->other ? PHANTOM_OTHER
                                                                 : PHANTOM_CONTROL;
    random_stream stream;
    random_start(&stream, o->seed, RANDOM_PHANTOM, 0, ASSIGN_SLOT);
    for (int k = o->cases - 1; k > 0; k--) {
        const uint64_t other = random_below(&stream, (uint64_t)k + 1);
        const phantom_condition condition = w->cases[k].condition;
        w->cases[k].condition = w->cases[other].condition;
        w->cases[other].condition = condition;
    }
}

static void name_cases(writer *w) {
    for (int k = 0; k < w->total; k++) {
        phantom_case *one = &w->cases[k];
        const int test = k >= w->options->cases;
        one->part = test ? PHANTOM_TEST : PHANTOM_TRAIN;
        one->index = (uint32_t)(test ? k - w->options->cases : k);
        if (test) one->condition = (phantom_condition)(one->index % PHANTOM_CONDITIONS);
        const int count = test ? w->options->test : w->options->cases;
        const int digits = count > 99999 ? 6 : count > 9999 ? 5 : count > 999 ? 4 : 3;
        snprintf(one->id, sizeof one->id, "%s_%0*u", test ? "test" : "phantom", digits, (unsigned)one->index + 1);
    }
}

/* ---- folders and files ------------------------------------------------------------------------------------------- */

static status_code fail_folder(const char *path, failure *failure) {
    return fail(failure, STATUS_CANNOT_WRITE, "the folder %s cannot be made: %s", path, strerror(errno));
}

static status_code make_folder(const char *path, failure *failure) {
    return mkdir(path, 0777) == 0 || errno == EEXIST ? STATUS_OK : fail_folder(path, failure);
}

static status_code make_with_parents(const char *path, failure *failure) {
    char *copy = strdup(path);
    if (!copy) return fail_memory(failure, path);
    status_code status = STATUS_OK;
    for (char *slash = strchr(copy + 1, '/'); status == STATUS_OK && slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        status = make_folder(copy, failure);
        *slash = '/';
    }
    free(copy);
    return status == STATUS_OK ? make_folder(path, failure) : status;
}

static status_code require_empty(const char *path, failure *failure) {
    DIR *folder = opendir(path);
    if (!folder) return fail_folder(path, failure);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    if (count == 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%s is not empty; name a new folder, or empty this one first", path);
}

static status_code make_folders(writer *w) {
    static const char *const parts[] = {"imagesTr", "labelsTr", "imagesTs", "labelsTs"};
    status_code status = make_with_parents(w->folder, w->failure);
    if (status == STATUS_OK) status = require_empty(w->folder, w->failure);
    for (int k = 0; status == STATUS_OK && k < (w->options->test ? 4 : 2); k++) {
        text path = {0};
        text_format(&path, "%s/%s", w->folder, parts[k]);
        status = path.failed ? fail_memory(w->failure, w->folder) : make_folder(path.bytes, w->failure);
        text_close(&path);
    }
    return status;
}

static status_code write_text(writer *w, const char *name, text *content) {
    text path = {0};
    text_format(&path, "%s/%s", w->folder, name);
    status_code status = STATUS_OK;
    atomic_file file;
    if (path.failed || content->failed) status = fail_memory(w->failure, w->folder);
    else if (!atomic_file_open(&file, path.bytes))
        status = fail(w->failure, STATUS_CANNOT_WRITE, "%s cannot be written: %s", path.bytes, strerror(errno));
    else if (!atomic_file_write(&file, content->bytes, content->size)) {
        status = fail(w->failure, STATUS_CANNOT_WRITE, "%s cannot be written: %s", path.bytes, strerror(errno));
        atomic_file_abandon(&file);
    } else if (!atomic_file_commit(&file))
        status = fail(w->failure, STATUS_CANNOT_WRITE, "%s cannot be written: %s", path.bytes, strerror(errno));
    text_close(&path);
    text_close(content);
    return status;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Three ranges, so that each has enough cases to speak of. */
static const char *age_range(double weeks) { return weeks < 26 ? "21-25" : weeks < 31 ? "26-30" : "31-36"; }

static status_code write_groups(writer *w) {
    text groups = {0};
    text_add(&groups, "case,condition,gestational_age\n");
    for (int k = 0; k < w->total; k++)
        text_format(&groups, "%s,%s,%s\n", w->cases[k].id, phantom_condition_name(w->cases[k].condition),
                    age_range(w->cases[k].facts.weeks));
    return write_text(w, "groups.csv", &groups);
}

static status_code write_facts(writer *w) {
    text facts = {0};
    text_add(&facts, "case,condition,diagnosis,weeks\n");
    for (int k = 0; k < w->total; k++)
        text_format(&facts, "%s,%s,%s,%.1f\n", w->cases[k].id, phantom_condition_name(w->cases[k].condition),
                    w->cases[k].facts.diagnosis, w->cases[k].facts.weeks);
    return write_text(w, "phantoms.csv", &facts);
}

static status_code write_description(writer *w) {
    text json = {0};
    text_format(&json,
                "{\n"
                "    \"name\": \"hws phantoms\",\n"
                "    \"description\": \"Synthetic drawings of fetal heads, seed %llu; no patients' images\",\n"
                "    \"channel_names\": {\"0\": \"T2\"},\n"
                "    \"labels\": {\"background\": 0, \"white matter\": 1, \"intra-axial CSF\": 2, \"cerebellum\": 3},\n"
                "    \"numTraining\": %d,\n"
                "    \"file_ending\": \".nii.gz\"\n"
                "}\n",
                (unsigned long long)w->options->seed, w->options->cases);
    return write_text(w, "dataset.json", &json);
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

static status_code write_images(const writer *w, const phantom_case *one, const volume *image, const label_map *labels,
                                failure *failure) {
    const char *part = one->part == PHANTOM_TEST ? "Ts" : "Tr";
    text path = {0}, labels_path = {0};
    text_format(&path, "%s/images%s/%s_0000.nii.gz", w->folder, part, one->id);
    text_format(&labels_path, "%s/labels%s/%s.nii.gz", w->folder, part, one->id);
    status_code status = path.failed || labels_path.failed ? fail_memory(failure, w->folder) : STATUS_OK;
    if (status == STATUS_OK) status = nifti_write_volume(path.bytes, image, failure);
    if (status == STATUS_OK) status = nifti_write_labels(labels_path.bytes, labels, failure);
    text_close(&path);
    text_close(&labels_path);
    return status;
}

static status_code write_case(const writer *w, phantom_case *one, failure *failure) {
    volume image;
    label_map labels;
    status_code status = phantom_make(w->options->seed, one->part, one->index, one->condition, &w->grid, &image,
                                      &labels, &one->facts, failure);
    if (status == STATUS_OK) status = write_images(w, one, &image, &labels, failure);
    volume_close(&image);
    label_map_close(&labels);
    return status;
}

/* After a failure the remaining cases are left out; the first failure is the one that is told. */
static status_code write_cases(writer *w, phantom_listener *listener, void *context) {
    status_code result = STATUS_OK;
    size_t done = 0;
#pragma omp parallel for schedule(dynamic) num_threads(w->options->threads)
    for (int k = 0; k < w->total; k++) {
        int stop;
#pragma omp critical(hws_phantom)
        stop = result != STATUS_OK;
        if (stop) continue;
        failure failure;
        const status_code status = write_case(w, &w->cases[k], &failure);
#pragma omp critical(hws_phantom)
        {
            if (status != STATUS_OK && result == STATUS_OK) result = fail(w->failure, status, "%s", failure.message);
            done++;
            if (status == STATUS_OK && listener) listener(context, done, (size_t)w->total);
        }
    }
    return result;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static status_code check_options(const phantom_options *o, failure *failure) {
    if (o->cases < 1 || o->cases > PHANTOM_MAX_CASES || o->test < 0 || o->test > PHANTOM_MAX_CASES)
        return fail(failure, STATUS_BAD_INPUT, "%d cases and %d test cases cannot be made; up to %d are possible",
                    o->cases, o->test, PHANTOM_MAX_CASES);
    if (o->spina_bifida < 0 || o->other < 0 || o->spina_bifida > o->cases || o->other > o->cases - o->spina_bifida)
        return fail(failure, STATUS_BAD_INPUT, "%d cases with spina bifida and %d others are more than all %d cases",
                    o->spina_bifida, o->other, o->cases);
    if (!(o->spacing >= 0.1 && o->spacing <= 20))
        return fail(failure, STATUS_BAD_INPUT, "voxels of %g mm cannot be made; 0.1 to 20 are possible", o->spacing);
    for (int axis = 0; axis < 3; axis++)
        if (o->size[axis] < 8 || o->size[axis] > 512)
            return fail(failure, STATUS_BAD_INPUT, "%d voxels along an axis cannot be made; 8 to 512 are possible",
                        o->size[axis]);
    return STATUS_OK;
}

/* dataset.json comes last: a folder without it is not finished. */
static status_code write_all(writer *w, phantom_listener *listener, void *context) {
    assign_training(w);
    name_cases(w);
    status_code status = make_folders(w);
    if (status == STATUS_OK) status = write_cases(w, listener, context);
    if (status == STATUS_OK) status = write_groups(w);
    if (status == STATUS_OK) status = write_facts(w);
    if (status == STATUS_OK) status = write_description(w);
    return status;
}

status_code phantom_write_folder(const char *folder, const phantom_options *options, phantom_listener *listener,
                                 void *context, failure *failure) {
    status_code status = check_options(options, failure);
    if (status != STATUS_OK) return status;
    phantom_options usable = *options;
    if (usable.threads < 1) usable.threads = 1;
    writer writer = {.folder = folder, .options = &usable, .total = options->cases + options->test, .failure = failure};
    writer.grid = phantom_grid(usable.size, usable.spacing);
    writer.cases = calloc((size_t)writer.total, sizeof *writer.cases);
    if (!writer.cases) return fail_memory(failure, folder);
    status = write_all(&writer, listener, context);
    free(writer.cases);
    return status;
}
