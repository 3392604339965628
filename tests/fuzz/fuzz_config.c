/* Bytes as a config.json: whatever is accepted is the same after it was written and read again. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "run/config.h"

#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

static void check_facts(const run_facts *facts) {
    require(facts->class_count >= 0 && (facts->class_names != NULL || !facts->class_count));
    for (int k = 0; k < facts->class_count; k++) require(facts->class_names[k]);
    if (facts->task != TASK_CLASSIFICATION) return;
    require(facts->height >= 1 && facts->width >= 1 && facts->channels >= 1 && facts->class_count >= 1);
    require(isfinite(facts->pixel_mean) && facts->pixel_std > 0 && isfinite(facts->pixel_std));
}

static void check_again(const run_config *config) {
    run_config again;
    failure failure = {0};
    mkdir(fuzz_path("again"), 0700);
    require(run_config_write(fuzz_path("again"), &config->settings, &config->facts, NULL) == STATUS_OK);
    if (run_config_open(&again, fuzz_path("again"), &failure) != STATUS_OK) {
        fprintf(stderr, "%s\n", failure.message);
        abort();
    }
    const char *difference = settings_difference(&config->settings, &again.settings);
    if (difference) fprintf(stderr, "%s differs\n", difference);
    require(!difference && again.facts.task == config->facts.task);
    require(again.facts.class_count == config->facts.class_count);
    run_config_close(&again);
}

static void try_others(void) {
    task_kind task;
    json_t *entries = NULL;
    failure failure = {0};
    train_settings settings = settings_default();
    require(run_config_task(fuzz_folder(), &task, &failure) == STATUS_OK || failure.message[0]);
    if (run_config_entries(fuzz_folder(), &entries, &failure) == STATUS_OK) require(json_is_object(entries));
    json_decref(entries);
    if (run_config_read_settings(&settings, fuzz_path("config.json"), &failure) == STATUS_OK)
        (void)settings_check(&settings, &failure);
    settings_close(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    run_config config;
    failure failure = {0};
    fuzz_put("config.json", data, size);
    const status_code status = run_config_open(&config, fuzz_folder(), &failure);
    require(status == STATUS_OK || failure.message[0]);
    if (status == STATUS_OK) check_facts(&config.facts);
    if (status == STATUS_OK && config.facts.task != TASK_UNKNOWN) check_again(&config);
    if (status == STATUS_OK) run_config_close(&config);
    try_others();
    return 0;
}
