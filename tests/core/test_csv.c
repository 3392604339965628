#include "testing.h"

#include "core/csv.h"

#define READ(table, string, mode, why) csv_parse(table, "x.csv", string, sizeof(string) - 1, mode, why)

static void rows_and_columns_are_found_by_name(void **state) {
    (void)state;
    csv table;
    assert_int_equal(READ(&table, "case,group,Dice\na,control,0.5\nb,,nan\n", CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(table.rows, 2);
    assert_int_equal(table.columns, 3);
    assert_int_equal(csv_column(&table, "Dice"), 2);
    assert_int_equal(csv_column(&table, "dice"), -1);
    assert_int_equal(csv_column_any_case(&table, "dice"), 2);
    assert_int_equal(csv_column_any_case(&table, "dices"), -1);
    assert_string_equal(csv_name(&table, 1), "group");
    assert_string_equal(csv_cell(&table, 0, 1), "control");
    assert_string_equal(csv_cell(&table, 1, 1), "");
    assert_close(csv_number(&table, 0, 2), 0.5, 0);
    assert_true(isnan(csv_number(&table, 1, 1)));
    assert_true(isnan(csv_number(&table, 1, 2)));
    assert_true(isnan(csv_number(&table, 0, 0)));
    csv_close(&table);
    csv_close(&table);
}

static void quotes_hold_commas_line_ends_and_quotes(void **state) {
    (void)state;
    csv table;
    failure why;
    assert_int_equal(READ(&table, "a,b\n\"x,\"\"y\"\"\n\",\"\"\n\"\",2\n", CSV_STRICT, NULL), STATUS_OK);
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_cell(&table, 0, 0), "x,\"y\"\n");
    assert_string_equal(csv_cell(&table, 0, 1), "");
    assert_string_equal(csv_cell(&table, 1, 0), "");
    double value;
    assert_int_equal(csv_require_number(&table, "x.csv", 1, 1, &value, &why), STATUS_OK);
    assert_close(value, 2, 0);
    assert_int_equal(csv_require_number(&table, "x.csv", 0, 0, &value, &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "x.csv, line 2: a is"));
    assert_int_equal(csv_require_number(&table, "x.csv", 1, 0, &value, &why), STATUS_CORRUPT);
    assert_non_null(strstr(why.message, "line 4"));
    csv_close(&table);
}

static void line_ends_of_all_systems_and_missing_last_ones_are_read(void **state) {
    (void)state;
    csv table;
    assert_int_equal(READ(&table,
                          "\xEF\xBB\xBF"
                          "a,b\r\n1,2\r\n\r\n\n3,\"4\"",
                          CSV_STRICT, NULL),
                     STATUS_OK);
    assert_string_equal(csv_name(&table, 0), "a");
    assert_int_equal(table.rows, 2);
    assert_string_equal(csv_cell(&table, 0, 1), "2");
    assert_string_equal(csv_cell(&table, 1, 1), "4");
    assert_int_equal(table.lines[2], 5);
    csv_close(&table);
    assert_int_equal(READ(&table, "a,b\n1,", CSV_STRICT, NULL), STATUS_OK);
    assert_string_equal(csv_cell(&table, 0, 1), "");
    csv_close(&table);
    assert_int_equal(READ(&table, "a\nb\r", CSV_STRICT, NULL), STATUS_OK);
    assert_string_equal(csv_cell(&table, 0, 0), "b");
    csv_close(&table);
}

static void refused(const char *bytes, size_t size, const char *words) {
    csv table;
    failure why = {0};
    assert_int_equal(csv_parse(&table, "x.csv", bytes, size, CSV_STRICT, &why), STATUS_CORRUPT);
    assert_int_equal(table.rows, 0);
    assert_null(table.cells);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
}
#define REFUSED(string, words) refused(string, sizeof(string) - 1, words)

static void what_is_not_a_table_is_refused_with_its_line(void **state) {
    (void)state;
    REFUSED("", "empty");
    REFUSED("\n\n", "empty");
    REFUSED("\xEF\xBB\xBF", "empty");
    REFUSED("a,b\n1\n", "line 2: 1 fields where the header has 2");
    REFUSED("a,b\n1,2\n1,2,3\n", "line 3: 3 fields");
    REFUSED("a,a\n", "two columns are called 'a'");
    REFUSED("a,,b\n", "column 2 has no name; give it one");
    REFUSED(",a,b\n0,1,2\n", "column 1 has no name; give it one, or leave it out, as pandas does");
    REFUSED("a;b\n1,5;2\n", "2 fields where the header has 1; is the file separated by ';'?");
    REFUSED("a\tb\n1,5\t2\n", "is the file separated by tabs?");
    REFUSED("a\n\"x\n", "line 2: a quoted field is never closed");
    REFUSED("a\n\"x\"y\n", "line 2: text follows");
    REFUSED("a\nx\"y\"\n", "line 2: a quote inside");
    REFUSED("a\n\0\n", "zero bytes");
    REFUSED("\"", "never closed");
}

static void rows_that_were_cut_short_can_be_left_out(void **state) {
    (void)state;
    csv table;
    assert_int_equal(READ(&table, "a,b,c\n1,2,3\n4,5\n6,7,8\n9", CSV_LEAVE_OUT_SHORT_ROWS, NULL), STATUS_OK);
    assert_int_equal(table.rows, 2);
    assert_int_equal(table.left_out, 2);
    assert_string_equal(csv_cell(&table, 1, 2), "8");
    csv_close(&table);
    assert_int_equal(READ(&table, "a,b\n1,2,3\n", CSV_LEAVE_OUT_SHORT_ROWS, NULL), STATUS_CORRUPT);
}

static void files_that_cannot_be_read_are_named(void **state) {
    (void)state;
    csv table;
    failure why;
    assert_int_equal(csv_read(&table, "no/such/file.csv", CSV_STRICT, &why), STATUS_CANNOT_READ);
    assert_non_null(strstr(why.message, "no/such/file.csv"));
    assert_int_equal(csv_read(&table, "/", CSV_STRICT, &why), STATUS_CORRUPT);
    assert_int_equal(csv_read(&table, "/dev/zero", CSV_STRICT, &why), STATUS_CORRUPT);
}

static void random_bytes_never_crash(void **state) {
    (void)state;
    uint64_t random = 1;
    const char letters[] = "ab,,\"\"\n\r1";
    for (int round = 0; round < 20000; round++) {
        char bytes[40];
        const size_t size = test_random(&random) % sizeof bytes;
        for (size_t k = 0; k < size; k++) bytes[k] = letters[test_random(&random) % (sizeof letters - 1)];
        csv table;
        const csv_mode mode = round % 2 ? CSV_STRICT : CSV_LEAVE_OUT_SHORT_ROWS;
        if (csv_parse(&table, "x.csv", bytes, size, mode, NULL) != STATUS_OK) continue;
        size_t letters_read = 0;
        for (size_t row = 0; row < table.rows; row++)
            for (size_t k = 0; k < table.columns; k++) letters_read += strlen(csv_cell(&table, row, k));
        assert_true(letters_read <= size);
        csv_close(&table);
    }
}

static void what_is_written_is_read_again(void **state) {
    (void)state;
    static const char *const FIELDS[] = {"plain", "a, b", "say \"b\"", "two\nlines", ""};
    text out = {0};
    csv table;
    text_add(&out, "field,number,none\n");
    for (int k = 0; k < 5; k++) {
        csv_add_field(&out, FIELDS[k]);
        csv_add_number(&out, k + 0.125);
        csv_add_number(&out, NAN);
        text_add(&out, "\n");
    }
    assert_int_equal(csv_parse(&table, "x.csv", out.bytes, out.size, CSV_STRICT, NULL), STATUS_OK);
    for (size_t k = 0; k < 5; k++) {
        assert_string_equal(csv_cell(&table, k, 0), FIELDS[k]);
        assert_true(csv_number(&table, k, 1) == (double)k + 0.125);
        assert_string_equal(csv_cell(&table, k, 2), "nan");
    }
    csv_close(&table);
    text_close(&out);
}

static void a_first_name_that_begins_like_a_byte_order_mark_is_read_again(void **state) {
    (void)state;
    static const char NAME[] = "\xEF\xBB\xBFname";
    text out = {0};
    csv table;
    csv_add_field(&out, NAME);
    text_add(&out, ",b\n1,2\n");
    assert_int_equal(csv_parse(&table, "x.csv", out.bytes, out.size, CSV_STRICT, NULL), STATUS_OK);
    assert_string_equal(csv_name(&table, 0), NAME);
    csv_close(&table);
    text_close(&out);
}

static void spaces_around_cells_can_be_taken_off(void **state) {
    (void)state;
    static const char BYTES[] = " a ,b\n\t x y  ,\"  \"\nz,\n";
    csv table;
    assert_int_equal(csv_parse(&table, "t", BYTES, sizeof BYTES - 1, CSV_STRICT, NULL), STATUS_OK);
    csv_trim(&table);
    assert_string_equal(csv_name(&table, 0), " a ");
    assert_string_equal(csv_cell(&table, 0, 0), "x y");
    assert_string_equal(csv_cell(&table, 0, 1), "");
    assert_string_equal(csv_cell(&table, 1, 0), "z");
    csv_close(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spaces_around_cells_can_be_taken_off),
        cmocka_unit_test(rows_and_columns_are_found_by_name),
        cmocka_unit_test(quotes_hold_commas_line_ends_and_quotes),
        cmocka_unit_test(line_ends_of_all_systems_and_missing_last_ones_are_read),
        cmocka_unit_test(what_is_not_a_table_is_refused_with_its_line),
        cmocka_unit_test(rows_that_were_cut_short_can_be_left_out),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(random_bytes_never_crash),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(a_first_name_that_begins_like_a_byte_order_mark_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
