#include "evaluate/evaluated.h"

#include "core/utf8.h"
#include "dataset/dataset.h"
#include "evaluate/summary.h"
#include "run/run_folder.h"

#include <stdio.h>
#include <string.h>

enum { LEVELS_ABOVE = 3 };

/* ---- where things lie ---- */

static void folder_of(const char *path, char folder[PATH_SIZE]) {
    const char *file = path_name(path);
    size_t length = (size_t)(file - path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length == 0) snprintf(folder, PATH_SIZE, ".");
    else snprintf(folder, PATH_SIZE, "%.*s", (int)length, path);
}

static int find_summary(const char *name, char path[PATH_SIZE]) {
    char inner[PATH_SIZE];
    if (!path_is_folder(name)) return path_exists(name) && path_format(path, NULL, "%s", name) == STATUS_OK;
    if (run_path(path, name, RUN_SUMMARY, NULL) == STATUS_OK && path_exists(path)) return 1;
    return run_path(inner, name, RUN_VALIDATION, NULL) == STATUS_OK &&
           run_path(path, inner, RUN_SUMMARY, NULL) == STATUS_OK && path_exists(path);
}

int evaluated_is_there(const char *name) {
    char path[PATH_SIZE];
    return find_summary(name, path);
}

static int has_description(const char *folder) {
    char path[PATH_SIZE];
    return path_join(path, folder, "dataset.json", NULL) == STATUS_OK && path_exists(path);
}

/* "/some/dataset" of "/some/dataset/labelsTr/case.nii.gz". Where labelsTr is a link,
   "labelsTr/.." is another folder. */
static int above_references(const evaluated *evaluated, char folder[PATH_SIZE]) {
    char labels[PATH_SIZE];
    if (evaluated->scores.cases == 0 || !*evaluated->scores.list[0].reference) return 0;
    folder_of(evaluated->scores.list[0].reference, labels);
    folder_of(labels, folder);
    return has_description(folder) ||
           (path_format(folder, NULL, "%s/..", labels) == STATUS_OK && has_description(folder));
}

static int above_summary(const evaluated *evaluated, char folder[PATH_SIZE]) {
    char next[PATH_SIZE];
    if (path_format(folder, NULL, "%s", evaluated->folder) != STATUS_OK) return 0;
    for (int level = 0; !has_description(folder); level++) {
        if (level == LEVELS_ABOVE || path_format(next, NULL, "%s/..", folder) != STATUS_OK) return 0;
        memcpy(folder, next, PATH_SIZE);
    }
    return 1;
}

static status_code find_dataset(evaluated *evaluated, const char *dataset, failure *failure) {
    if (dataset && !has_description(dataset))
        return fail(failure, STATUS_CANNOT_READ, "--dataset %.500s: it has no dataset.json", dataset);
    if (dataset) return path_format(evaluated->dataset, failure, "%s", dataset);
    if (!above_references(evaluated, evaluated->dataset) && !above_summary(evaluated, evaluated->dataset))
        *evaluated->dataset = 0;
    return STATUS_OK;
}

/* ---- names of labels ---- */

static void name_region(region_list *list, region *named, const dataset *set) {
    char key[REGION_NAME_BYTES];
    region_name_by_key(named, key);
    if (strcmp(named->name, key) != 0) return;
    for (int k = 0; k < set->label_count; k++) {
        const dataset_label *label = &set->labels[k];
        region same = {.count = label->count};
        if (label->count > REGION_MAX_LABELS || !region_name_is_good(label->name) ||
            regions_have_name(list, label->name))
            continue;
        memcpy(same.labels, label->values, (size_t)label->count * sizeof *same.labels);
        region_list one = {.count = 1, .regions = named};
        if (regions_find(&one, &same) == 0) snprintf(named->name, sizeof named->name, "%s", label->name);
    }
}

/* A dataset.json with something else in it costs no more than the names, unless it was asked for. */
static status_code name_regions(evaluated *evaluated, int asked, failure *failure) {
    dataset set;
    if (!*evaluated->dataset) return STATUS_OK;
    const status_code status = dataset_open_description(&set, evaluated->dataset, failure);
    if (status == STATUS_CORRUPT || status == STATUS_BAD_INPUT) return asked ? status : STATUS_OK;
    if (status != STATUS_OK) return status;
    region_list *regions = &evaluated->scores.regions;
    for (size_t k = 0; k < regions->count; k++) name_region(regions, &regions->regions[k], &set);
    dataset_close(&set);
    return STATUS_OK;
}

/* ---- opening ---- */

status_code evaluated_open(evaluated *evaluated, const char *name, const char *dataset, failure *failure) {
    memset(evaluated, 0, sizeof *evaluated);
    if (!path_exists(name)) return fail(failure, STATUS_CANNOT_READ, "there is no %.500s", name);
    if (!find_summary(name, evaluated->summary))
        return fail(failure, STATUS_BAD_INPUT, "%.500s has no %s: %s", name, run_file_name(RUN_SUMMARY),
                    run_exists(name) ? "evaluate the run first, with hws evaluate"
                                     : "it is neither an evaluation nor a run that was evaluated");
    folder_of(evaluated->summary, evaluated->folder);
    status_code status = summary_read(evaluated->summary, &evaluated->scores, failure);
    if (status == STATUS_OK) status = find_dataset(evaluated, dataset, failure);
    return status == STATUS_OK ? name_regions(evaluated, dataset != NULL, failure) : status;
}

void evaluated_close(evaluated *evaluated) { scores_close(&evaluated->scores); }

/* "runs/dro/summary.json" is called dro; a file of another name is called by that. */
void evaluated_call(const evaluated *evaluated, char *words, size_t capacity) {
    const char *file = path_name(evaluated->summary), *dot = strrchr(file, '.');
    const char *folder = path_name(evaluated->folder);
    char above[PATH_SIZE]; /* nnU-Net's fold_0/validation is called fold_0 */
    if (strcmp(folder, run_file_name(RUN_VALIDATION)) == 0) {
        folder_of(evaluated->folder, above);
        folder = path_name(above);
    }
    if (strcmp(file, run_file_name(RUN_SUMMARY)) == 0) return utf8_copy(words, capacity, folder);
    const size_t size = dot && dot > file ? (size_t)(dot - file) : strlen(file);
    utf8_mend(words, capacity, (size_t)snprintf(words, capacity, "%.*s", (int)size, file));
}

int evaluated_groups(const evaluated *evaluated, char path[PATH_SIZE]) {
    return *evaluated->dataset && run_path(path, evaluated->dataset, RUN_GROUPS, NULL) == STATUS_OK &&
           path_exists(path);
}

/* ---- the files of a case ---- */

static int find_case(const char *folder, const char *inside, const char *name, const char *const *endings,
                     char path[PATH_SIZE]) {
    for (; folder && *folder && *endings; endings++)
        if (path_format(path, NULL, "%s/%s%s%s%s", folder, inside, *inside ? "/" : "", name, *endings) == STATUS_OK &&
            path_exists(path))
            return 1;
    return 0;
}

static const char *const LABEL_ENDINGS[] = {".nii.gz", ".nii", NULL};
static const char *const IMAGE_ENDINGS[] = {"_0000.nii.gz", "_0000.nii", ".nii.gz", ".nii", NULL};

static int is_file(const char *where, char path[PATH_SIZE]) {
    return *where && path_exists(where) && path_format(path, NULL, "%s", where) == STATUS_OK;
}

/* "validation/case.nii.gz" of a path that led to it before the run was moved. */
static int find_moved(const char *folder, const char *file, char path[PATH_SIZE]) {
    char above[PATH_SIZE];
    folder_of(file, above);
    return path_format(path, NULL, "%s/%s/%s", folder, path_name(above), path_name(file)) == STATUS_OK &&
           path_exists(path);
}

int evaluated_prediction(const evaluated *evaluated, const scored_case *one, char path[PATH_SIZE]) {
    return is_file(one->prediction, path) || find_moved(evaluated->folder, one->prediction, path) ||
           find_case(evaluated->folder, "", one->name, LABEL_ENDINGS, path);
}

int evaluated_reference(const evaluated *evaluated, const scored_case *one, char path[PATH_SIZE]) {
    return is_file(one->reference, path) || find_case(evaluated->dataset, "labelsTr", one->name, LABEL_ENDINGS, path) ||
           find_case(evaluated->dataset, "labelsTs", one->name, LABEL_ENDINGS, path);
}

int evaluated_image(const evaluated *evaluated, const scored_case *one, const char *images, char path[PATH_SIZE]) {
    if (images) return find_case(images, "", one->name, IMAGE_ENDINGS, path);
    return find_case(evaluated->dataset, "imagesTr", one->name, IMAGE_ENDINGS, path) ||
           find_case(evaluated->dataset, "imagesTs", one->name, IMAGE_ENDINGS, path);
}
