/* DATA = phantom: the built-in phantoms, made in the cache folder when they are first used. */
#ifndef HWS_CLI_PHANTOM_DATA_H
#define HWS_CLI_PHANTOM_DATA_H

#include "run/run_folder.h"

int phantom_data_named(const char *data);
status_code phantom_data_folder(char folder[PATH_SIZE], int threads, int quiet, failure *failure);

#endif
