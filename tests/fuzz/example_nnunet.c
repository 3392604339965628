/* Both files of a small model, as hws export nnunet writes them. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "nnunet/nnunet_plan.h"
#include "small_model.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const char *const FILES[] = {"plans.json", "dataset.json"};
    char *names[] = {"background", "a", "b", "c"};
    text plans = {0}, dataset = {0};
    plan plan = small_plan((int)(test_random(random) % 2), (int)(test_random(random) % 4) - 1);
    if (test_random(random) % 2) use_regions(&plan);
    nnunet_plan_format(&plan, &plans);
    nnunet_dataset_format(&plan, names, &dataset);
    fuzz_put(FILES[0], plans.bytes, plans.size);
    fuzz_put(FILES[1], dataset.bytes, dataset.size);
    text_close(&plans);
    text_close(&dataset);
    return *front = fuzz_get_files(FILES, 2, bytes);
}
