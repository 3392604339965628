/*
 * Files of a fuzz target or of its examples, in a folder that is made when it is first asked for and removed at the
 * end. Include it after defining _XOPEN_SOURCE as 700.
 */
#ifndef HWS_TESTS_FUZZ_FOLDER_H
#define HWS_TESTS_FUZZ_FOLDER_H

#include "fuzz.h"
#include "remove_tree.h"

#include <string.h>
#include <unistd.h>

static char fuzz_folder_path[100];

static inline void fuzz_remove_folder(void) { remove_tree(fuzz_folder_path); }

/* In memory if that is possible, where every sync is fast. */
static inline const char *fuzz_folder(void) {
    if (fuzz_folder_path[0]) return fuzz_folder_path;
    const char *named = getenv("TMPDIR"), *base = named ? named : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "%.70s/hws-fuzz-XXXXXX", base);
    require(mkdtemp(fuzz_folder_path));
    atexit(fuzz_remove_folder);
    return fuzz_folder_path;
}

/* A path in the folder, in one of a few buffers. */
static inline const char *fuzz_path(const char *name) {
    static char paths[8][200];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, 200, "%s/%s", fuzz_folder(), name);
    return path;
}

static inline void fuzz_put(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(fuzz_path(name), "wb");
    require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* What a writer has left in the folder. */
static inline size_t fuzz_get(const char *name, uint8_t *bytes) {
    FILE *file = fopen(fuzz_path(name), "rb");
    require(file);
    const size_t size = fread(bytes, 1, FUZZ_LARGEST, file);
    require(size < FUZZ_LARGEST);
    fclose(file);
    return size;
}

/* ---- inputs that stand for several files: a line "@NAME" begins each --------------------------------------------- */

static inline long fuzz_file_at(const char *const *names, size_t count, const char *at, const char *end) {
    for (size_t k = 0; at < end && *at == '@' && k < count; k++) {
        const size_t length = strlen(names[k]);
        if ((size_t)(end - at) > length + 1 && memcmp(at + 1, names[k], length) == 0 && at[length + 1] == '\n')
            return (long)k;
    }
    return -1;
}

/* Writes those that the input has and removes the others. */
static inline void fuzz_put_files(const char *const *names, size_t count, const uint8_t *data, size_t size) {
    const char *at = (const char *)data, *const end = at + size;
    for (size_t k = 0; k < count; k++) unlink(fuzz_path(names[k]));
    for (long file = fuzz_file_at(names, count, at, end); file >= 0;) {
        const char *const first = at + strlen(names[file]) + 2;
        long next = -1;
        for (at = first; at < end && (next = fuzz_file_at(names, count, at, end)) < 0;) {
            const char *const line = memchr(at, '\n', (size_t)(end - at));
            at = line ? line + 1 : end;
        }
        fuzz_put(names[file], first, (size_t)(at - first));
        file = next;
    }
}

/* The input for the files that are there. */
static inline size_t fuzz_get_files(const char *const *names, size_t count, uint8_t *bytes) {
    size_t size = 0;
    for (size_t k = 0; k < count; k++) {
        static uint8_t one[FUZZ_LARGEST];
        if (access(fuzz_path(names[k]), R_OK) != 0) continue;
        const size_t length = fuzz_get(names[k], one);
        require(size + length + strlen(names[k]) + 3 < FUZZ_LARGEST);
        size += (size_t)sprintf((char *)bytes + size, "@%s\n", names[k]);
        memcpy(bytes + size, one, length);
        size += length;
        if (size && bytes[size - 1] != '\n') bytes[size++] = '\n';
    }
    return size;
}

#endif
