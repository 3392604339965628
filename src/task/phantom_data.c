#define _POSIX_C_SOURCE 200809L
#include "task/phantom_data.h"

#include "images/mnist.h"
#include "phantom/phantom_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int phantom_data_named(const char *data) { return strcmp(data, "phantom") == 0; }

static void show(void *context, size_t done, size_t total) {
    listener_progress(context, "making phantoms", done, total);
}

static status_code draw(const char *folder, int threads, const listener *listener, failure *failure) {
    phantom_options options = phantom_options_default();
    options.threads = threads;
    return phantom_write_folder(folder, &options, show, (void *)listener, failure);
}

/* The phantoms appear whole or not at all; `folder` without dataset.json is what a version that was killed left. */
static status_code draw_whole(const char *folder, const char *part, int threads, const listener *listener,
                              failure *failure) {
    folder_remove(part);
    const status_code status = draw(part, threads, listener, failure);
    if (status != STATUS_OK) {
        folder_remove(part);
        return status;
    }
    folder_remove(folder);
    if (rename(part, folder) == 0) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_WRITE, "%.500s cannot be made: %s", folder, strerror(errno));
}

/* Waits for another process that draws them just now. Where a file system has no locks, we go on without. */
static int lock_folder(const char *folder, failure *failure) {
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0 && (flock(descriptor, LOCK_EX) == 0 || errno != EINTR)) return descriptor;
    fail(failure, STATUS_CANNOT_WRITE, "%.500s: cannot be locked: %s", folder, strerror(errno));
    if (descriptor >= 0) close(descriptor);
    return -1;
}

/* In the cache folder beside MNIST's. */
status_code phantom_data_folder(char folder[PATH_SIZE], int threads, const listener *listener, failure *failure) {
    char caches[PATH_SIZE], part[PATH_SIZE], last[PATH_SIZE];
    status_code status = mnist_cache_folder(caches, sizeof caches, failure);
    if (status != STATUS_OK) return status;
    char *slash = strrchr(caches, '/');
    if (slash) *slash = 0;
    status = path_join(folder, caches, "phantom", failure);
    if (status == STATUS_OK) status = path_join(part, caches, "phantom.part", failure);
    if (status == STATUS_OK) status = path_join(last, folder, "dataset.json", failure);
    if (status != STATUS_OK) return status;
    if (access(last, F_OK) == 0) return STATUS_OK;
    status = folder_make(caches, failure);
    if (status != STATUS_OK) return status;
    const int lock = lock_folder(caches, failure);
    if (lock < 0) return STATUS_CANNOT_READ;
    if (access(last, F_OK) != 0) status = draw_whole(folder, part, threads, listener, failure);
    close(lock);
    return status;
}
