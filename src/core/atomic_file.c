#define _POSIX_C_SOURCE 200809L
#include "core/atomic_file.h"

#include "core/memory.h"
#include "core/temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The rename would put a file in the place of a device, a pipe or a socket. A folder it refuses by itself. */
static int is_special(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

int atomic_file_open(atomic_file *file, const char *path) {
    if (is_special(path)) {
        *file = (atomic_file){.descriptor = -1};
        errno = EINVAL;
        return 0;
    }
    const size_t size = strlen(path) + TEMPORARY_NAME_SIZE;
    *file = (atomic_file){.descriptor = -1, .path = memory_open(size), .temporary = memory_open(size)};
    if (!file->path || !file->temporary) {
        if (file->temporary) file->temporary[0] = 0;
        atomic_file_abandon(file);
        errno = ENOMEM;
        return 0;
    }
    strcpy(file->path, path);
    file->descriptor = temporary_open(file->temporary, path);
    if (file->descriptor >= 0) return 1;
    const int reason = errno;
    file->temporary[0] = 0;
    atomic_file_abandon(file);
    errno = reason;
    return 0;
}

int atomic_file_write(atomic_file *file, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        const ssize_t written = write(file->descriptor, at, size < 1 << 30 ? size : 1 << 30);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return 0;
        at += written;
        size -= (size_t)written;
    }
    return 1;
}

/* The rename itself must reach the disk too. 0 on failure; a folder that cannot be looked at, or a file system that
   cannot sync folders, is none. */
static int sync_folder_of(char *path) {
    char *slash = strrchr(path, '/');
    const char *folder = slash == path ? "/" : slash ? path : ".";
    if (slash) *slash = 0;
    const int descriptor = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return errno == EACCES;
    const int good = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return good;
}

static int put_in_place(atomic_file *file) {
    if (rename(file->temporary, file->path) != 0) return 0;
    file->temporary[0] = 0;
    return sync_folder_of(file->path);
}

/* Closed last, as the lock keeps others from taking the file for one that was left; what was
   synced is not lost by close. */
int atomic_file_commit(atomic_file *file) {
    const int good = fsync(file->descriptor) == 0 && put_in_place(file);
    const int reason = errno;
    atomic_file_abandon(file);
    errno = reason;
    return good;
}

void atomic_file_abandon(atomic_file *file) {
    if (file->descriptor >= 0) close(file->descriptor);
    if (file->temporary && file->temporary[0]) unlink(file->temporary);
    memory_close(file->path);
    memory_close(file->temporary);
    *file = (atomic_file){.descriptor = -1};
}
