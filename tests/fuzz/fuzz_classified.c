/* Bytes as an examples.csv: what is accepted can be compared with itself. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "evaluate/compare_classes.h"
#include "fuzz_folder.h"

enum { FEW = 4096 }; /* bytes: intervals of more examples take their time */

static void check(const classified *c) {
    require(c->count >= 1 && c->classes >= 1);
    for (int64_t k = 0; k < c->count; k++) require(c->labels[k] < c->classes && classified_example(c, k));
    for (int64_t k = 0; k < c->count * c->classes; k++) require(c->probabilities[k] >= 0 && c->probabilities[k] <= 1);
    for (size_t column = c->first_group_column; column < c->table.columns; column++) {
        classified_groups groups;
        require(classified_groups_of(c, column, &groups, NULL) == STATUS_OK);
        for (int64_t k = 0; k < c->count; k++) require(groups.of[k] >= -1 && groups.of[k] < groups.count);
        classified_groups_close(&groups);
    }
}

static void compare_with_itself(const char *path) {
    static compared_classes compared;
    const char *const paths[] = {path, path};
    const compare_classes_request request = {.count = 2, .paths = paths};
    failure failure = {0};
    text out = {0};
    const status_code status = compare_classes(&compared, &request, NULL, &failure);
    require(status == STATUS_OK || failure.message[0]);
    for (int format = 0; status == STATUS_OK && format < 5; format++)
        require(compared_classes_write(&compared, (table_format)format, &out, NULL) == STATUS_OK);
    for (size_t k = 0; status == STATUS_OK && k < compared.stratum_count; k++)
        require(compared.strata[k].rows[1].difference.only_first == 0);
    compared_classes_close(&compared);
    text_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FEW) return 0;
    static classified c;
    failure failure = {0};
    fuzz_put("examples.csv", data, size);
    const char *path = fuzz_path("examples.csv");
    const status_code status = classified_open(&c, path, &failure);
    require(status == STATUS_OK || failure.message[0]);
    if (status == STATUS_OK) check(&c);
    classified_close(&c);
    if (status == STATUS_OK) compare_with_itself(path);
    return 0;
}
