/*
 * Preloaded into the program (LD_PRELOAD): fails or kills it at the Nth call of a kind, counts calls, or
 * records what was done to files.
 *
 *     HWS_FAULT=OPERATION:N:EIO|ENOSPC|ENOMEM|kill   the Nth call since main began; OPERATION is one of NAMES below
 *     HWS_FAULT_COUNTS=FILE                          at exit: a line "OPERATION COUNT" for each
 *     HWS_FAULT_RECORD=FILE                          a line for each change of a file or folder, see power_cuts.py
 *
 * System calls are made directly, so that nothing here calls what it stands in for. What libc calls within itself (the
 * reads of fread, the writes of printf) does not come by; therefore fopen, fread and opendir are stood in for as well.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES(X)                                                                                                       \
    X(open) X(read) X(write) X(fsync) X(rename) X(close) X(mkdir) X(link) X(unlink) X(mmap) X(malloc) X(thread)

enum operation {
#define CODE(name) DO_##name,
    NAMES(CODE) OPERATIONS
#undef CODE
};

static const char *const NAME[] = {
#define TEXT(name) #name,
    NAMES(TEXT)
#undef TEXT
};

/* libc's own, under the names that it keeps for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_int armed;
static atomic_long counts[OPERATIONS];
static int chosen = -1, kills, error_number, recording = -1;
static long chosen_call;

/* ---- what was asked for ------------------------------------------------------------------------------------------ */

static void choose(const char *text) {
    char name[16], what[16];
    if (sscanf(text, "%15[a-z]:%ld:%15s", name, &chosen_call, what) != 3) _exit(99);
    for (int k = 0; k < OPERATIONS; k++)
        if (strcmp(name, NAME[k]) == 0) chosen = k;
    kills = strcmp(what, "kill") == 0;
    error_number = strcmp(what, "ENOSPC") == 0 ? ENOSPC : strcmp(what, "ENOMEM") == 0 ? ENOMEM : EIO;
    if (chosen < 0) _exit(99);
}

static void put(int file, const char *text, size_t size) {
    while (size > 0) {
        const long written = syscall(SYS_write, file, text, size);
        if (written <= 0) _exit(98);
        text += written;
        size -= (size_t)written;
    }
}

static void write_counts(void) {
    const char *path = getenv("HWS_FAULT_COUNTS");
    char line[64];
    armed = 0;
    const int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    for (int k = 0; k < OPERATIONS && file >= 0; k++)
        put(file, line, (size_t)snprintf(line, sizeof line, "%s %ld\n", NAME[k], counts[k]));
}

static int (*program)(int, char **, char **);

static int begin(int count, char **arguments, char **environment) {
    const char *fault = getenv("HWS_FAULT"), *record = getenv("HWS_FAULT_RECORD");
    if (fault) choose(fault);
    if (record) recording = (int)syscall(SYS_openat, AT_FDCWD, record, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (getenv("HWS_FAULT_COUNTS")) atexit(write_counts);
    armed = 1;
    const int code = program(count, arguments, environment);
    armed = 0;
    return code;
}

typedef int start_function(int (*)(int, char **, char **), int, char **, int (*)(int, char **, char **), void (*)(void),
                           void (*)(void), void *);

/* What libc starts a program with: so nothing counts that happens before main. */
int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments,
                      int (*start)(int, char **, char **), void (*finish)(void), void (*unload)(void), void *end) {
    start_function *real;
    *(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
    program = main;
    return real(begin, count, arguments, start, finish, unload, end);
}

/* Whether this call must fail; errno says how. */
static int fails(enum operation operation) {
    if (!armed || atomic_fetch_add(&counts[operation], 1) + 1 != chosen_call || (int)operation != chosen) return 0;
    if (kills) syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    errno = error_number;
    return 1;
}

/* ---- what was done ----------------------------------------------------------------------------------------------- */

static void absolute(int folder, const char *path, char out[PATH_MAX]) {
    char link[64];
    out[0] = 0;
    if (path[0] == '/') {
        snprintf(out, PATH_MAX, "%s", path);
        return;
    }
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    const long size = syscall(SYS_readlink, link, out, PATH_MAX - 1);
    snprintf(out + (size > 0 ? size : 0), (size_t)(PATH_MAX - (size > 0 ? size : 0)), "/%s", path);
}

/* "WORD PATH" or "WORD PATH<tab>PATH" */
static void record(const char *word, int folder, const char *path, const char *other) {
    char line[2 * PATH_MAX + 64], first[PATH_MAX], second[PATH_MAX] = "";
    if (recording < 0 || !armed) return;
    absolute(folder, path, first);
    if (other) absolute(AT_FDCWD, other, second);
    const int size = snprintf(line, sizeof line, "%s %s%s%s\n", word, first, other ? "\t" : "", second);
    put(recording, line, (size_t)size);
}

static void record_descriptor(const char *word, int file) {
    char link[64], path[PATH_MAX] = "";
    if (recording < 0 || !armed) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (syscall(SYS_readlink, link, path, sizeof path - 1) > 0 && path[0] == '/') record(word, AT_FDCWD, path, NULL);
}

static void record_bytes(int file, const void *bytes, size_t size) {
    char hex[8192];
    struct stat info;
    if (recording < 0 || !armed || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return;
    record_descriptor("write", file);
    for (size_t k = 0; k < size;) {
        size_t used = 0;
        for (; k < size && used + 2 < sizeof hex; k++, used += 2)
            snprintf(hex + used, 3, "%02x", ((const unsigned char *)bytes)[k]);
        put(recording, hex, used);
    }
    put(recording, "\n", 1);
}

/* ---- in the place of libc's -------------------------------------------------------------------------------------- */

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    if (fails(DO_open)) return -1;
    const int file = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (file >= 0 && flags & O_CREAT) record("create", folder, path, NULL);
    return file;
}

#define MODE_OF(flags, mode)                                                                                           \
    mode_t mode = 0;                                                                                                   \
    if ((flags)&O_CREAT) {                                                                                             \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode = va_arg(arguments, mode_t);                                                                              \
        va_end(arguments);                                                                                             \
    }

int open(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    MODE_OF(flags, mode)
    return open_at(folder, path, flags, mode);
}

ssize_t read(int file, void *bytes, size_t size) { return fails(DO_read) ? -1 : syscall(SYS_read, file, bytes, size); }

ssize_t write(int file, const void *bytes, size_t size) {
    if (fails(DO_write)) return -1;
    record_bytes(file, bytes, size);
    return syscall(SYS_write, file, bytes, size);
}

int fsync(int file) {
    if (fails(DO_fsync)) return -1;
    record_descriptor("fsync", file);
    return (int)syscall(SYS_fsync, file);
}

/* The descriptor is closed even then, as Linux does. */
int close(int file) {
    const int failed = fails(DO_close), reason = errno;
    const int result = (int)syscall(SYS_close, file);
    if (failed) errno = reason;
    return failed ? -1 : result;
}

int rename(const char *from, const char *to) {
    if (fails(DO_rename)) return -1;
    record("rename", AT_FDCWD, from, to);
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int mkdir(const char *path, mode_t mode) {
    if (fails(DO_mkdir)) return -1;
    const int result = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (result == 0) record("mkdir", AT_FDCWD, path, NULL);
    return result;
}

int link(const char *from, const char *to) {
    if (fails(DO_link)) return -1;
    const int result = (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (result == 0) record("link", AT_FDCWD, from, to);
    return result;
}

int unlinkat(int folder, const char *path, int flags) {
    if (fails(DO_unlink)) return -1;
    const int result = (int)syscall(SYS_unlinkat, folder, path, flags);
    if (result == 0) record("unlink", folder, path, NULL);
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    if (fails(DO_mmap)) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

/* ---- what hides calls within libc -------------------------------------------------------------------------------- */

static void *next(void **kept, const char *name) {
    if (!*kept) *kept = dlsym(RTLD_NEXT, name);
    return *kept;
}

FILE *fopen(const char *path, const char *mode) {
    static void *kept;
    FILE *(*real)(const char *, const char *);
    *(void **)&real = next(&kept, "fopen");
    return fails(DO_open) ? NULL : real(path, mode);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *stream) {
    static void *kept;
    size_t (*real)(void *, size_t, size_t, FILE *);
    *(void **)&real = next(&kept, "fread");
    if (!fails(DO_read)) return real(bytes, size, count, stream);
    stream->_flags |= 0x20; /* what ferror looks at */
    return 0;
}

DIR *opendir(const char *path) {
    static void *kept;
    DIR *(*real)(const char *);
    *(void **)&real = next(&kept, "opendir");
    return fails(DO_open) ? NULL : real(path);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    static void *kept;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = next(&kept, "pthread_create");
    return fails(DO_thread) ? EAGAIN : real(thread, attributes, run, argument);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static int no_memory(void) {
    if (!fails(DO_malloc)) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return no_memory() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return no_memory() ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return no_memory() ? NULL : __libc_realloc(block, size); }
void *aligned_alloc(size_t alignment, size_t size) { return no_memory() ? NULL : __libc_memalign(alignment, size); }
