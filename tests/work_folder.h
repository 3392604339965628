/* A folder of the test's own for its files; hand the first two to cmocka_run_group_tests. Not for tests of
   libhws alone: uses core. */
#ifndef HWS_TESTS_WORK_FOLDER_H
#define HWS_TESTS_WORK_FOLDER_H

#include "core/path.h"
#include "testing.h"

static char work_folder[PATH_SIZE];

static inline int work_folder_open(void **state) {
    (void)state;
    return folder_make_temporary(work_folder, NULL) == STATUS_OK ? 0 : -1;
}

static inline int work_folder_close(void **state) {
    (void)state;
    folder_remove(work_folder);
    return 0;
}

/* The path of a file in it; lasts for 31 further calls. */
static inline const char *work_path(const char *name) {
    static char paths[32][PATH_SIZE];
    static unsigned next;
    char *path = paths[next++ % 32];
    assert_int_equal(path_join(path, work_folder, name, NULL), STATUS_OK);
    return path;
}

#endif
