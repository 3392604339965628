/* Bytes as a CSV file of pictures or of a table: every example has a class and a part, every
   number of a table is finite. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "images/table_sets.h"

#include <math.h>

static void check_list(const example_list *list) {
    require(list->count >= 1 && list->labels.value_count >= 1);
    require(list->labels.value_count <= LABELLED_IMAGES_CLASSES_MAX);
    for (size_t k = 0; k < list->count; k++) {
        require(list->names[k] && list->parts[k] < DATA_PARTS);
        require(list->labels.of[k] >= 0 && list->labels.of[k] < list->labels.value_count);
        for (int c = 0; c < list->column_count; c++) require(list->columns[c].of[k] < list->columns[c].value_count);
    }
}

static void check_set(const labelled_images *set) {
    const size_t numbers = (size_t)set->count * labelled_images_stride(set);
    for (int64_t k = 0; k < set->count; k++) require(set->labels[k] < set->classes);
    for (size_t k = 0; k < numbers; k++) require(isfinite(set->values[k]));
}

static void try_table(const char *path, const example_options *options) {
    labelled_images sets[DATA_PARTS];
    failure failure = {0};
    const table_source source = {.path = path};
    const status_code status = table_sets_open(sets, &source, options, NULL, &failure);
    require(status == STATUS_OK || failure.message[0]);
    for (int p = 0; p < DATA_PARTS; p++) {
        if (status == STATUS_OK) check_set(&sets[p]);
        labelled_images_close(&sets[p]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    static const char *const CLASSES[] = {"0", "1", "cat"};
    const example_options options[] = {{0}, {.class_names = CLASSES, .class_count = 3}, {.unlabelled = 1}};
    fuzz_put("x.csv", data, size);
    const char *path = fuzz_path("x.csv");
    for (int k = 0; k < 3; k++) {
        example_list list;
        failure failure = {0};
        const status_code status = example_list_of_csv(&list, path, &options[k], NULL, &failure);
        require(status == STATUS_OK || failure.message[0]);
        if (status == STATUS_OK && !options[k].unlabelled) check_list(&list);
        example_list_close(&list);
    }
    int table;
    failure failure = {0};
    require(table_sets_is_table(path, &table, &failure) == STATUS_OK || failure.message[0]);
    if (table) try_table(path, &options[0]);
    return 0;
}
