#define _POSIX_C_SOURCE 200809L
#include "core/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static status_code map(mapped_file *file, int descriptor, const char *path, failure *failure) {
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return fail(failure, STATUS_CANNOT_READ, "%s: cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail(failure, STATUS_CORRUPT, "%s: is not a regular file", path);
    if (info.st_size == 0) return fail(failure, STATUS_CORRUPT, "%s: is empty", path);
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (bytes == MAP_FAILED)
        return fail(failure, STATUS_CANNOT_READ, "%s: cannot be mapped: %s", path, strerror(errno));
    *file = (mapped_file){bytes, (size_t)info.st_size};
    return STATUS_OK;
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
    if (file->bytes) munmap((void *)file->bytes, file->size);
    *file = (mapped_file){0};
}
