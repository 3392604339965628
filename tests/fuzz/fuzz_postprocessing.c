/* Bytes as a postprocessing.json: what is accepted can be done, and is the same after it was written and read again. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "predict/postprocessing.h"

#include <sys/stat.h>

static void check(const postprocessing *p) {
    static postprocessing again;
    int16_t labels[2 * 3 * 4];
    require(p->count >= 0 && p->count <= POSTPROCESSING_STEPS);
    for (int k = 0; k < p->count; k++) {
        require(p->steps[k].count >= 1 && p->steps[k].count <= POSTPROCESSING_VALUES);
        for (int v = 0; v < p->steps[k].count; v++) require(p->steps[k].values[v] > 0);
    }
    for (int k = 0; k < 24; k++) labels[k] = (int16_t)(k % 5);
    require(postprocessing_apply(p, (const int[3]){2, 3, 4}, labels, NULL) == STATUS_OK);
    for (int k = 0; k < 24; k++) require(labels[k] == k % 5 || labels[k] == 0);
    mkdir(fuzz_path("again"), 0700);
    require(postprocessing_write(p, fuzz_path("again"), NULL) == STATUS_OK);
    require(postprocessing_read(&again, fuzz_path("again"), NULL) == STATUS_OK && again.count == p->count);
    for (int k = 0; k < p->count; k++)
        require(memcmp(p->steps[k].values, again.steps[k].values, (size_t)p->steps[k].count * sizeof(int16_t)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static postprocessing p;
    failure failure = {0};
    fuzz_put("postprocessing.json", data, size);
    const status_code status = postprocessing_read(&p, fuzz_path("postprocessing.json"), &failure);
    require(status == STATUS_OK || failure.message[0]);
    if (status == STATUS_OK) check(&p);
    return 0;
}
