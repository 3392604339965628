#include "core/replaceable.h"

#include "core/path.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

int file_beginning(const char *path, char beginning[BEGINNING_SIZE]) {
    struct stat info;
    beginning[0] = 0;
    if (stat(path, &info) != 0) return 0;
    if (!S_ISREG(info.st_mode)) return errno = EINVAL, 0; /* a pipe's bytes would be gone */
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    const size_t count = fread(beginning, 1, BEGINNING_SIZE - 1, file);
    beginning[count] = 0;
    const int failed = ferror(file);
    fclose(file);
    if (failed) errno = EIO;
    return !failed;
}

/* What should be a folder and is a file: that which the path names before its last part. */
static status_code fail_no_folder(const char *path, failure *failure) {
    return fail(failure, STATUS_BAD_INPUT, "%.*s is a file, not a folder: name a folder, or another file",
                (int)(path_name(path) - path > 1 ? path_name(path) - path - 1 : 0), path);
}

status_code replaceable_check(const char *path, own_beginning *is_ours, const void *context, const char *what,
                              failure *failure) {
    char beginning[BEGINNING_SIZE];
    struct stat info;
    if (stat(path, &info) != 0) {
        if (errno == ENOENT) return STATUS_OK;
        return errno == ENOTDIR ? fail_no_folder(path, failure) : fail_unreadable(failure, path, errno);
    }
    if (S_ISDIR(info.st_mode)) return fail(failure, STATUS_BAD_INPUT, "%.500s is a folder: name a file", path);
    if (!S_ISREG(info.st_mode) || info.st_size == 0) return STATUS_OK;
    if (!file_beginning(path, beginning)) return fail_unreadable(failure, path, errno);
    if (is_ours(beginning, context)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s is there already and holds no %s by hws: name another place, or move the file away", path,
                what);
}
