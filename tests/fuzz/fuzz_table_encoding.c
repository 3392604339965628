/* Bytes as a features.csv: what is accepted encodes rows in finite numbers or refuses them, and
   comes back as it was written. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "images/labelled_images.h"
#include "images/table_encoding.h"

#include <math.h>

static void check_again(const table_encoding *encoding) {
    table_encoding again;
    text out = {0};
    table_encoding_write(encoding, &out);
    fuzz_put("again.csv", out.bytes, out.size);
    require(table_encoding_read(&again, fuzz_path("again.csv"), NULL) == STATUS_OK);
    require(again.count == encoding->count && again.width == encoding->width);
    for (int k = 0; k < again.count; k++) {
        const table_feature *a = &encoding->features[k], *b = &again.features[k];
        require(strcmp(a->name, b->name) == 0 && a->words == b->words && a->mean == b->mean && a->std == b->std);
    }
    table_encoding_close(&again);
    text_close(&out);
}

/* A table that has each of its columns once, with the numbers that are hardest to encode. */
static void check_row(const table_encoding *encoding) {
    static const char *const CELLS[] = {"1.7e308", "-1.7e308", "5e-324", "word", ""};
    static float numbers[LABELLED_IMAGES_CHANNELS_MAX];
    csv table;
    text out = {0};
    for (int k = 0; k < encoding->count; k++) {
        if (k) text_add(&out, ",");
        csv_add_field(&out, encoding->features[k].name);
    }
    for (size_t cell = 0; cell < 5; cell++)
        for (int k = 0; k < encoding->count; k++) text_format(&out, "%c%s", k ? ',' : '\n', CELLS[cell]);
    if (csv_parse(&table, "table", out.bytes, out.size, CSV_STRICT, NULL) == STATUS_OK) {
        require(table_encoding_check(encoding, &table, "table", NULL) == STATUS_OK);
        for (size_t row = 0; row < table.rows; row++) {
            if (table_encoding_row(encoding, &table, "table", row, numbers, NULL) != STATUS_OK) continue;
            for (int k = 0; k < encoding->width; k++) require(isfinite(numbers[k]));
        }
    }
    csv_close(&table);
    text_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    table_encoding encoding;
    failure failure = {0};
    fuzz_put("features.csv", data, size);
    const status_code status = table_encoding_read(&encoding, fuzz_path("features.csv"), &failure);
    require(status == STATUS_OK || failure.message[0]);
    if (status == STATUS_OK) {
        require(encoding.width >= 1 && encoding.width <= LABELLED_IMAGES_CHANNELS_MAX);
        check_again(&encoding);
        check_row(&encoding);
    }
    table_encoding_close(&encoding);
    return 0;
}
