#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include "core/path.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

status_code path_format(char path[PATH_SIZE], failure *failure, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(path, PATH_SIZE, format, arguments);
    va_end(arguments);
    if (length >= 0 && length < PATH_SIZE) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "the path %.100s... is too long", path);
}

status_code path_join(char path[PATH_SIZE], const char *folder, const char *name, failure *failure) {
    const size_t length = strlen(folder);
    return path_format(path, failure, length > 0 && folder[length - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

const char *path_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int path_ends_with(const char *path, const char *ending) {
    const size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

int path_exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

int path_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

int path_is_newer(const char *path, const char *than) {
    struct stat one, other;
    if (stat(path, &one) != 0 || stat(than, &other) != 0) return 0;
    const struct timespec a = one.st_mtim, b = other.st_mtim;
    return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

int path_same(const char *a, const char *b) {
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static int make_one(const char *path) {
    if (mkdir(path, 0777) == 0) return 1;
    if (errno != EEXIST) return 0;
    if (path_is_folder(path)) return 1;
    errno = ENOTDIR;
    return 0;
}

status_code folder_make(const char *folder, failure *failure) {
    char path[PATH_SIZE];
    if (!*folder) return fail(failure, STATUS_BAD_INPUT, "a folder needs a name");
    const status_code status = path_format(path, failure, "%s", folder);
    if (status != STATUS_OK) return status;
    int good = 1;
    for (char *slash = strchr(path + 1, '/'); slash && good; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        good = make_one(path);
        *slash = '/';
    }
    if (good && make_one(path)) return STATUS_OK;
    const int reason = errno;
    const int is_file = path_exists(folder) && !path_is_folder(folder);
    fail(failure, STATUS_CANNOT_WRITE, "the folder %.500s cannot be made: %s; choose another", folder,
         is_file ? "a file has this name" : strerror(reason));
    errno = reason;
    return STATUS_CANNOT_WRITE;
}

size_t folder_existing(const char *folder) {
    char path[PATH_SIZE];
    if (path_format(path, NULL, "%s", folder) != STATUS_OK) return strlen(folder);
    for (size_t size = strlen(path); size; path[--size] = 0)
        if ((path[size - 1] != '/' || size == 1) && (!folder[size] || folder[size] == '/') && path_exists(path))
            return size;
    return 0;
}

void folder_unmake(const char *folder, size_t existing) {
    char path[PATH_SIZE];
    if (path_format(path, NULL, "%s", folder) != STATUS_OK) return;
    for (size_t size = strlen(path); size > existing; path[--size] = 0)
        if (path[size - 1] != '/' && (!folder[size] || folder[size] == '/') && rmdir(path) != 0 && errno != ENOENT)
            return;
}

status_code folder_make_temporary(char path[PATH_SIZE], failure *failure) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    const status_code status = path_join(path, base, "hws-XXXXXX", failure);
    if (status != STATUS_OK || mkdtemp(path)) return status;
    return fail(failure, STATUS_CANNOT_WRITE,
                "no temporary folder can be made in %.500s: %s; set TMPDIR to another folder", base, strerror(errno));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

void folder_remove(const char *path) { (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
