#define _POSIX_C_SOURCE 200809L
#include "core/atomic_file.h"

#include "core/memory.h"

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
    const size_t size = strlen(path) + 32;
    *file = (atomic_file){.descriptor = -1, .path = memory_open(size), .temporary = memory_open(size)};
    if (!file->path || !file->temporary) {
        atomic_file_abandon(file);
        errno = ENOMEM;
        return 0;
    }
    strcpy(file->path, path);
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(file->temporary, size, "%s.tmp%ld.%d", path, (long)getpid(), attempt);
        file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file->descriptor >= 0) return 1;
        if (errno != EEXIST) break;
    }
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

/* The rename itself must reach the disk too. A file system that cannot sync a folder is not an error. */
static void sync_folder_of(char *path) {
    char *slash = strrchr(path, '/');
    const char *folder = slash == path ? "/" : slash ? path : ".";
    if (slash) *slash = 0;
    const int descriptor = open(*folder ? folder : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    (void)fsync(descriptor);
    close(descriptor);
}

int atomic_file_commit(atomic_file *file) {
    int good = fsync(file->descriptor) == 0;
    int reason = errno;
    if (close(file->descriptor) != 0 && good) {
        good = 0;
        reason = errno;
    }
    file->descriptor = -1;
    if (good && rename(file->temporary, file->path) != 0) {
        good = 0;
        reason = errno;
    }
    if (good) {
        file->temporary[0] = 0;
        sync_folder_of(file->path);
    }
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
