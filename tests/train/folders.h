/* Folders for the tests' runs, and their files. */
#ifndef HWS_TEST_FOLDERS_H
#define HWS_TEST_FOLDERS_H

#include "core/whole_file.h"
#include "testing.h"

#include <unistd.h>

static char folders_root[64];

static inline int folders_setup(void **state) {
    (void)state;
    strcpy(folders_root, "/dev/shm/hws-train-XXXXXX"); /* in memory, where every sync is fast */
    if (mkdtemp(folders_root)) return 0;
    strcpy(folders_root, "/tmp/hws-train-XXXXXX");
    return mkdtemp(folders_root) ? 0 : -1;
}

static inline int folders_teardown(void **state) {
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folders_root);
    return system(command);
}

/* A path below the root, in one of a few buffers. */
static inline const char *folder(const char *name) {
    static char paths[16][128];
    static unsigned next;
    char *path = paths[next++ % 16];
    snprintf(path, 128, "%s/%s", folders_root, name);
    return path;
}

static inline char *file_bytes(const char *run, const char *name, size_t *size) {
    char path[300], *bytes;
    failure why;
    snprintf(path, sizeof path, "%s/%s", run, name);
    if (whole_file_read(path, (size_t)1 << 30, &bytes, size, &why) != STATUS_OK) fail_msg("%s", why.message);
    return bytes;
}

static inline void file_write(const char *run, const char *name, const char *bytes, size_t size) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", run, name);
    assert_int_equal(whole_file_write(path, bytes, size, NULL), STATUS_OK);
}

static inline void assert_same_file(const char *a, const char *b, const char *name) {
    size_t a_size, b_size;
    char *x = file_bytes(a, name, &a_size), *y = file_bytes(b, name, &b_size);
    if (a_size != b_size || memcmp(x, y, a_size) != 0) fail_msg("%s differs between %s and %s", name, a, b);
    free(x);
    free(y);
}

#endif
