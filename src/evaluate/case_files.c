#define _POSIX_C_SOURCE 200809L
#include "evaluate/case_files.h"

#include "evaluate/scores.h"
#include "nifti/nifti.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct found_file {
    char *name, *path;
} found_file;

typedef struct folder {
    size_t count;
    found_file *list;
} folder;

static int is_nifti(const char *file) {
    const size_t length = strlen(file);
    return file[0] != '.' && ((length > 4 && strcmp(file + length - 4, ".nii") == 0) ||
                              (length > 7 && strcmp(file + length - 7, ".nii.gz") == 0));
}

static void folder_close(folder *folder) {
    for (size_t k = 0; k < folder->count; k++) {
        free(folder->list[k].name);
        free(folder->list[k].path);
    }
    free(folder->list);
}

static int folder_add(folder *folder, const char *path, const char *file) {
    found_file *grown = realloc(folder->list, (folder->count + 1) * sizeof *grown);
    if (!grown) return 0;
    folder->list = grown;
    const size_t room = strlen(path) + strlen(file) + 2;
    found_file added = {malloc(room), malloc(room)};
    folder->list[folder->count++] = added;
    if (!added.name || !added.path) return 0;
    const int slash = path[0] && path[strlen(path) - 1] == '/';
    snprintf(added.path, room, "%s%s%s", path, slash ? "" : "/", file);
    case_name_of(file, added.name, room);
    return 1;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const found_file *)a)->name, ((const found_file *)b)->name);
}

static status_code folder_sort(folder *folder, const char *path, failure *failure) {
    if (folder->count == 0) return fail(failure, STATUS_BAD_INPUT, "%s has no .nii or .nii.gz files", path);
    qsort(folder->list, folder->count, sizeof *folder->list, compare_names);
    for (size_t k = 1; k < folder->count; k++)
        if (compare_names(&folder->list[k - 1], &folder->list[k]) == 0)
            return fail(failure, STATUS_BAD_INPUT, "%s has the case %s twice, as .nii and as .nii.gz", path,
                        folder->list[k].name);
    return STATUS_OK;
}

static status_code folder_read(folder *folder, const char *path, failure *failure) {
    *folder = (struct folder){0};
    DIR *directory = opendir(path);
    if (!directory)
        return fail(failure, STATUS_CANNOT_READ, "the folder %s could not be read: %s", path, strerror(errno));
    status_code status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(directory));)
        if (is_nifti(entry->d_name) && !folder_add(folder, path, entry->d_name))
            status = fail_memory(failure, "a folder's files");
    closedir(directory);
    return status == STATUS_OK ? folder_sort(folder, path, failure) : status;
}

enum { NAMED_AT_MOST = 8 };

typedef struct lonely {
    text names;
    size_t count;
} lonely;

static void add_lonely(lonely *lonely, const char *name) {
    if (lonely->count++ < NAMED_AT_MOST) text_format(&lonely->names, "%s%s", lonely->count > 1 ? ", " : "", name);
}

static void tell_lonely(const lonely *lonely, const char *lacking, text *out) {
    if (lonely->count == 0) return;
    text_format(out, "%s%s lacks ", out->size ? "; " : "", lacking);
    text_add(out, text_string(&lonely->names));
    if (lonely->count > NAMED_AT_MOST) text_format(out, " and %zu more", lonely->count - NAMED_AT_MOST);
}

/* Takes over the strings of both files. */
static void add_pair(case_files *files, found_file *prediction, found_file *reference) {
    files->list[files->count++] = (case_file){prediction->name, prediction->path, reference->path, NULL};
    prediction->name = prediction->path = reference->path = NULL;
}

/* Both lists are sorted: one walk pairs them. */
static status_code match(case_files *files, folder *predictions, folder *references, lonely only[2], failure *failure) {
    files->list = calloc(predictions->count, sizeof *files->list);
    if (!files->list) return fail_memory(failure, "the list of cases");
    size_t p = 0, r = 0;
    while (p < predictions->count || r < references->count) {
        const int order = p == predictions->count  ? 1
                          : r == references->count ? -1
                                                   : compare_names(&predictions->list[p], &references->list[r]);
        if (order < 0) add_lonely(&only[0], predictions->list[p++].name);
        else if (order > 0) add_lonely(&only[1], references->list[r++].name);
        else add_pair(files, &predictions->list[p++], &references->list[r++]);
    }
    return STATUS_OK;
}

static status_code judge(const case_files *files, const char *predictions, const char *references, int common,
                         const lonely only[2], text *left_out, failure *failure) {
    text told = {0};
    tell_lonely(&only[0], references, &told);
    tell_lonely(&only[1], predictions, &told);
    status_code status = STATUS_OK;
    if (told.size > 0 && !common)
        status = fail(failure, STATUS_BAD_INPUT,
                      "%.800s; give the cases that both have with --common, or complete them", text_string(&told));
    else if (files->count == 0)
        status = fail(failure, STATUS_BAD_INPUT, "%s and %s have no case in common", predictions, references);
    else text_add(left_out, text_string(&told));
    text_close(&told);
    return status;
}

status_code case_files_open(case_files *files, const char *predictions, const char *references, int common,
                            text *left_out, failure *failure) {
    *files = (case_files){0};
    folder found[2] = {{0}, {0}};
    lonely only[2] = {{{0}, 0}, {{0}, 0}};
    status_code status = folder_read(&found[0], predictions, failure);
    if (status == STATUS_OK) status = folder_read(&found[1], references, failure);
    if (status == STATUS_OK) status = match(files, &found[0], &found[1], only, failure);
    if (status == STATUS_OK) status = judge(files, predictions, references, common, only, left_out, failure);
    for (int k = 0; k < 2; k++) {
        folder_close(&found[k]);
        text_close(&only[k].names);
    }
    return status;
}

status_code case_files_add(case_files *files, const char *name, const char *prediction, const char *reference,
                           const char *image, failure *failure) {
    case_file *grown = realloc(files->list, (files->count + 1) * sizeof *grown);
    if (!grown) return fail_memory(failure, "the list of cases");
    files->list = grown;
    case_file *added = &files->list[files->count++];
    *added = (case_file){strdup(name), strdup(prediction), strdup(reference), image ? strdup(image) : NULL};
    const int whole = added->name && added->prediction && added->reference && (added->image || !image);
    return whole ? STATUS_OK : fail_memory(failure, "the list of cases");
}

void case_files_close(case_files *files) {
    for (size_t k = 0; k < files->count; k++) {
        free(files->list[k].name);
        free(files->list[k].prediction);
        free(files->list[k].reference);
        free(files->list[k].image);
    }
    free(files->list);
    *files = (case_files){0};
}

static status_code check_one(const case_file *file, failure *failure) {
    nifti_info prediction, reference;
    status_code status = nifti_inspect(file->prediction, &prediction, failure);
    if (status == STATUS_OK) status = nifti_inspect(file->reference, &reference, failure);
    if (status != STATUS_OK) return status;
    if (prediction.channels != 1 || reference.channels != 1)
        return fail(failure, STATUS_BAD_INPUT, "%s: a label map has one channel, not %d", file->name,
                    prediction.channels > 1 ? prediction.channels : reference.channels);
    return volume_grid_check_same(&prediction.grid, &reference.grid, file->name, failure);
}

status_code case_files_check(const case_files *files, failure *first) {
    status_code result = STATUS_OK;
    size_t more = 0;
    for (size_t k = 0; k < files->count; k++) {
        failure own;
        const status_code status = check_one(&files->list[k], result == STATUS_OK ? first : &own);
        if (result != STATUS_OK && status != STATUS_OK) more++;
        if (result == STATUS_OK) result = status;
    }
    const size_t length = first && result != STATUS_OK ? strlen(first->message) : 0;
    if (more > 0 && first)
        snprintf(first->message + length, sizeof first->message - length, " (and %zu more cases are wrong)", more);
    return result;
}
