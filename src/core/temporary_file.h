/*
 * Files that are being written, under names that nobody else gives: .hws-HOST-PID-NUMBER.tmp, beside the place where
 * they will stand. A file is locked while its process lives; so what a killed process has left is told from what
 * another one is writing, and removed when somebody writes into the same folder again.
 */
#ifndef HWS_CORE_TEMPORARY_FILE_H
#define HWS_CORE_TEMPORARY_FILE_H

#include <stddef.h>

enum { TEMPORARY_NAME_SIZE = 64 }; /* bytes that a name needs beyond those of the path that it stands beside */

/* A name that this process has not used before. `path` has strlen(beside) + TEMPORARY_NAME_SIZE bytes. */
void temporary_path(char *path, const char *beside);

/* Makes and locks a new file under such a name, and sweeps its folder when this process first writes there. A
   descriptor for writing, or -1 with errno set. */
int temporary_open(char *path, const char *beside);

/*
 * Removes the files of this user in the folder of `beside` that killed processes have left: those that are not locked,
 * and were made on this machine or were not touched for a day (some file systems lock within one machine only). Where
 * the file system knows no locks, nothing is removed.
 */
void temporary_sweep(const char *beside);

#endif
