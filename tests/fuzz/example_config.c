/* The config.json of a run that classifies or segments, or of one by an older version. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "run/config.h"
#include "testing.h"

static const char OLD[] = "{\"hws_version\": \"0.1.0\", \"task\": \"classification\", \"data\": \"mnist:/data\", "
                          "\"model\": \"wrn-16-1\", \"objective\": \"dro\", \"beta\": 10, \"divergence\": \"kl\", "
                          "\"importance\": [0.1, null], \"batch\": 64, \"seed\": 3, \"keep\": {\"3\": 0.01}, "
                          "\"examples\": 530, \"image_size\": [28, 28, 1], \"pixel_mean\": 0.1, \"pixel_std\": 0.3, "
                          "\"classes\": [\"0\", \"1\", \"2\"]}";

static const char *const CHANGES[][2] = {{"objective", "erm"},     {"divergence", "chi2"}, {"importance", "0.1,10"},
                                         {"keep", "1=0.5,2=0.25"}, {"tail", "0.1"},        {"budget", "60m"},
                                         {"optimizer", "adam"},    {"schedule", "cosine"}, {"trim", "0.05"}};

static run_facts facts_of(int volumes) {
    static const char *const NAMES[] = {"background", "a, \"b\"", "c"};
    if (volumes)
        return (run_facts){.version = "0.1",
                           .task = TASK_SEGMENTATION,
                           .examples = 4,
                           .class_count = 3,
                           .class_names = NAMES,
                           .data_fingerprint = 42,
                           .validation_cases = 2,
                           .patch = {8, 16, 16}};
    return (run_facts){.version = "0.1",
                       .task = TASK_CLASSIFICATION,
                       .examples = 100,
                       .class_count = 3,
                       .class_names = NAMES,
                       .test_examples = 10,
                       .height = 28,
                       .width = 28,
                       .channels = 1,
                       .pixel_mean = 0.1,
                       .pixel_std = 0.3};
}

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const int volumes = (int)(test_random(random) % 2);
    if (test_random(random) % 4 == 0) {
        memcpy(bytes, OLD, sizeof OLD - 1);
        return *front = sizeof OLD - 1;
    }
    train_settings settings = volumes ? settings_default_volumes() : settings_default();
    settings.data = "digits";
    for (size_t k = 0; k < sizeof CHANGES / sizeof *CHANGES; k++)
        if (test_random(random) % 3 == 0)
            (void)settings_set(&settings, CHANGES[k][0], CHANGES[k][1], NULL); /* those that are none are left out */
    const run_facts facts = facts_of(volumes);
    require(run_config_write(fuzz_folder(), &settings, &facts, NULL) == STATUS_OK);
    return *front = fuzz_get("config.json", bytes);
}
