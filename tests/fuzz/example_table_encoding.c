/* How columns of numbers and words become numbers. */
#include "fuzz.h"
#include "images/table_encoding.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static char *words[] = {"red", "green, dark", "7"};
    table_feature features[] = {{.name = "height", .mean = 180.5, .std = 1 + test_unit(random)},
                                {.name = "colour", .values = words, .words = 1 + (int)(test_random(random) % 3)},
                                {.name = "a \"name\"", .mean = -1e-3, .std = 1e6 * test_unit(random)}};
    const table_encoding encoding = {.features = features, .count = 1 + (int)(test_random(random) % 3)};
    text out = {0};
    table_encoding_write(&encoding, &out);
    const size_t size = *front = out.size;
    memcpy(bytes, out.bytes, size);
    text_close(&out);
    return size;
}
