/* A groups.csv of a few cases and columns. */
#include "core/csv.h"
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const char *const VALUES[] = {"", "control", "spina bifida", "Leuven, B", "7"};
    const int rows = 1 + (int)(test_random(random) % 8), columns = 1 + (int)(test_random(random) % 3);
    text out = {0};
    text_add(&out, "case");
    for (int k = 0; k < columns; k++) text_format(&out, ",column%d", k);
    for (int row = 0; row < rows; row++) {
        text_format(&out, "\nfetus_%03d", (row * 7 + 3) % 11);
        for (int k = 0; k < columns; k++) {
            text_add(&out, ",");
            csv_add_field(&out, VALUES[test_random(random) % 5]);
        }
    }
    text_add(&out, "\n");
    const size_t size = *front = out.size;
    memcpy(bytes, out.bytes, size);
    text_close(&out);
    return size;
}
