/* JSON files, read strictly (a key that comes twice is refused, so is anything behind the end) and written whole. */
#ifndef HWS_JSON_JSON_FILE_H
#define HWS_JSON_JSON_FILE_H

#include "core/failure.h"

#include <jansson.h>

/* At most 64 MB. The caller gives the root back with json_decref; it is NULL after a failure, which names the line. */
status_code json_file_read(const char *path, json_t **root, failure *failure);

/* Indented, keys in the order in which they were set. The file appears whole or not at all. */
status_code json_file_write(const char *path, const json_t *root, failure *failure);

#endif
