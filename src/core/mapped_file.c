#define _POSIX_C_SOURCE 200809L
#include "core/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which file is where ----------------------------------------------------------------------------------------- */

/* Never freed, but used again: a signal's handler may walk along them at any time. */
typedef struct mapped_name {
    struct mapped_name *next;
    atomic_int used;
    _Atomic uintptr_t first, end; /* 0 while it is not mapped */
    char path[512];
} mapped_name;

static _Atomic(mapped_name *) names;

static mapped_name *new_name(void) {
    mapped_name *name = calloc(1, sizeof *name);
    if (!name) return NULL;
    name->used = 1;
    name->next = names;
    while (!atomic_compare_exchange_weak(&names, &name->next, name)) continue;
    return name;
}

static mapped_name *free_name(void) {
    for (mapped_name *name = names; name; name = name->next)
        if (!name->used && atomic_exchange(&name->used, 1) == 0) return name;
    return new_name();
}

const char *mapped_file_at(const void *address) {
    const uintptr_t at = (uintptr_t)address;
    for (const mapped_name *name = names; name; name = name->next)
        if (name->first <= at && at < name->end) return name->path;
    return NULL;
}

/* ---- mapping ----------------------------------------------------------------------------------------------------- */

static void remember(mapped_file *file, const char *path) {
    snprintf(file->name->path, sizeof file->name->path, "%s", path);
    file->name->first = (uintptr_t)file->bytes;
    file->name->end = (uintptr_t)file->bytes + file->size;
}

static status_code map(mapped_file *file, int descriptor, const char *path, failure *failure) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return fail_unreadable(failure, path, errno);
    if (!S_ISREG(info.st_mode)) return fail(failure, STATUS_CORRUPT, "%s: is not a regular file", path);
    if (info.st_size == 0) return fail(failure, STATUS_CORRUPT, "%s: is empty", path);
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED) return fail_unreadable(failure, path, errno);
    *file = (mapped_file){bytes, (size_t)info.st_size, free_name()};
    if (!file->name) {
        mapped_file_close(file);
        return fail_memory(failure, path); /* cppcheck-suppress memleak ; the caller's file has the bytes */
    }
    remember(file, path);
    return STATUS_OK; /* cppcheck-suppress memleak ; the caller's file has the bytes */
}

status_code mapped_file_open(mapped_file *file, const char *path, failure *failure) {
    *file = (mapped_file){0};
    /* Without O_NONBLOCK a FIFO would wait for somebody to write into it. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return fail(failure, STATUS_CANNOT_READ, "%s: cannot be opened: %s", path, strerror(errno));
    const status_code status = map(file, descriptor, path, failure);
    close(descriptor);
    return status;
}

void mapped_file_close(mapped_file *file) {
    if (file->name) {
        file->name->first = file->name->end = 0;
        file->name->used = 0;
    }
    if (file->bytes) munmap((void *)file->bytes, file->size);
    *file = (mapped_file){0};
}
