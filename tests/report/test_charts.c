#include "markup.h"

#include "report/chart.h"

static line_chart chart_of(const series *series, size_t count) {
    return (line_chart){.title = "Loss",
                        .explanation = "Lower is better.",
                        .x_title = "epoch",
                        .floor = (double)NAN,
                        .ceiling = (double)NAN,
                        .series = series,
                        .count = count};
}

static text drawn(const series *line) {
    const line_chart chart = chart_of(line, 1);
    text page = {0};
    line_chart_write(&page, &chart);
    assert_false(page.failed);
    assert_good_page(page.bytes);
    return page;
}

static void lines_lie_where_their_values_are(void **state) {
    (void)state;
    const double x[] = {0, 5, 10}, y[] = {0, 10, 5};
    const series line = {.name = "A", .style = 0, .count = 3, .x = x, .y = y};
    text page = drawn(&line);
    /* The plot reaches from 46 to 350 and from 180 up to 8. */
    assert_non_null(strstr(page.bytes, "d=\"M46.0 180.0L198.0 8.0L350.0 94.0\""));
    assert_non_null(strstr(page.bytes, "data-e=\"0|5|10\""));
    assert_non_null(strstr(page.bytes, "data-t=\"0|10|5\""));
    assert_non_null(strstr(page.bytes, "role=\"img\" aria-label=\"Loss\""));
    assert_int_equal(occurrences(page.bytes, "class=\"mark\""), 3);
    assert_int_equal(occurrences(page.bytes, "<tr>"), 4);
    text_close(&page);
}

static void values_that_are_not_finite_leave_gaps(void **state) {
    (void)state;
    const double nan = (double)NAN, x[] = {0, 1, 2, 3, 4}, y[] = {0, 10, nan, 5, HUGE_VAL};
    const double low[] = {0, 1, 2, nan, 1}, high[] = {1, 10, 3, 4, 5};
    const series line = {.name = "A", .style = 0, .count = 5, .x = x, .y = y, .low = low, .high = high};
    text page = drawn(&line);
    assert_non_null(strstr(page.bytes, "d=\"M46.0 180.0L147.3 8.0M350.0 94.0\""));
    assert_int_equal(occurrences(page.bytes, "class=\"mark\""), 3);
    assert_int_equal(occurrences(page.bytes, "class=\"band\""), 1);
    text_close(&page);
}

static void one_point_is_a_marker(void **state) {
    (void)state;
    const double x[] = {1}, y[] = {0.5};
    const series line = {.name = "A", .style = 3, .count = 1, .x = x, .y = y};
    text page = drawn(&line);
    assert_int_equal(occurrences(page.bytes, "class=\"mark\""), 1);
    text_close(&page);
}

static void long_lines_are_thinned_but_keep_their_peaks(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    double *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y);
    for (int k = 0; k < COUNT; k++) x[k] = k, y[k] = k == 12345 ? 100 : 1;
    const series line = {.name = "A", .style = 0, .count = COUNT, .x = x, .y = y};
    text page = drawn(&line);
    assert_non_null(strstr(page.bytes, "|100|"));
    assert_true(page.size < 100000);
    text_close(&page);
    free(x);
    free(y);
}

/* As the confidences of two networks are. */
static void lines_with_other_x_are_all_in_the_table_and_tell_x_for_people(void **state) {
    (void)state;
    const double a[] = {18.58551353, 50}, b[] = {20.5, 60, 70}, y[] = {0.1, 0.2, 0.3};
    const series lines[] = {{.name = "A", .count = 2, .x = a, .y = y}, {.name = "B", .count = 3, .x = b, .y = y}};
    line_chart chart = chart_of(lines, 2);
    chart.x_title = "confidence, %";
    text page = {0};
    line_chart_write(&page, &chart);
    assert_good_page(page.bytes);
    assert_int_equal(occurrences(page.bytes, "<tr>"), 6);
    assert_non_null(strstr(page.bytes, "<tr><th scope=\"row\">18.6</th><td>0.100</td><td>\xE2\x80\x93</td></tr>"));
    assert_non_null(strstr(page.bytes, "<tr><th scope=\"row\">70</th><td>\xE2\x80\x93</td><td>0.300</td></tr>"));
    assert_non_null(strstr(page.bytes, "data-axis=\"confidence, %\""));
    assert_non_null(strstr(page.bytes, "data-l=\"18.6|50\""));
    text_close(&page);
}

/* What a browser finds under the pointer, which is at the x of one of them. */
static void long_lines_tell_of_the_same_x(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    double *x = malloc(COUNT * sizeof *x), *y = malloc(COUNT * sizeof *y), *z = malloc(COUNT * sizeof *z);
    for (int k = 0; k < COUNT; k++) x[k] = k, y[k] = k * 37 % 101, z[k] = k * 53 % 97;
    const series lines[] = {{.name = "A", .count = COUNT, .x = x, .y = y},
                            {.name = "B", .count = COUNT, .x = x, .y = z}};
    const line_chart chart = chart_of(lines, 2);
    text page = {0};
    line_chart_write(&page, &chart);
    assert_good_page(page.bytes);
    const char *first = strstr(page.bytes, "data-e=\""), *second = first ? strstr(first + 1, "data-e=\"") : NULL;
    assert_non_null(second);
    const size_t size = strcspn(first + 8, "\"");
    assert_true(size > 1000);
    assert_int_equal(strncmp(first + 8, second + 8, size + 1), 0);
    text_close(&page);
    free(x);
    free(y);
    free(z);
}

static void names_from_files_are_escaped_in_lines_and_bands(void **state) {
    (void)state;
    const double x[] = {1, 2}, y[] = {1, 2};
    const char *evil = "<b onload=\"x\">";
    const series line = {.name = evil, .count = 2, .x = x, .y = y};
    band_chart bands = {
        .title = evil, .label = evil, .x_title = "epoch", .count = 2, .x = x, .scale = scale_logarithmic(0.1, 10, 6)};
    for (int q = 0; q < QUANTILES; q++) bands.quantiles[q] = y;
    text page = drawn(&line);
    band_chart_write(&page, &bands);
    assert_good_page(page.bytes);
    assert_null(strstr(page.bytes, "<b onload"));
    text_close(&page);
}

static void names_from_files_are_escaped_in_dots_and_boxes(void **state) {
    (void)state;
    const char *evil = "<b onload=\"x\">", *names[] = {evil, "\"&'", evil, evil, evil}, *marks[] = {NULL, "<i>"};
    const double values[] = {0.1, (double)NAN}, scores[] = {0.5, 0.51, 0.52, 0.53, 0.1};
    const int styles[] = {0};
    const dot_chart dots = {.title = "T",
                            .explanation = "E",
                            .x_title = "x",
                            .rows = 2,
                            .runs = 1,
                            .row_names = names,
                            .row_marks = marks,
                            .run_names = names,
                            .styles = styles,
                            .values = values};
    const box_values box = {.values = scores, .count = 5, .names = names};
    const box_plot boxes = {.title = evil,
                            .explanation = "E",
                            .x_title = "x",
                            .rows = 1,
                            .runs = 1,
                            .row_names = names,
                            .run_names = names,
                            .styles = styles,
                            .boxes = &box,
                            .unit = UNIT_PERCENT,
                            .floor = 0,
                            .ceiling = 1};
    text page = {0};
    dot_chart_write(&page, &dots);
    assert_true(box_plot_write(&page, &boxes));
    assert_good_page(page.bytes);
    assert_null(strstr(page.bytes, "<b onload"));
    assert_null(strstr(page.bytes, "<i>"));
    assert_int_equal(occurrences(page.bytes, "class=\"outlier\""), 1);
    text_close(&page);
}

static void boxes_have_the_quartiles_and_tukeys_whiskers(void **state) {
    (void)state;
    const double sorted[] = {1, 10, 11, 12, 13, 14, 15, 16, 17, 40};
    const box_numbers box = box_plot_numbers(sorted, 10);
    assert_close(box.first_quartile, 11.25, 1e-12); /* as numpy.percentile has it */
    assert_close(box.median, 13.5, 1e-12);
    assert_close(box.third_quartile, 15.75, 1e-12);
    assert_close(box.low_whisker, 10, 0);
    assert_close(box.high_whisker, 17, 0);
    const double one[] = {3};
    const box_numbers alone = box_plot_numbers(one, 1);
    assert_close(alone.low_whisker, 3, 0);
    assert_close(alone.median, 3, 0);
    assert_close(alone.high_whisker, 3, 0);
}

static void empty_boxes_are_left_out(void **state) {
    (void)state;
    const double unknown[] = {(double)NAN, (double)NAN};
    const box_values boxes[2] = {{0}, {.values = unknown, .count = 2}};
    const char *const names[] = {"A", "B"};
    const int styles[] = {0};
    const box_plot plot = {.title = "T",
                           .explanation = "E",
                           .x_title = "x",
                           .rows = 2,
                           .runs = 1,
                           .row_names = names,
                           .run_names = names,
                           .styles = styles,
                           .boxes = boxes,
                           .floor = 0,
                           .ceiling = 1};
    text page = {0};
    assert_true(box_plot_write(&page, &plot));
    assert_good_page(page.bytes);
    assert_null(strstr(page.bytes, "<rect"));
    text_close(&page);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_lie_where_their_values_are),
        cmocka_unit_test(values_that_are_not_finite_leave_gaps),
        cmocka_unit_test(one_point_is_a_marker),
        cmocka_unit_test(long_lines_are_thinned_but_keep_their_peaks),
        cmocka_unit_test(lines_with_other_x_are_all_in_the_table_and_tell_x_for_people),
        cmocka_unit_test(long_lines_tell_of_the_same_x),
        cmocka_unit_test(names_from_files_are_escaped_in_lines_and_bands),
        cmocka_unit_test(names_from_files_are_escaped_in_dots_and_boxes),
        cmocka_unit_test(boxes_have_the_quartiles_and_tukeys_whiskers),
        cmocka_unit_test(empty_boxes_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
