#define _POSIX_C_SOURCE 200809L
#include "dataset/dataset_inside.h"

#include "core/array.h"
#include "core/json_writer.h"
#include "core/path.h"
#include "nifti/case_names.h"

#include <stdlib.h>
#include <string.h>

typedef struct lister {
    dataset *set;
    const char *path; /* of dataset.json */
    failure *failure;
} lister;

static status_code no_memory(const lister *l) { return fail_memory(l->failure, l->set->folder); }

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The path, or the failure to make it, as memory of its own. */
static status_code keep_path(const lister *l, status_code status, const char *path, char **kept) {
    *kept = status == STATUS_OK ? strdup(path) : NULL;
    return status == STATUS_OK && !*kept ? no_memory(l) : status;
}

/* FOLDER/NAME with an ending, in the dataset's folder. */
static status_code path_in(const lister *l, const char *folder, const char *name, const char *ending, char **kept) {
    char path[PATH_SIZE];
    const status_code status = path_format(path, l->failure, "%s/%s/%s%s", l->set->folder, folder, name, ending);
    return keep_path(l, status, path, kept);
}

static status_code channel_path(const lister *l, const char *stem, int channel, const char *ending, char **kept) {
    char path[PATH_SIZE];
    const status_code status = path_format(path, l->failure, "%s_%04d%s", stem, channel, ending);
    return keep_path(l, status, path, kept);
}

/* Ids become names of files and cells of tables. */
static int is_fine_id(const char *id) {
    if (!*id || *id == '.') return 0;
    for (; *id; id++)
        if (*id == '/' || (unsigned char)*id < ' ' || *id == 127) return 0;
    return 1;
}

static status_code check_id(const lister *l, const char *id) {
    if (!json_is_text(id))
        return fail(l->failure, STATUS_CORRUPT,
                    "%s: the name of the case '%.200s' is not UTF-8, as folds and plans must be; rename its files",
                    l->path, id);
    if (is_fine_id(id)) return STATUS_OK;
    return fail(l->failure, STATUS_CORRUPT, "%s: '%.200s' cannot be the name of a case; rename it", l->path, id);
}

/* ---- a list of ids ----------------------------------------------------------------------------------------------- */

typedef struct id_list {
    char **ids;
    size_t count, capacity;
} id_list;

static void id_list_close(id_list *list) {
    for (size_t k = 0; k < list->count; k++) free(list->ids[k]);
    free(list->ids);
}

static int id_list_add(id_list *list, const char *id) {
    char **ids = array_grow(list->ids, list->count, &list->capacity, sizeof *ids);
    if (!ids) return 0;
    list->ids = ids;
    char *copy = strdup(id);
    if (!copy) return 0;
    list->ids[list->count++] = copy;
    return 1;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void id_list_unite(id_list *list) {
    if (list->count == 0) return;
    qsort(list->ids, list->count, sizeof *list->ids, by_text);
    size_t kept = 1;
    for (size_t k = 1; k < list->count; k++)
        if (strcmp(list->ids[k], list->ids[kept - 1]) == 0) free(list->ids[k]);
        else list->ids[kept++] = list->ids[k];
    list->count = kept;
}

/* ---- files by their names ---------------------------------------------------------------------------------------- */

static status_code check_image(const lister *l, const char *folder, const case_listed *file) {
    if (file->name.channel < 0)
        return fail(l->failure, STATUS_CORRUPT,
                    "%s/%s/%.200s: images are called CASE_0000%s, with the channel's number", l->set->folder, folder,
                    file->file, l->set->file_ending);
    if (file->name.channel >= l->set->channels)
        return fail(l->failure, STATUS_CORRUPT, "%s/%s/%.200s is channel %d, but dataset.json names %d: 0 to %d",
                    l->set->folder, folder, file->file, file->name.channel, l->set->channels, l->set->channels - 1);
    return STATUS_OK;
}

static status_code note_file(lister *l, const char *folder, const case_listed *file, int images, id_list *ids) {
    if (strcmp(file->name.ending, l->set->file_ending) != 0)
        return fail(l->failure, STATUS_CORRUPT, "%s/%s/%.200s ends in %s, but dataset.json says %s", l->set->folder,
                    folder, file->file, file->name.ending, l->set->file_ending);
    const status_code status = images ? check_image(l, folder, file) : STATUS_OK;
    if (status != STATUS_OK) return status;
    return id_list_add(ids, file->id) ? STATUS_OK : no_memory(l);
}

static status_code scan(lister *l, const char *folder, int images, id_list *ids) {
    char path[PATH_SIZE];
    case_listing listing = {0};
    status_code status = path_join(path, l->set->folder, folder, l->failure);
    if (status == STATUS_OK)
        status = case_listing_open(&listing, path, images ? CASE_CHANNELS : CASE_LABELS, l->failure);
    for (size_t k = 0; k < listing.count && status == STATUS_OK; k++)
        status = note_file(l, folder, &listing.files[k], images, ids);
    case_listing_close(&listing);
    return status;
}

static status_code make_images(lister *l, dataset_case *one, const char *stem, const char *ending) {
    one->images = calloc((size_t)l->set->channels, sizeof *one->images);
    if (!one->images) return no_memory(l);
    one->files = l->set->channels;
    status_code status = STATUS_OK;
    for (int channel = 0; status == STATUS_OK && channel < one->files; channel++)
        status = channel_path(l, stem, channel, ending, &one->images[channel]);
    return status;
}

/* The folders of the training or of the test cases. */
typedef struct split_folders {
    const char *images, *labels;
    int labels_needed; /* test cases may lack labels; training cases get a path, and the check tells what is missing */
} split_folders;

static status_code make_case(lister *l, dataset_case *one, const char *id, const split_folders *folders) {
    char *stem = NULL;
    one->id = strdup(id);
    status_code status = one->id ? path_in(l, folders->images, id, "", &stem) : no_memory(l);
    if (status == STATUS_OK) status = make_images(l, one, stem, l->set->file_ending);
    free(stem);
    if (status == STATUS_OK) status = path_in(l, folders->labels, id, l->set->file_ending, &one->labels);
    if (status != STATUS_OK) return status;
    if (!folders->labels_needed && !path_exists(one->labels)) {
        free(one->labels);
        one->labels = NULL;
    }
    return check_id(l, id);
}

static status_code make_cases(lister *l, const id_list *ids, const split_folders *folders, dataset_case **cases,
                              size_t *count) {
    *cases = calloc(ids->count + 1, sizeof **cases);
    if (!*cases) return no_memory(l);
    status_code status = STATUS_OK;
    for (; status == STATUS_OK && *count < ids->count; ++*count)
        status = make_case(l, &(*cases)[*count], ids->ids[*count], folders);
    return status;
}

static status_code list_training(lister *l) {
    const split_folders folders = {.images = "imagesTr", .labels = "labelsTr", .labels_needed = 1};
    id_list ids = {0};
    status_code status = scan(l, folders.images, 1, &ids);
    if (status == STATUS_OK) status = scan(l, folders.labels, 0, &ids);
    id_list_unite(&ids);
    if (status == STATUS_OK) status = make_cases(l, &ids, &folders, &l->set->train, &l->set->train_count);
    id_list_close(&ids);
    return status;
}

static status_code list_test(lister *l) {
    const split_folders folders = {.images = "imagesTs", .labels = "labelsTs"};
    char path[PATH_SIZE];
    status_code status = path_join(path, l->set->folder, folders.images, l->failure);
    if (status != STATUS_OK || !path_is_folder(path)) return status;
    id_list ids = {0};
    status = scan(l, folders.images, 1, &ids);
    id_list_unite(&ids);
    if (status == STATUS_OK) status = make_cases(l, &ids, &folders, &l->set->test, &l->set->test_count);
    id_list_close(&ids);
    return status;
}

/* ---- files that dataset.json lists ------------------------------------------------------------------------------- */

/* Paths are taken from the dataset's folder. */
static status_code listed_path(const lister *l, const char *listed, char **kept) {
    char path[PATH_SIZE];
    if (*listed == '/') return keep_path(l, STATUS_OK, listed, kept);
    while (strncmp(listed, "./", 2) == 0) listed += 2;
    return keep_path(l, path_join(path, l->set->folder, listed, l->failure), path, kept);
}

/* One file with all channels, or, where only those exist, one for each channel beside that name. */
static status_code find_image(lister *l, dataset_case *one, const char *listed) {
    char *path, *first = NULL;
    status_code status = listed_path(l, listed, &path);
    if (status != STATUS_OK) return status;
    const char *ending = case_ending(path);
    char *stem = strndup(path, strlen(path) - strlen(ending));
    status = stem ? channel_path(l, stem, 0, ending, &first) : no_memory(l);
    if (status == STATUS_OK && !path_exists(path) && path_exists(first)) {
        status = make_images(l, one, stem, ending);
    } else if (status == STATUS_OK) {
        one->images = calloc(1, sizeof *one->images);
        if (!one->images) status = no_memory(l);
        else one->images[one->files++] = path, path = NULL;
    }
    free(path);
    free(stem);
    free(first);
    return status;
}

static status_code listed_id(lister *l, dataset_case *one, const char *listed) {
    const char *name = path_name(listed), *ending = case_ending(listed);
    if (!ending || strlen(name) <= strlen(ending))
        return fail(l->failure, STATUS_CORRUPT, "%s: '%.200s' is not the name of a NIfTI file", l->path, listed);
    one->id = strndup(name, strlen(name) - strlen(ending));
    return one->id ? check_id(l, one->id) : no_memory(l);
}

static status_code listed_training_case(lister *l, const json_t *entry, dataset_case *one) {
    const char *image = json_string_value(json_object_get(entry, "image"));
    const char *label = json_string_value(json_object_get(entry, "label"));
    if (!image || !label)
        return fail(l->failure, STATUS_CORRUPT,
                    "%s: every entry of \"training\" must be {\"image\": file, \"label\": file}", l->path);
    status_code status = listed_id(l, one, image);
    if (status == STATUS_OK) status = find_image(l, one, image);
    if (status != STATUS_OK) return status;
    return listed_path(l, label, &one->labels);
}

/* The Decathlon lists names; nnU-Net v1 wrote them as {"image": name} or ["name"] now and then. */
static status_code listed_test_case(lister *l, const json_t *entry, dataset_case *one) {
    const json_t *image = json_is_object(entry) ? json_object_get(entry, "image") : entry;
    if (json_is_array(image)) image = json_array_get(image, 0);
    if (!json_is_string(image))
        return fail(l->failure, STATUS_CORRUPT, "%s: every entry of \"test\" must be the name of a file", l->path);
    const status_code status = listed_id(l, one, json_string_value(image));
    return status == STATUS_OK ? find_image(l, one, json_string_value(image)) : status;
}

typedef status_code listed_case(lister *l, const json_t *entry, dataset_case *one);

static status_code list_entries(lister *l, const json_t *entries, listed_case *read, dataset_case **cases,
                                size_t *count) {
    const size_t size = json_array_size(entries);
    *cases = calloc(size + 1, sizeof **cases);
    if (!*cases) return no_memory(l);
    status_code status = STATUS_OK;
    for (; status == STATUS_OK && *count < size; ++*count)
        status = read(l, json_array_get(entries, *count), &(*cases)[*count]);
    return status;
}

static status_code list_decathlon(lister *l, const json_t *root) {
    dataset *set = l->set;
    const json_t *training = json_object_get(root, "training"), *test = json_object_get(root, "test");
    if (!json_is_array(training))
        return fail(l->failure, STATUS_CORRUPT, "%s: \"training\" must be a list of {\"image\": file, \"label\": file}",
                    l->path);
    status_code status = list_entries(l, training, listed_training_case, &set->train, &set->train_count);
    if (status == STATUS_OK && json_is_array(test))
        status = list_entries(l, test, listed_test_case, &set->test, &set->test_count);
    if (status == STATUS_OK && set->train_count > 0) set->file_ending = case_ending(set->train[0].images[0]);
    return status;
}

/* nnU-Net v2's "dataset": {CASE: {"images": [one per channel], "label": file}}. */
static status_code listed_channels(lister *l, const char *id, const json_t *entry, dataset_case *one) {
    const json_t *images = json_object_get(entry, "images"), *label = json_object_get(entry, "label");
    one->id = strdup(id);
    one->images = calloc((size_t)l->set->channels, sizeof *one->images);
    if (!one->id || !one->images) return no_memory(l);
    int good = json_array_size(images) == (size_t)l->set->channels && json_is_string(label);
    for (int k = 0; good && k < l->set->channels; k++) good = json_is_string(json_array_get(images, (size_t)k));
    if (!good)
        return fail(l->failure, STATUS_CORRUPT,
                    "%s: the case '%.200s' of \"dataset\" must be {\"images\": [file of each of the %d channels], "
                    "\"label\": file}",
                    l->path, id, l->set->channels);
    status_code status = STATUS_OK;
    for (; status == STATUS_OK && one->files < l->set->channels; one->files++)
        status =
            listed_path(l, json_string_value(json_array_get(images, (size_t)one->files)), &one->images[one->files]);
    if (status == STATUS_OK) status = listed_path(l, json_string_value(label), &one->labels);
    return status == STATUS_OK ? check_id(l, id) : status;
}

static status_code list_named(lister *l, const json_t *cases) {
    dataset *set = l->set;
    set->train = calloc(json_object_size(cases) + 1, sizeof *set->train);
    if (!set->train) return no_memory(l);
    const char *id;
    json_t *entry;
    json_object_foreach((json_t *)cases, id, entry) {
        const status_code status = listed_channels(l, id, entry, &set->train[set->train_count++]);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static int by_id(const void *a, const void *b) {
    return strcmp(((const dataset_case *)a)->id, ((const dataset_case *)b)->id);
}

static status_code sort_cases(lister *l, dataset_case *cases, size_t count) {
    if (count > 0) qsort(cases, count, sizeof *cases, by_id);
    for (size_t k = 1; k < count; k++)
        if (strcmp(cases[k].id, cases[k - 1].id) == 0)
            return fail(l->failure, STATUS_CORRUPT, "%s: the case '%.200s' comes twice", l->path, cases[k].id);
    return STATUS_OK;
}

static status_code name_cases(lister *l) {
    dataset *set = l->set;
    if (set->train_count == 0) return fail(l->failure, STATUS_CORRUPT, "%s has no training cases", set->folder);
    set->ids = malloc(set->train_count * sizeof *set->ids);
    if (!set->ids) return no_memory(l);
    for (size_t k = 0; k < set->train_count; k++) set->ids[k] = set->train[k].id;
    return STATUS_OK;
}

status_code dataset_list(dataset *set, const json_t *root, const char *path, failure *failure) {
    lister lister = {set, path, failure};
    const json_t *named = json_object_get(root, "dataset");
    status_code status;
    if (set->layout == DATASET_DECATHLON) status = list_decathlon(&lister, root);
    else {
        status = json_is_object(named) ? list_named(&lister, named) : list_training(&lister);
        if (status == STATUS_OK) status = list_test(&lister);
    }
    if (status == STATUS_OK) status = sort_cases(&lister, set->train, set->train_count);
    if (status == STATUS_OK) status = sort_cases(&lister, set->test, set->test_count);
    return status == STATUS_OK ? name_cases(&lister) : status;
}
