/* The losses of some of the points, and of some others. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "core/csv.h"
#include "fuzz_trainer.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    text out = {0};
    text_add(&out, "example,stale_loss,age,draws,label\n");
    for (int k = (int)(test_random(random) % 40); k < POINTS + 2; k++) {
        text_format(&out, "point-%d", k);
        if (test_random(random) % 8) csv_add_number(&out, test_normal(random));
        else text_add(&out, ",");
        text_format(&out, ",%d,3,%d\n", k, k % CLASSES);
    }
    const size_t size = *front = out.size;
    memcpy(bytes, out.bytes, size);
    text_close(&out);
    return size;
}
