/* A folder for the files of a fuzz target. Needs _XOPEN_SOURCE 700 (mkdtemp). */
#ifndef HWS_TESTS_FUZZ_FOLDER_H
#define HWS_TESTS_FUZZ_FOLDER_H

#include "fuzz.h"

enum { FUZZ_FOLDER = 100 };

/* Makes it unless that was done; `leave` removes it at the end. Whether it is new. */
static inline int fuzz_open_folder(char folder[FUZZ_FOLDER], void (*leave)(void)) {
    if (folder[0]) return 0;
    const char *base = getenv("TMPDIR");
    snprintf(folder, FUZZ_FOLDER, "%.70s/hws-fuzz-XXXXXX", base ? base : "/tmp");
    require(mkdtemp(folder));
    atexit(leave);
    return 1;
}

#endif
