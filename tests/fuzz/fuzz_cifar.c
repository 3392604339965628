/* Bytes as one of CIFAR-10's files: images with classes, or refused. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "images/cifar.h"

enum { RECORD = 3073 };

static void make_others(void) {
    static uint8_t record[RECORD];
    char name[32];
    if (access(fuzz_path("test_batch.bin"), F_OK) == 0) return;
    for (int k = 2; k <= 5; k++) {
        snprintf(name, sizeof name, "data_batch_%d.bin", k);
        fuzz_put(name, record, RECORD);
    }
    fuzz_put("test_batch.bin", record, RECORD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    labelled_images train, test;
    failure failure = {0};
    make_others();
    fuzz_put("data_batch_1.bin", data, size);
    const status_code status = cifar_open(&train, &test, fuzz_folder(), &failure);
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    if (status == STATUS_OK) require((size_t)train.count == size / RECORD + 4 && size % RECORD == 0);
    for (int64_t k = 0; status == STATUS_OK && k < train.count; k++) require(train.labels[k] < 10);
    labelled_images_close(&train);
    labelled_images_close(&test);
    return 0;
}
