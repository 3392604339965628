#include "json/json_file.h"

#include "core/array.h"
#include "core/whole_file.h"

#include <setjmp.h>
#include <stdlib.h>

static const size_t LARGEST_FILE = (size_t)64 << 20;

/*
 * When memory runs out, jansson drops bytes of a text and goes on, or reads beyond them: a lost quote has no end. So where
 * json_watch_memory was called it never sees that memory ran out: reading is left at once, and what it had allocated is given back.
 */
static _Thread_local struct {
    int active;
    jmp_buf leave;
    void **blocks; /* that it holds */
    size_t count, capacity;
} reading;

static int keep(void *block) {
    void **grown = array_grow(reading.blocks, reading.count, &reading.capacity, sizeof *grown);
    if (!grown) return 0;
    reading.blocks = grown;
    reading.blocks[reading.count++] = block;
    return 1;
}

static void *allocate(size_t size) {
    void *block = malloc(size);
    if (!reading.active || (block && keep(block))) return block;
    free(block);
    longjmp(reading.leave, 1);
}

/* Most blocks are given back soon: they are found at the end. */
static void give_back(void *block) {
    for (size_t k = reading.active ? reading.count : 0; k-- > 0;)
        if (reading.blocks[k] == block) {
            reading.blocks[k] = reading.blocks[--reading.count];
            break;
        }
    free(block);
}

static void end_reading(void) {
    free(reading.blocks);
    reading.blocks = NULL;
    reading.count = reading.capacity = 0;
    reading.active = 0;
}

void json_watch_memory(void) { json_set_alloc_funcs(allocate, give_back); }

/* What jansson itself says about it, where nobody watches. */
static int is_memory(const json_error_t *error) {
    return !*error->text || json_error_code(error) == json_error_out_of_memory;
}

json_t *json_load_bytes(const char *bytes, size_t size, json_error_t *error, int *lost) {
    reading.active = 1;
    if (setjmp(reading.leave) == 0) {
        json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, error);
        end_reading();
        *lost = !root && is_memory(error);
        return root;
    }
    for (size_t k = 0; k < reading.count; k++) free(reading.blocks[k]);
    end_reading();
    *lost = 1;
    return NULL;
}

status_code json_parse(const char *name, const char *bytes, size_t size, json_t **root, failure *failure) {
    json_error_t error;
    int lost;
    *root = json_load_bytes(bytes, size, &error, &lost);
    if (*root) return STATUS_OK;
    if (lost) return fail_memory(failure, name);
    return fail(failure, STATUS_CORRUPT, "%s, line %d: this is not JSON: %s", name, error.line, error.text);
}

status_code json_file_read(const char *path, json_t **root, failure *failure) {
    char *bytes;
    size_t size;
    *root = NULL;
    status_code status = whole_file_read(path, LARGEST_FILE, &bytes, &size, failure);
    if (status == STATUS_OK) status = json_parse(path, bytes, size, root, failure);
    free(bytes);
    return status;
}
