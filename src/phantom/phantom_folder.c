#define _POSIX_C_SOURCE 200809L
#include "phantom/phantom_folder.h"

#include "core/csv.h"
#include "core/parallel.h"
#include "core/path.h"
#include "core/random.h"
#include "core/whole_file.h"
#include "nifti/nifti.h"
#include "phantom/purposes.h"
#include "phantom/tumour.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ID_BYTES = 24, ASSIGN_SLOT = 100 };

phantom_options phantom_options_default(void) {
    return (phantom_options){
        .cases = 60, .spina_bifida = 3, .other = 3, .size = {40, 48, 40}, .spacing = 3, .threads = 1};
}

typedef struct phantom_case {
    char id[ID_BYTES];
    phantom_key key;
    phantom_facts facts;
    tumour_facts tumour;
} phantom_case;

typedef struct writer {
    const char *folder;
    const phantom_options *options;
    const listener *listener;
    volume_grid grid;
    int total;
    phantom_case *cases; /* training, then test */
    failure *failure;
} writer;

/* ---- which case has what ----------------------------------------------------------------------------------------- */

static void assign_training(writer *w) {
    const phantom_options *o = w->options;
    for (int k = 0; k < o->cases; k++)
        w->cases[k].key.condition = k < o->spina_bifida              ? PHANTOM_SPINA_BIFIDA
                                    : k < o->spina_bifida + o->other ? PHANTOM_OTHER
                                                                     : PHANTOM_CONTROL;
    random_stream stream;
    random_start(&stream, o->seed, RANDOM_PHANTOM, 0, ASSIGN_SLOT);
    for (int k = o->cases - 1; k > 0; k--) {
        const uint64_t other = random_below(&stream, (uint64_t)k + 1);
        const phantom_condition condition = w->cases[k].key.condition;
        w->cases[k].key.condition = w->cases[other].key.condition;
        w->cases[other].key.condition = condition;
    }
}

static void name_cases(writer *w) {
    for (int k = 0; k < w->total; k++) {
        phantom_case *one = &w->cases[k];
        const int test = k >= w->options->cases;
        one->key.seed = w->options->seed;
        one->key.split = test ? PHANTOM_TEST : PHANTOM_TRAIN;
        one->key.index = (uint32_t)(test ? k - w->options->cases : k);
        if (test) one->key.condition = (phantom_condition)(one->key.index % PHANTOM_CONDITIONS);
        const int count = test ? w->options->test : w->options->cases;
        const int digits = count > 99999 ? 6 : count > 9999 ? 5 : count > 999 ? 4 : 3;
        snprintf(one->id, sizeof one->id, "%s_%0*u", test ? "test" : "phantom", digits, (unsigned)one->key.index + 1);
    }
}

/* ---- folders and files ------------------------------------------------------------------------------------------- */

static status_code require_empty(const char *path, failure *failure) {
    DIR *folder = opendir(path);
    if (!folder) return fail_unreadable(failure, path, errno);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(folder);
    if (count == 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%s is not empty; name a new folder, or empty this one first", path);
}

/* Everything in the folder; what holds images comes first. */
static const char *const WRITTEN[] = {"imagesTr",   "labelsTr",     "imagesTs",    "labelsTs",
                                      "groups.csv", "phantoms.csv", "dataset.json"};

static status_code make_folders(writer *w) {
    status_code status = STATUS_OK;
    for (int k = 0; status == STATUS_OK && k < (w->options->test ? 4 : 2); k++) {
        char path[PATH_SIZE];
        status = path_join(path, w->folder, WRITTEN[k], w->failure);
        if (status == STATUS_OK) status = folder_make(path, w->failure);
    }
    return status;
}

static status_code write_text(writer *w, const char *name, text *content) {
    char path[PATH_SIZE];
    status_code status = path_join(path, w->folder, name, w->failure);
    if (status == STATUS_OK) status = whole_file_write_text(path, content, w->failure);
    text_close(content);
    return status;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Three ranges, so that each has enough cases to speak of. */
static const char *age_range(double weeks) { return weeks < 26 ? "21-25" : weeks < 31 ? "26-30" : "31-36"; }

static status_code write_tumour_groups(writer *w) {
    text groups = {0};
    text_add(&groups, "case,centre,grade\n");
    for (int k = 0; k < w->total; k++) {
        const tumour_facts *facts = &w->cases[k].tumour;
        csv_add_field(&groups, w->cases[k].id);
        text_format(&groups, ",centre %d,%s\n", facts->centre, facts->low_grade ? "low" : "high");
    }
    return write_text(w, "groups.csv", &groups);
}

static status_code write_groups(writer *w) {
    text groups = {0};
    text_add(&groups, "case,condition,gestational_age\n");
    for (int k = 0; k < w->total; k++) {
        csv_add_field(&groups, w->cases[k].id);
        text_format(&groups, ",%s,%s\n", phantom_condition_name(w->cases[k].key.condition),
                    age_range(w->cases[k].facts.weeks));
    }
    return write_text(w, "groups.csv", &groups);
}

static status_code write_facts(writer *w) {
    text facts = {0};
    text_add(&facts, "case,condition,diagnosis,weeks\n");
    for (int k = 0; k < w->total; k++) {
        csv_add_field(&facts, w->cases[k].id);
        text_format(&facts, ",%s,%s,%.1f\n", phantom_condition_name(w->cases[k].key.condition),
                    w->cases[k].facts.diagnosis, w->cases[k].facts.weeks);
    }
    return write_text(w, "phantoms.csv", &facts);
}

/* The labels overlap, and there is none of value 3: as in BraTS. */
static status_code write_tumour_description(writer *w) {
    text json = {0};
    text_format(&json,
                "{\n"
                "    \"name\": \"hws tumours\",\n"
                "    \"description\": \"Synthetic drawings of brain tumours, seed %llu; no patients' images\",\n"
                "    \"channel_names\": {\"0\": \"T1\", \"1\": \"T1c\", \"2\": \"T2\", \"3\": \"FLAIR\"},\n"
                "    \"labels\": {\"background\": 0, \"whole tumour\": [1, 2, 4], \"tumour core\": [1, 4], "
                "\"enhancing tumour\": [4]},\n"
                "    \"regions_class_order\": [2, 1, 4],\n"
                "    \"numTraining\": %d,\n"
                "    \"file_ending\": \".nii.gz\"\n"
                "}\n",
                (unsigned long long)w->options->seed, w->options->cases);
    return write_text(w, "dataset.json", &json);
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

static status_code write_channel(const char *path, const volume *image, int channel, failure *failure) {
    volume one;
    status_code status = volume_open(&one, &image->grid, 1, failure);
    if (status != STATUS_OK) return status;
    const size_t voxels = volume_grid_voxels(&image->grid);
    memcpy(one.voxels, image->voxels + (size_t)channel * voxels, voxels * sizeof *one.voxels);
    status = nifti_write_volume(path, &one, failure);
    volume_close(&one);
    return status;
}

static status_code write_images(const writer *w, const phantom_case *one, const volume *image, const label_map *labels,
                                failure *failure) {
    const char *split = one->key.split == PHANTOM_TEST ? "Ts" : "Tr";
    char path[PATH_SIZE];
    status_code status = STATUS_OK;
    for (int c = 0; c < image->channels && status == STATUS_OK; c++) {
        status = path_format(path, failure, "%s/images%s/%s_%04d.nii.gz", w->folder, split, one->id, c);
        if (status == STATUS_OK) status = write_channel(path, image, c, failure);
    }
    if (status == STATUS_OK) status = path_format(path, failure, "%s/labels%s/%s.nii.gz", w->folder, split, one->id);
    return status == STATUS_OK ? nifti_write_labels(path, labels, failure) : status;
}

static status_code write_case(void *context, size_t index, failure *failure) {
    const writer *w = context;
    phantom_case *one = &w->cases[index];
    volume image;
    label_map labels;
    status_code status = w->options->tumours ? tumour_make(&one->key, &w->grid, &image, &labels, &one->tumour, failure)
                                             : phantom_make(&one->key, &w->grid, &image, &labels, &one->facts, failure);
    if (status == STATUS_OK) status = write_images(w, one, &image, &labels, failure);
    volume_close(&image);
    label_map_close(&labels);
    return status;
}

static status_code write_cases(writer *w) {
    const parallel_work work = {.run = write_case, .context = w, .listener = w->listener, .what = "drawing phantoms"};
    return parallel_run(&work, (size_t)w->total, w->options->threads, w->failure);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static status_code check_options(const phantom_options *o, failure *failure) {
    if (o->cases < 1 || o->cases > PHANTOM_MAX_CASES || o->test < 0 || o->test > PHANTOM_MAX_CASES)
        return fail(failure, STATUS_BAD_INPUT, "%d cases and %d test cases cannot be made; up to %d are possible",
                    o->cases, o->test, PHANTOM_MAX_CASES);
    if (o->tumours && (o->spina_bifida || o->other))
        return fail(failure, STATUS_BAD_INPUT, "tumours have neither spina bifida nor other malformations");
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
static status_code write_files(writer *w) {
    status_code status = make_folders(w);
    if (status == STATUS_OK) status = write_cases(w);
    const int tumours = w->options->tumours;
    if (status == STATUS_OK) status = (tumours ? write_tumour_groups : write_groups)(w);
    if (status == STATUS_OK && !tumours) status = write_facts(w);
    if (status == STATUS_OK) status = (tumours ? write_tumour_description : write_description)(w);
    return status;
}

static void remove_files(const writer *w) {
    char path[PATH_SIZE];
    for (size_t k = 0; k < sizeof WRITTEN / sizeof *WRITTEN; k++)
        if (path_join(path, w->folder, WRITTEN[k], NULL) == STATUS_OK) folder_remove(path);
}

static status_code write_all(writer *w) {
    const int is_new = !path_exists(w->folder);
    status_code status = folder_make(w->folder, w->failure);
    if (status == STATUS_OK) status = require_empty(w->folder, w->failure);
    if (status != STATUS_OK) return status;
    assign_training(w);
    name_cases(w);
    status = write_files(w);
    if (status != STATUS_OK) remove_files(w);
    if (status != STATUS_OK && is_new) rmdir(w->folder);
    if (status == STATUS_STOPPED) fail(w->failure, status, "stopped; %.500s is as it was before", w->folder);
    return status;
}

status_code phantom_write_folder(const char *folder, const phantom_options *options, const listener *listener,
                                 failure *failure) {
    status_code status = check_options(options, failure);
    if (status != STATUS_OK) return status;
    writer writer = {.folder = folder,
                     .options = options,
                     .listener = listener,
                     .total = options->cases + options->test,
                     .failure = failure};
    writer.grid = phantom_grid(options->size, options->spacing);
    writer.cases = calloc((size_t)writer.total, sizeof *writer.cases);
    if (!writer.cases) return fail_memory(failure, folder);
    status = write_all(&writer);
    free(writer.cases);
    return status;
}
