/* Removes a folder with all that is in it. Include it after defining _XOPEN_SOURCE as 700. */
#ifndef HWS_TESTS_REMOVE_TREE_H
#define HWS_TESTS_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_tree_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info, (void)kind, (void)where;
    return remove(path);
}

static inline int remove_tree(const char *path) { return nftw(path, remove_tree_entry, 8, FTW_DEPTH | FTW_PHYS); }

#endif
