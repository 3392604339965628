/* Which labels keep their largest component. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "predict/postprocessing.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static postprocessing p;
    p.count = (int)(test_random(random) % 4);
    for (int k = 0; k < p.count; k++) {
        p.steps[k].count = 1 + (int)(test_random(random) % 4);
        for (int v = 0; v < p.steps[k].count; v++) p.steps[k].values[v] = (int16_t)(v + 1 + k);
    }
    require(postprocessing_write(&p, fuzz_folder(), NULL) == STATUS_OK);
    return *front = fuzz_get("postprocessing.json", bytes);
}
