/* Plans of all networks, with labels and with regions. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "small_model.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const channel_rule RULES[] = {
        {NORMALISE_CT, 0, 10, 2, -100, 300}, {NORMALISE_ZSCORE, 1, 1, 1, 0, 2}, {NORMALISE_NONE, 0, 0, 1, 0, 1}};
    plan plan = small_plan((int)(test_random(random) % 2), (int)(test_random(random) % 4) - 1);
    if (test_random(random) % 2) use_regions(&plan);
    plan.batch = 1 + (int)(test_random(random) % 9);
    plan.bias = (int)(test_random(random) % 2);
    plan.unmirrored[2] = (int)(test_random(random) % 2);
    plan.channel[0].rule = RULES[test_random(random) % 3];
    require(plan_write(&plan, fuzz_path("plans.json"), NULL) == STATUS_OK);
    *front = fuzz_get("plans.json", bytes);
    return *front;
}
