/* CSV files that name pictures, and tables. */
#include "core/csv.h"
#include "fuzz.h"
#include "testing.h"

static void add_picture(text *out, uint64_t *random, int row) {
    static const char *const SPLITS[] = {"train", "val", "test"};
    text_format(out, "images/%d.png,%s,%s,p%d,%c\n", row, test_random(random) % 2 ? "cat" : "dog",
                SPLITS[test_random(random) % 3], row / 2, (char)('A' + row % 3));
}

static void add_row(text *out, uint64_t *random, int row) {
    static const char *const WORDS[] = {"red", "green, dark", "?", ""};
    text_format(out, "%d,%.3f,", row, 100 * test_normal(random));
    csv_add_field(out, WORDS[test_random(random) % 4]);
    text_format(out, ",%s,%d\n", test_random(random) % 5 ? "1e-3" : "NA", (int)(test_random(random) % 2));
}

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const int table = (int)(test_random(random) % 2), rows = 3 + (int)(test_random(random) % 12);
    text out = {0};
    text_add(&out, table ? "id,height,colour,other,label\n" : "file,label,split,patient,group\n");
    for (int row = 0; row < rows; row++) (table ? add_row : add_picture)(&out, random, row);
    const size_t size = *front = out.size;
    memcpy(bytes, out.bytes, size);
    text_close(&out);
    return size;
}
