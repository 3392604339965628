/* Bytes as a CSV file: what is accepted is the same after it was written and read again. */
#include "core/csv.h"
#include "fuzz.h"

#include <string.h>

static void write_all(const csv *table, text *out) {
    for (size_t k = 0; k < (table->rows + 1) * table->columns; k++) {
        csv_add_field(out, table->cells[k]);
        text_add(out, (k + 1) % table->columns ? "," : "\n");
    }
}

static void check_same(const csv *a, const csv *b) {
    require(a->rows == b->rows && a->columns == b->columns);
    for (size_t k = 0; k < (a->rows + 1) * a->columns; k++) require(strcmp(a->cells[k], b->cells[k]) == 0);
}

static void check(const csv *table) {
    csv again;
    text out = {0};
    for (size_t k = 0; k < table->columns; k++) require(csv_column(table, csv_name(table, k)) == (long)k);
    for (size_t row = 1; row <= table->rows; row++) require(table->lines[row] > table->lines[row - 1]);
    if (table->columns == 1) return; /* whose empty cells are empty lines */
    write_all(table, &out);
    require(csv_parse(&again, "again", out.bytes, out.size, CSV_STRICT, NULL) == STATUS_OK);
    check_same(table, &again);
    csv_close(&again);
    text_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    csv strict, lenient;
    failure failure = {0};
    const status_code status = csv_parse(&strict, "data", (const char *)data, size, CSV_STRICT, &failure);
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0] && !strict.cells));
    const status_code second = csv_parse(&lenient, "data", (const char *)data, size, CSV_LEAVE_OUT_SHORT_ROWS, NULL);
    if (status == STATUS_OK) require(second == STATUS_OK && lenient.left_out == 0);
    if (status == STATUS_OK) check_same(&strict, &lenient);
    if (second == STATUS_OK) check(&lenient);
    csv_close(&strict);
    csv_close(&lenient);
    return 0;
}
