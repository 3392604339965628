/* Paths and folders. */
#ifndef HWS_CORE_PATH_H
#define HWS_CORE_PATH_H

#include "core/failure.h"
#include "core/printf_like.h"

#include <stddef.h>

enum { PATH_SIZE = 4096 };

/* "folder/name", also of "folder/"; refused when it does not fit. */
status_code path_join(char path[PATH_SIZE], const char *folder, const char *name, failure *failure);

/* The same for a name that is put together: path_format(path, &failure, "%s/%s.png", folder, name). */
status_code path_format(char path[PATH_SIZE], failure *failure, const char *format, ...) PRINTF_LIKE(3, 4);

/* What stands behind the last slash. */
const char *path_name(const char *path);

/* Whether something stands before this ending (".csv"). */
int path_ends_with(const char *path, const char *ending);

/* Whether there is something at this path that can be looked at, and whether it is a folder. */
int path_exists(const char *path);
int path_is_folder(const char *path);

/* Whether both exist and are the same file or folder, even under different names. */
int path_same(const char *a, const char *b);

/* Whether a file was written after another; 0 where one of them cannot be looked at. */
int path_is_newer(const char *path, const char *than);

/* Makes the folder if it is not there, and those above it. After STATUS_CANNOT_WRITE errno says why, too, for callers
   who have more to tell about the folder. */
status_code folder_make(const char *folder, failure *failure);

/* How much of the path, in bytes, names folders that are there; folder_unmake removes those beyond it, as far as they
   are empty: for who made a folder in vain. */
size_t folder_existing(const char *folder);
void folder_unmake(const char *folder, size_t existing);

/* Makes a new folder in $TMPDIR, or else in /tmp, that only this user can enter. */
status_code folder_make_temporary(char path[PATH_SIZE], failure *failure);

/* Removes a folder and all that is in it, as far as possible; links are removed, not followed. */
void folder_remove(const char *path);

#endif
