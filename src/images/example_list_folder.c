/* The examples of a folder with a folder per class: see example_list.h. */
#define _XOPEN_SOURCE 700
#include "core/array.h"
#include "core/path.h"
#include "images/example_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEPTH_MAX = 16 };

typedef struct found {
    char *name, *label;
    uint8_t part;
} found;

/* What is not used: how many there are, and the first of them. */
typedef struct left_out {
    size_t count;
    char first[256];
} left_out;

typedef struct search {
    const char *folder;
    const example_options *options;
    found *pictures;
    size_t count, capacity;
    left_out files;   /* no pictures */
    left_out runs;    /* folders that hold one */
    left_out empty;   /* folders of classes without a picture */
    left_out folders; /* beside those of training, validation and test */
    int divided;      /* whether there is a folder of what to train on */
    int given;        /* whether there is a folder of what to train on, and one of what to test on */
} search;

int example_list_is_picture(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcasecmp(dot, ".png") == 0 || strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static status_code add_picture(search *s, const char *name, const char *label, data_part part, failure *failure) {
    found *more = array_grow(s->pictures, s->count, &s->capacity, sizeof *more);
    if (!more) return fail_memory(failure, s->folder);
    s->pictures = more;
    found *f = &more[s->count];
    *f = (found){strdup(name), strdup(label), (uint8_t)part};
    s->count++;
    return f->name && f->label ? STATUS_OK : fail_memory(failure, s->folder);
}

static void leave_out(left_out *those, const char *name) {
    if (!those->count++) snprintf(those->first, sizeof those->first, "%.250s", name);
}

static int is_run(search *s, const char *name, const char *path) {
    if (!s->options->is_run || !s->options->is_run(path)) return 0;
    leave_out(&s->runs, name);
    return 1;
}

/* A place below the folder that is searched. */
typedef struct place {
    const char *name; /* relative to the folder; "" */
    const char *label;
    data_part part;
    int depth;
} place;

static status_code search_place(search *s, const place *at, failure *failure);

static status_code search_entry(search *s, const place *at, const char *entry, failure *failure) {
    char name[PATH_SIZE], path[PATH_SIZE];
    status_code status =
        *at->name ? path_join(name, at->name, entry, failure) : path_format(name, failure, "%s", entry);
    if (status == STATUS_OK) status = path_join(path, s->folder, name, failure);
    if (status != STATUS_OK) return status;
    if (path_is_folder(path)) return search_place(s, &(place){name, at->label, at->part, at->depth + 1}, failure);
    if (example_list_is_picture(entry)) return add_picture(s, name, at->label, at->part, failure);
    leave_out(&s->files, name);
    return STATUS_OK;
}

/* Sorted by name, so that the order is the same everywhere. */
static status_code list_entries(const char *path, struct dirent ***entries, int *count, failure *failure) {
    *count = scandir(path, entries, is_visible, alphasort);
    return *count >= 0 ? STATUS_OK : fail_unreadable(failure, path, errno);
}

static void free_entries(struct dirent **entries, int count) {
    for (int k = 0; k < count; k++) free(entries[k]);
    free(entries);
}

static status_code search_place(search *s, const place *at, failure *failure) {
    char path[PATH_SIZE];
    struct dirent **entries;
    int count;
    if (at->depth > DEPTH_MAX)
        return fail(failure, STATUS_BAD_INPUT, "%.500s/%.300s: folders are nested too deeply", s->folder, at->name);
    status_code status = path_join(path, s->folder, at->name, failure);
    if (status == STATUS_OK && *at->name && is_run(s, at->name, path)) return STATUS_OK;
    if (status == STATUS_OK) status = list_entries(path, &entries, &count, failure);
    if (status != STATUS_OK) return status;
    for (int k = 0; k < count && status == STATUS_OK; k++) status = search_entry(s, at, entries[k]->d_name, failure);
    free_entries(entries, count);
    return status;
}

/* ---- folders of classes and parts -------------------------------------------------------------------------------- */

static int part_named(const char *name, data_part *part) {
    static const char *const NAMES[DATA_PARTS][4] = {
        {"train", "training"}, {"val", "valid", "validation"}, {"test", "testing"}};
    for (int p = 0; p < DATA_PARTS; p++)
        for (int k = 0; k < 4 && NAMES[p][k]; k++)
            if (strcasecmp(name, NAMES[p][k]) == 0) {
                *part = (data_part)p;
                return 1;
            }
    return 0;
}

static status_code search_class(search *s, const char *name, const char *class_name, data_part part, failure *failure) {
    const size_t pictures = s->count, runs = s->runs.count;
    const status_code status = search_place(s, &(place){name, class_name, part, 1}, failure);
    if (s->count == pictures && s->runs.count == runs) leave_out(&s->empty, name);
    return status;
}

/* A folder of classes: every folder in it is one. */
static status_code search_classes(search *s, const char *below, data_part part, failure *failure) {
    char path[PATH_SIZE], name[PATH_SIZE];
    struct dirent **entries;
    int count;
    status_code status = path_join(path, s->folder, below, failure);
    if (status == STATUS_OK) status = list_entries(path, &entries, &count, failure);
    if (status != STATUS_OK) return status;
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        const char *class_name = entries[k]->d_name;
        status = *below ? path_join(name, below, class_name, failure) : path_format(name, failure, "%s", class_name);
        if (status == STATUS_OK) status = path_join(path, s->folder, name, failure);
        if (status != STATUS_OK) break;
        if (path_is_folder(path)) status = search_class(s, name, class_name, part, failure);
        else leave_out(&s->files, name);
    }
    free_entries(entries, count);
    return status;
}

/* Within a folder that has its parts. */
static status_code search_part(search *s, const char *name, failure *failure) {
    char path[PATH_SIZE];
    data_part part;
    if (part_named(name, &part)) return search_classes(s, name, part, failure);
    const status_code status = path_join(path, s->folder, name, failure);
    if (status == STATUS_OK) leave_out(path_is_folder(path) ? &s->folders : &s->files, name);
    return status;
}

static status_code search_all(search *s, failure *failure) {
    struct dirent **entries;
    int count, parts = 0;
    data_part part;
    if (s->options->unlabelled) return search_place(s, &(place){"", "", PART_TEST, 0}, failure);
    status_code status = list_entries(s->folder, &entries, &count, failure);
    if (status != STATUS_OK) return status;
    for (int k = 0; k < count; k++)
        if (part_named(entries[k]->d_name, &part)) parts |= 1 << part;
    const int divided = parts & 1 << PART_TRAIN; /* a class may be called test; but then there is no train */
    s->given = divided && parts != 1 << PART_TRAIN;
    for (int k = 0; k < count && status == STATUS_OK && divided; k++)
        status = search_part(s, entries[k]->d_name, failure);
    s->divided = divided != 0;
    free_entries(entries, count);
    return status == STATUS_OK && !divided ? search_classes(s, "", PART_TRAIN, failure) : status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code take(example_list *l, search *s, failure *failure) {
    const char **words = malloc((s->count + 1) * sizeof *words);
    l->folder = strdup(s->folder);
    l->names = calloc(s->count + 1, sizeof *l->names);
    l->parts = calloc(s->count + 1, 1);
    status_code status = words && l->folder && l->names && l->parts ? STATUS_OK : fail_memory(failure, s->folder);
    if (status == STATUS_OK) l->count = s->count;
    for (size_t i = 0; i < l->count; i++) {
        l->names[i] = s->pictures[i].name;
        l->parts[i] = s->pictures[i].part;
        words[i] = s->pictures[i].label;
        s->pictures[i].name = NULL;
    }
    if (status == STATUS_OK && !s->options->unlabelled)
        status = example_column_open(&l->labels, "label", words, l->count, failure);
    free(words);
    return status;
}

static void tell_one(const left_out *those, const char *kind, const char *why, const listener *listener) {
    char notice[512];
    if (!those->count) return;
    snprintf(notice, sizeof notice, "%zu %s%s left out, such as %s: %s", those->count, kind,
             those->count == 1 ? " is" : "s are", those->first, why);
    listener_notice(listener, notice);
}

static void tell_of_left_out(const search *s, const listener *listener) {
    tell_one(&s->files, "file",
             s->options->unlabelled ? "not a .png, .jpg or .jpeg file"
                                    : "not a .png, .jpg or .jpeg file in a class's folder",
             listener);
    tell_one(&s->folders, "folder", "beside train, only val and test are known", listener);
    tell_one(&s->empty, "folder", "without pictures it is no class", listener);
    tell_one(&s->runs, "folder", "what hws has written is no example", listener);
}

/* ---- parts that are taken for classes ---------------------------------------------------------------------------- */

/* The names of the folders within that of a class, from its first picture on; returns its end. Empty: it
   has pictures of its own. */
static size_t list_within(const search *s, size_t first, text *names) {
    const char *label = s->pictures[first].label, *before = "";
    size_t length = 0, k = first;
    int own = 0;
    for (; k < s->count && strcmp(s->pictures[k].label, label) == 0; k++) {
        const char *name = s->pictures[k].name + strlen(label) + 1, *end = strchr(name, '/');
        own = own || !end;
        if (!end || (length == (size_t)(end - name) && strncmp(before, name, length) == 0)) continue;
        before = name;
        length = (size_t)(end - name);
        text_format(names, "%s%.*s", names->size ? ", " : "", (int)length, name);
    }
    if (own) names->size = 0;
    return k;
}

static int all_alike(const search *s, text *names) {
    int alike = 1, classes = 1;
    size_t at = list_within(s, 0, names);
    for (; alike && at < s->count; classes++) {
        text others = {0};
        at = list_within(s, at, &others);
        alike = others.size && names->size && strcmp(text_string(names), text_string(&others)) == 0;
        text_close(&others);
    }
    return alike && classes > 1;
}

/* Such as train_set and test_set. Others may be classes with a folder for each year. */
static status_code check_alike(const search *s, const listener *listener, failure *failure) {
    text names = {0};
    status_code status = STATUS_OK;
    char words[512];
    int trains = 0;
    if (s->options->unlabelled || s->divided || !all_alike(s, &names)) return text_close(&names), STATUS_OK;
    for (size_t i = 0; i < s->count; i++) trains = trains || strncasecmp(s->pictures[i].label, "train", 5) == 0;
    snprintf(words, sizeof words,
             "all folders, such as %.100s and %.100s, hold the same folders (%.100s) and no pictures of their own",
             s->pictures[0].label, s->pictures[s->count - 1].label, text_string(&names));
    if (trains) status = fail(failure, STATUS_BAD_INPUT, "%.400s: %s: call them train, val and test", s->folder, words);
    strncat(words, "; they are taken for classes", sizeof words - strlen(words) - 1);
    if (!trains) listener_notice(listener, words);
    text_close(&names);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Its folders of pictures would be classes. */
static status_code refuse_run(const search *s, failure *failure) {
    const example_options *o = s->options;
    if (o->unlabelled || !o->is_run || !o->is_run(s->folder)) return STATUS_OK;
    return fail(
        failure, STATUS_BAD_INPUT,
        "%.500s: holds a run: its own files and folders cannot be told from folders of classes; move one of the "
        "two elsewhere",
        s->folder);
}

status_code example_list_of_folder(example_list *l, const char *folder, const example_options *options,
                                   const listener *listener, failure *failure) {
    search s = {.folder = folder, .options = options};
    *l = (example_list){0};
    status_code status = refuse_run(&s, failure);
    if (status == STATUS_OK) status = search_all(&s, failure);
    if (status == STATUS_OK && !s.count)
        status = fail(failure, STATUS_BAD_INPUT, "%.500s: holds no .png, .jpg or .jpeg files%s", folder,
                      options->unlabelled ? ""
                                          : " in folders of classes (DIR/CLASS/..., or DIR/train/CLASS/...), nor is it "
                                            "a dataset of volumes (dataset.json, imagesTr, labelsTr) or CIFAR-10's "
                                            "(data_batch_1.bin)");
    if (status == STATUS_OK) status = check_alike(&s, listener, failure);
    if (status == STATUS_OK) tell_of_left_out(&s, listener);
    if (status == STATUS_OK) status = take(l, &s, failure);
    if (status == STATUS_OK) status = example_list_complete(l, folder, s.given, options, listener, failure);
    if (status != STATUS_OK) example_list_close(l);
    for (size_t k = 0; k < s.count; k++) {
        free(s.pictures[k].name);
        free(s.pictures[k].label);
    }
    free(s.pictures);
    return status;
}
