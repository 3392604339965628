#define _POSIX_C_SOURCE 200809L
#include "task/phantom_data.h"

#include "images/mnist.h"
#include "phantom/phantom_folder.h"
#include "ranks/ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

int phantom_data_named(const char *data) { return strcmp(data, "phantom") == 0; }

typedef struct places {
    char caches[PATH_SIZE];  /* the user's cache folder, where MNIST's lies, too */
    char partial[PATH_SIZE]; /* where they are made */
    char last[PATH_SIZE];    /* the file that is written last */
} places;

static status_code find_places(places *p, char folder[PATH_SIZE], failure *failure) {
    status_code status = mnist_cache_folder(p->caches, sizeof p->caches, failure);
    if (status != STATUS_OK) return status;
    char *slash = strrchr(p->caches, '/');
    if (slash) *slash = 0;
    status = path_join(folder, p->caches, "phantom", failure);
    if (status == STATUS_OK) status = path_join(p->partial, p->caches, "phantom.part", failure);
    if (status == STATUS_OK) status = path_join(p->last, folder, "dataset.json", failure);
    return status;
}

/* The phantoms appear whole or not at all; `folder` without dataset.json is what a version that was killed left. */
static status_code draw_whole(const places *p, const char *folder, int threads, const listener *listener,
                              failure *failure) {
    phantom_options options = phantom_options_default();
    options.threads = threads;
    folder_remove(p->partial);
    const status_code status = phantom_write_folder(p->partial, &options, listener, failure);
    if (status == STATUS_STOPPED) fail(failure, status, "stopped before the phantoms were drawn");
    if (status != STATUS_OK) return status;
    folder_remove(folder);
    if (rename(p->partial, folder) == 0) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_WRITE, "%.500s cannot be made: %s", folder, strerror(errno));
}

/* Waits for another process that draws them just now. Where a file system has no locks, we go on without. */
static status_code lock_folder(const char *folder, int *lock, const listener *listener, failure *failure) {
    const struct timespec pause = {.tv_nsec = 50000000};
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) return fail(failure, STATUS_CANNOT_WRITE, "%.500s: cannot be locked: %s", folder, strerror(errno));
    while (flock(*lock, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
        if (listener_stops(listener)) {
            close(*lock);
            return fail(failure, STATUS_STOPPED, "stopped while another process was drawing the phantoms");
        }
        nanosleep(&pause, NULL);
    }
    return STATUS_OK;
}

static status_code find_or_draw(char folder[PATH_SIZE], int threads, const listener *listener, failure *failure) {
    places p;
    int lock;
    status_code status = find_places(&p, folder, failure);
    if (status != STATUS_OK || path_exists(p.last)) return status;
    status = folder_make(p.caches, failure);
    if (status == STATUS_OK) status = lock_folder(p.caches, &lock, listener, failure);
    if (status != STATUS_OK) return status;
    if (!path_exists(p.last)) status = draw_whole(&p, folder, threads, listener, failure);
    close(lock);
    return status;
}

/* What the first rank draws is there when the others look for it. */
status_code phantom_data_folder(char folder[PATH_SIZE], int threads, const listener *listener, failure *failure) {
    const ranks *r = ranks_here();
    status_code status = ranks_is_first(r) ? find_or_draw(folder, threads, listener, failure) : STATUS_OK;
    status = ranks_agree(r, status, failure);
    if (status == STATUS_OK && !ranks_is_first(r)) status = find_or_draw(folder, threads, listener, failure);
    return ranks_agree(r, status, failure);
}
