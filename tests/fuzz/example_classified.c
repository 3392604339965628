/* What a classifier said about a few examples. */
#include "core/text.h"
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const int count = 1 + (int)(test_random(random) % 10), groups = (int)(test_random(random) % 2);
    text out = {0};
    text_format(&out, "example,label,prediction,loss,p_cat,p_dog%s\n", groups ? ",group,site" : "");
    for (int k = 0; k < count; k++) {
        const double p = test_unit(random);
        const int dog = (int)(test_random(random) % 2);
        text_format(&out, "%d.png,%s,%s,%.4f,%.4f,%.4f", k, dog ? "dog" : "cat", p >= 0.5 ? "cat" : "dog",
                    -log(dog ? 1 - p : p), p, 1 - p);
        text_add(&out, groups ? k % 2 ? ",a,x\n" : ",b,\n" : "\n");
    }
    const size_t size = *front = out.size;
    memcpy(bytes, out.bytes, size);
    text_close(&out);
    return size;
}
