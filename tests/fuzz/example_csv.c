/* A table of words and numbers, with all that must be quoted. */
#include "core/csv.h"
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const char *const CELLS[] = {"", "a", "with, comma", "with \"quotes\"", "two\nlines", "nan", "-1.5e-3"};
    const size_t columns = 1 + test_random(random) % 5, rows = test_random(random) % 6;
    text out = {0};
    if (test_random(random) % 4 == 0) text_add(&out, "\xEF\xBB\xBF");
    for (size_t k = 0; k < columns; k++) text_format(&out, "%sc%zu", k ? "," : "", k);
    for (size_t k = 0; k < rows * columns; k++) {
        text_add(&out, k % columns ? "," : test_random(random) % 2 ? "\n" : "\r\n");
        csv_add_field(&out, CELLS[test_random(random) % 7]);
    }
    const size_t size = out.size;
    memcpy(bytes, out.bytes, size);
    text_close(&out);
    *front = size;
    return size;
}
