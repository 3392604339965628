/* DATA = phantom: the built-in phantoms, made in the user's cache folder when they are first used. */
#ifndef HWS_TASK_PHANTOM_DATA_H
#define HWS_TASK_PHANTOM_DATA_H

#include "core/listener.h"
#include "core/path.h"

/* Whether DATA means them. */
int phantom_data_named(const char *data);

/* The dataset folder, made if it is not there; another process that makes it just now is waited for. */
status_code phantom_data_folder(char folder[PATH_SIZE], int threads, const listener *listener, failure *failure);

#endif
