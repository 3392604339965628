/* JSON files, read strictly: a key that comes twice is refused, and so is anything behind the end. What writes JSON is
   core/json_writer.h. */
#ifndef HWS_JSON_JSON_FILE_H
#define HWS_JSON_JSON_FILE_H

#include "core/failure.h"

#include <jansson.h>

/* At most 64 MB. The caller gives the root back with json_decref; it is NULL after a failure, which names the line. */
status_code json_file_read(const char *path, json_t **root, failure *failure);

/* The same of what is in memory already; messages call it `name`. */
status_code json_parse(const char *name, const char *bytes, size_t size, json_t **root, failure *failure);

/* For a program that has jansson for itself: from now on what cannot be read for lack of memory is always told from
   what is damaged. It sets jansson's allocators, for the whole process: no library may call it for others. */
void json_watch_memory(void);

/* The same for callers who have a sentence of their own: NULL when it is no JSON, and *error tells where; or *lost
   is 1, as memory ran out. */
json_t *json_load_bytes(const char *bytes, size_t size, json_error_t *error, int *lost);

#endif
