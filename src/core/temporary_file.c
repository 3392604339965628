#define _DEFAULT_SOURCE /* flock, gethostname */
#include "core/temporary_file.h"

#include "core/crc64.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 100, REMEMBERED = 16, DAY = 24 * 60 * 60 };

static uint64_t hash(const void *bytes, size_t size) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, bytes, size);
    return crc64_value(&crc);
}

static unsigned this_host(void) {
    char name[256] = {0};
    (void)gethostname(name, sizeof name - 1);
    return (unsigned)(hash(name, strlen(name)) & 0xffffffffu);
}

/* Bytes of the folder's part, with the slash. */
static size_t folder_size(const char *beside) {
    const char *slash = strrchr(beside, '/');
    return slash ? (size_t)(slash - beside) + 1 : 0;
}

void temporary_path(char *path, const char *beside) {
    static atomic_uint next;
    const size_t folder = folder_size(beside);
    memcpy(path, beside, folder);
    snprintf(path + folder, TEMPORARY_NAME_SIZE, ".hws-%08x-%ld-%u.tmp", this_host(), (long)getpid(),
             atomic_fetch_add(&next, 1));
}

/* ---- what was left ----------------------------------------------------------------------------------------------- */

/* Whether a name is one of ours, and of which machine. */
static int is_ours(const char *name, unsigned *host) {
    unsigned long process;
    unsigned number;
    int end = -1;
    return sscanf(name, ".hws-%8x-%lu-%u.tmp%n", host, &process, &number, &end) == 3 && end > 0 && !name[end];
}

static int is_left(int folder, int file, const char *name, unsigned host) {
    struct stat opened, named;
    if (fstat(file, &opened) != 0 || fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) != 0) return 0;
    if (opened.st_ino != named.st_ino || opened.st_dev != named.st_dev || !S_ISREG(named.st_mode)) return 0;
    return opened.st_uid == geteuid() && (host == this_host() || time(NULL) - opened.st_mtime > DAY);
}

static void remove_if_left(int folder, const char *name) {
    unsigned host;
    if (!is_ours(name, &host)) return;
    const int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && is_left(folder, file, name, host)) (void)unlinkat(folder, name, 0);
    close(file);
}

void temporary_sweep(const char *beside) {
    const size_t size = folder_size(beside);
    char folder[4096] = ".";
    if (size >= sizeof folder) return;
    if (size) memcpy(folder, beside, size), folder[size] = 0;
    DIR *listing = opendir(folder);
    if (!listing) return;
    for (const struct dirent *entry; (entry = readdir(listing));) remove_if_left(dirfd(listing), entry->d_name);
    closedir(listing);
}

/* When two threads come at once, or more folders than are remembered, one is swept twice. */
static void sweep_once(const char *beside) {
    static _Atomic uint64_t swept[REMEMBERED];
    static atomic_uint next;
    const uint64_t folder = hash(beside, folder_size(beside)) | 1;
    for (int k = 0; k < REMEMBERED; k++)
        if (swept[k] == folder) return;
    swept[atomic_fetch_add(&next, 1) % REMEMBERED] = folder;
    temporary_sweep(beside);
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

/* Locks it; 0 if somebody who sweeps the folder has taken it away before it was locked, or has
   locked it and is about to. */
static int lock(int file) {
    struct stat info;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return 0;
    return fstat(file, &info) == 0 && info.st_nlink > 0;
}

int temporary_open(char *path, const char *beside) {
    sweep_once(beside);
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        temporary_path(path, beside);
        const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) return -1;
        if (file >= 0 && lock(file)) return file;
        if (file < 0) continue;
        (void)unlink(path);
        close(file);
    }
    errno = EEXIST;
    return -1;
}
