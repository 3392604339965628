/* A small .npz file in MedMNIST's layout. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "testing.h"
#include "zip/zip_writer.h"

typedef struct array {
    char head[128];
    uint8_t numbers[512];
} array;

/* What stands before the numbers, and so many of them. */
static void add_array(zip_writer *archive, const char *name, const char *shape, const array *a, size_t size) {
    static array made;
    char file[64];
    made = *a;
    memset(made.head, ' ', sizeof made.head);
    memcpy(made.head, "\x93NUMPY\1\0\x76\0", 10);
    const int length = snprintf(made.head + 10, 100, "{'descr': '|u1', 'fortran_order': False, 'shape': %s, }", shape);
    made.head[10 + length] = ' ';
    made.head[127] = '\n';
    snprintf(file, sizeof file, "%s.npy", name);
    zip_writer_add(archive, file, (zip_span[]){{made.head, sizeof made.head}, {made.numbers, size}}, 2, 64);
}

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const char *const PARTS[] = {"train", "test", "val"};
    const int parts = 2 + (int)(test_random(random) % 2), colour = (int)(test_random(random) % 2);
    zip_writer archive;
    const char *path = fuzz_path("made.npz");
    zip_writer_open(&archive, path);
    for (int p = 0; p < parts; p++) {
        const size_t count = 1 + test_random(random) % 6;
        char name[32], shape[64];
        array a;
        for (size_t k = 0; k < sizeof a.numbers; k++) a.numbers[k] = (uint8_t)test_random(random);
        snprintf(name, sizeof name, "%s_images", PARTS[p]);
        snprintf(shape, sizeof shape, colour ? "(%zu, 4, 5, 3)" : "(%zu, 4, 5)", count);
        add_array(&archive, name, shape, &a, count * (colour ? 60 : 20));
        for (size_t k = 0; k < count; k++) a.numbers[k] %= 3;
        snprintf(name, sizeof name, "%s_labels", PARTS[p]);
        snprintf(shape, sizeof shape, "(%zu, 1)", count);
        add_array(&archive, name, shape, &a, count);
    }
    require(zip_writer_close(&archive, NULL) == STATUS_OK);
    *front = 200;
    return fuzz_get("made.npz", bytes);
}
