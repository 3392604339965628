/* Bytes as a losses.csv to begin a run with: taken or refused, and what is taken can be drawn from. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_trainer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static points points;
    static trainer *t;
    static task task;
    const train_settings settings = trainer_settings(0);
    float losses[POINTS];
    int64_t batch[8];
    failure failure = {0};
    if (!t) {
        task = points_task(&points);
        t = trainer_of(&settings, &task, fuzz_folder());
    }
    fuzz_put("losses.csv", data, size);
    const status_code status = trainer_take_losses(t, fuzz_path("losses.csv"), &failure);
    require(status == STATUS_OK || failure.message[0]);
    require(hws_sampler_get_losses(t->history, 0, POINTS, losses) == HWS_OK);
    for (int k = 0; k < POINTS; k++) require(!isinf(losses[k]));
    require(hws_sampler_draw(t->history, 8, batch) == HWS_OK);
    return 0;
}
