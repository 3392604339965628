/* DATA = phantom: the built-in phantoms, made in the cache folder when they are first used. */
#ifndef HWS_TASK_PHANTOM_DATA_H
#define HWS_TASK_PHANTOM_DATA_H

#include "core/listener.h"
#include "core/path.h"

int phantom_data_named(const char *data);
status_code phantom_data_folder(char folder[PATH_SIZE], int threads, const listener *listener, failure *failure);

#endif
