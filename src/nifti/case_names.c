#define _POSIX_C_SOURCE 200809L
#include "nifti/case_names.h"

#include "core/array.h"
#include "core/path.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SUFFIX = 5 }; /* _0000 */

const char *case_ending(const char *file) {
    return path_ends_with(file, ".nii.gz") ? ".nii.gz" : path_ends_with(file, ".nii") ? ".nii" : NULL;
}

/* The channel that the four digits behind the last underscore give, or -1. */
static int channel_of(const char *file, size_t length) {
    if (length <= SUFFIX || file[length - SUFFIX] != '_') return -1;
    int channel = 0;
    for (size_t k = length - SUFFIX + 1; k < length; k++) {
        if (file[k] < '0' || file[k] > '9') return -1;
        channel = channel * 10 + (file[k] - '0');
    }
    return channel;
}

int case_name_read(const char *file, case_naming naming, case_name *name) {
    const char *ending = case_ending(file);
    if (!ending || file[0] == '.') return 0;
    const size_t length = strlen(file) - strlen(ending);
    int channel = naming == CASE_LABELS ? -1 : channel_of(file, length);
    if (naming == CASE_ONE_CHANNEL && channel > 0) channel = -1;
    *name = (case_name){channel < 0 ? length : length - SUFFIX, channel, ending};
    return 1;
}

static int by_case(const void *a, const void *b) {
    const case_listed *one = a, *other = b;
    const int order = strcmp(one->id, other->id);
    if (order) return order;
    if (one->name.channel != other->name.channel) return one->name.channel < other->name.channel ? -1 : 1;
    return strcmp(one->file, other->file);
}

static int add(case_listing *listing, size_t *capacity, const char *file, const case_name *name) {
    case_listed *files = array_grow(listing->files, listing->count, capacity, sizeof *files);
    if (!files) return 0;
    listing->files = files;
    case_listed *added = &listing->files[listing->count++];
    *added = (case_listed){strdup(file), strndup(file, name->id_length), *name};
    return added->file && added->id;
}

static status_code fail_folder(const char *folder, failure *failure) {
    if (errno == ENOMEM) return fail_memory(failure, folder);
    return fail(failure, STATUS_CANNOT_READ, "the folder %.500s cannot be read: %s", folder, strerror(errno));
}

status_code case_listing_open(case_listing *listing, const char *folder, case_naming naming, failure *failure) {
    *listing = (case_listing){0};
    DIR *directory = opendir(folder);
    if (!directory) return fail_folder(folder, failure);
    size_t capacity = 0;
    case_name name;
    status_code status = STATUS_OK;
    errno = 0; /* the end of a folder and a failure look alike */
    for (const struct dirent *entry; status == STATUS_OK && (entry = readdir(directory)); errno = 0)
        if (case_name_read(entry->d_name, naming, &name) && !add(listing, &capacity, entry->d_name, &name))
            status = fail_memory(failure, "a folder's files");
    if (status == STATUS_OK && errno) status = fail_folder(folder, failure);
    closedir(directory);
    if (status != STATUS_OK) case_listing_close(listing);
    if (listing->count) qsort(listing->files, listing->count, sizeof *listing->files, by_case);
    return status;
}

void case_listing_close(case_listing *listing) {
    for (size_t k = 0; k < listing->count; k++) {
        free(listing->files[k].file);
        free(listing->files[k].id);
    }
    free(listing->files);
    *listing = (case_listing){0};
}
