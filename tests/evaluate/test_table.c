#include "evaluate/table.h"

#include "testing.h"

static void open_example(table *table) {
    table_open(table, "50% of A_B", 1, "name|x|longer");
    table_add_row(table, 0);
    table_put(table, 0, "a|b, \"c\"");
    table_put(table, 1, "%.1f", 1.5);
    table_put(table, 2, "7");
    table_at(table, 0, 1)->bold = 1;
    table_add_row(table, 1);
    table_put(table, 0, "$x_1^2\\");
    table_put(table, 1, "10.0");
}

static void assert_written(table_format format, const char *expected) {
    table table;
    text out = {0};
    open_example(&table);
    assert_int_equal(table_write(&table, format, &out, NULL), STATUS_OK);
    assert_string_equal(text_string(&out), expected);
    text_close(&out);
    table_close(&table);
}

static void p_has_three_digits_or_an_exponent(void **state) {
    (void)state;
    table table;
    open_example(&table);
    const struct {
        double p;
        const char *words;
    } expected[] = {{0.0421, "0.042"}, {0.001, "0.001"}, {0.00012, "1.2e-04"}, {1, "1.000"}, {(double)NAN, "-"}};
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        table_put_p(&table, 2, expected[k].p);
        assert_string_equal(table_at(&table, 1, 2)->words, expected[k].words);
    }
    table_close(&table);
}

static void a_table_looks_right_in_every_format(void **state) {
    (void)state;
    assert_written(TABLE_TEXT, "50% of A_B\n"
                               "name         x   longer\n"
                               "-----------------------\n"
                               "a|b, \"c\"   1.5*       7\n"
                               "-----------------------\n"
                               "$x_1^2\\   10.0\n");
    assert_written(TABLE_CSV, "name,x,longer\n\"a|b, \"\"c\"\"\",1.5,7\n$x_1^2\\,10.0,\n");
    assert_written(TABLE_MARKDOWN, "**50% of A\\_B**\n\n"
                                   "| name | x | longer |\n"
                                   "|---|---:|---:|\n"
                                   "| a\\|b, \"c\" | **1.5** | 7 |\n"
                                   "| $x\\_1^2\\\\ | 10.0 |  |\n");
    assert_written(TABLE_LATEX, "\\begin{table}\n  \\centering\n  \\caption{50\\% of A\\_B}\n  \\begin{tabular}{lrr}\n"
                                "    \\toprule\n    name & x & longer \\\\\n    \\midrule\n"
                                "    a|b, \"c\" & \\textbf{1.5} & 7 \\\\\n    \\midrule\n"
                                "    \\$x\\_1\\^{}2\\textbackslash{} & 10.0 &  \\\\\n"
                                "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n");
}

static void cells_that_are_too_long_are_cut(void **state) {
    (void)state;
    char words[500];
    memset(words, 'x', sizeof words - 1);
    words[sizeof words - 1] = 0;
    table table;
    table_open(&table, words, 1, words);
    table_add_row(&table, 0);
    table_put(&table, 0, "%s", words);
    assert_int_equal(strlen(table_at(&table, 0, 0)->words), TABLE_CELL_BYTES - 1);
    table_close(&table);
}

static void formats_are_known_by_name(void **state) {
    (void)state;
    table_format format;
    assert_true(table_format_parse("latex", &format) && format == TABLE_LATEX);
    assert_true(table_format_parse("text", &format) && format == TABLE_TEXT);
    assert_false(table_format_parse("html", &format));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p_has_three_digits_or_an_exponent),
        cmocka_unit_test(a_table_looks_right_in_every_format),
        cmocka_unit_test(cells_that_are_too_long_are_cut),
        cmocka_unit_test(formats_are_known_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
