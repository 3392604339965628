/* Checkpoints of tiny runs that were stopped in the middle. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_trainer.h"

static int stop_after(void *left) { return --*(int *)left < 0; }

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static points points;
    const task task = points_task(&points);
    const int kind = (int)(test_random(random) % TRAINER_KINDS);
    const train_settings settings = trainer_settings(kind);
    int left = (int)(test_random(random) % 20);
    const train_listener listener = {.work = {.context = &left, .stop = stop_after}};
    trainer_end end;
    trainer *t = trainer_of(&settings, &task, fuzz_folder());
    require(trainer_begin(t, NULL) == STATUS_OK && trainer_run(t, &listener, &end, NULL) == STATUS_OK);
    trainer_close(&t);
    bytes[0] = (uint8_t)kind;
    const size_t size = fuzz_get("latest.safetensors", bytes + 1);
    *front = size < 4000 ? size : 4000;
    return size + 1;
}
