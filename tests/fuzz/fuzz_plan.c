/* Bytes as plans.json: whatever is accepted can be used, whatever is not is explained. */
#include "fuzz.h"
#include "plan/plan.h"

#include <math.h>

static void check(const plan *plan) {
    require(plan->channels >= 1 && plan->channels <= PLAN_MAX_CHANNELS);
    require(plan->topology.count >= 2 && plan->topology.count <= TOPOLOGY_MAX_STAGES);
    int multiple[3];
    topology_multiple(&plan->topology, multiple);
    for (int k = 0; k < 3; k++) {
        require(plan->spacing[k] > 0 && isfinite(plan->spacing[k]));
        require(plan->patch[k] >= 1 && plan->patch[k] % multiple[k] == 0);
    }
    require(plan->batch >= 1 && plan->classes >= 2);
    const double memory = plan_memory(plan, 1, 0);
    require(isfinite(memory) && memory > 0);
    (void)plan_preprocessing_checksum(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static plan plan;
    failure failure = {0};
    const status_code status = plan_parse(&plan, "plans.json", (const char *)data, size, &failure);
    if (status == STATUS_OK) check(&plan);
    else require(failure.message[0]);
    return 0;
}
