/* Bytes as a groups.csv: whatever is accepted has every case in one row, where it is found. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "dataset/case_groups.h"
#include "fuzz_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    case_groups groups;
    failure failure = {0};
    fuzz_put("groups.csv", data, size);
    const status_code status = case_groups_read(&groups, fuzz_path("groups.csv"), &failure);
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    for (size_t row = 0; status == STATUS_OK && row < groups.table.rows; row++)
        require(case_groups_find(&groups, csv_cell(&groups.table, row, 0)) == (long)row);
    require(status != STATUS_OK || (groups.table.columns >= 2 && case_groups_find(&groups, "") == -1));
    case_groups_close(&groups);
    return 0;
}
