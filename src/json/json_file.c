#include "json/json_file.h"

#include "core/whole_file.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static const size_t LARGEST_FILE = (size_t)64 << 20;

/*
 * When memory runs out, jansson drops bytes of a text and goes on, or reads beyond them: a lost quote has no end. So
 * where json_watch_memory was called it never sees that memory ran out: reading is left at once, and what it had
 * allocated is given back.
 */
static _Thread_local struct {
    int active;
    jmp_buf leave;
    struct block *blocks; /* that it holds */
} reading;

/* Stands before each block, whose alignment stays malloc's. The blocks of one reading are a list, in which each finds
   its own place: a large file that is broken at its end gives them all back, the oldest first. */
typedef struct block {
    _Alignas(max_align_t) struct block *next;
    struct block **place; /* what points to it; NULL: it belongs to no reading */
} block;

static void *allocate(size_t size) {
    block *b = size <= SIZE_MAX - sizeof *b ? malloc(sizeof *b + size) : NULL;
    if (!b && reading.active) longjmp(reading.leave, 1);
    if (!b) return NULL;
    *b = (block){0};
    if (reading.active) {
        *b = (block){reading.blocks, &reading.blocks};
        if (b->next) b->next->place = &b->next;
        reading.blocks = b;
    }
    return b + 1;
}

static void give_back(void *memory) {
    if (!memory) return;
    block *b = (block *)memory - 1;
    if (b->place) {
        *b->place = b->next;
        if (b->next) b->next->place = b->place;
    }
    free(b);
}

/* What was read outlives its reading, also in other threads: its blocks leave the list. */
static void end_reading(void) {
    for (block *b = reading.blocks, *next; b; b = next) {
        next = b->next;
        *b = (block){0};
    }
    reading.blocks = NULL;
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
    while (reading.blocks) give_back(reading.blocks + 1);
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
