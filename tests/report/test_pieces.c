#define _POSIX_C_SOURCE 200809L
#include "testing.h"

#include "picture/png.h"
#include "report/html.h"
#include "report/scale.h"
#include "report/style.h"

#include <png.h>
#include <unistd.h>

static void escapes(const char *string, const char *expected) {
    text page = {0};
    html_escape(&page, string);
    assert_string_equal(text_string(&page), expected);
    text_close(&page);
}

static void what_could_be_markup_is_escaped(void **state) {
    (void)state;
    escapes("", "");
    escapes("a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;");
    escapes("</script><img src=x>", "&lt;/script&gt;&lt;img src=x&gt;");
    escapes("\xCE\xB2=10 \xE2\x82\xAC \xF0\x9F\x98\x80", "\xCE\xB2=10 \xE2\x82\xAC \xF0\x9F\x98\x80");
    escapes("a\tb\nc", "a b c");
}

#define NO "\xEF\xBF\xBD"

static void what_is_not_text_becomes_a_replacement_character(void **state) {
    (void)state;
    escapes("\x01\x7F", NO NO);
    escapes("a\xFFz", "a" NO "z");
    escapes("\xC3", NO);                      /* cut off */
    escapes("\xE2\x82", NO NO);               /* cut off */
    escapes("\xC0\xBC", NO NO);               /* an overlong < */
    escapes("\xC2\x85", NO NO);               /* a control character */
    escapes("\xED\xA0\x80", NO NO NO);        /* a surrogate */
    escapes("\xF4\x90\x80\x80", NO NO NO NO); /* beyond Unicode */
}

static void long_text_ends_with_an_ellipsis(void **state) {
    (void)state;
    char longest[5001];
    memset(longest, '<', 5000);
    longest[5000] = 0;
    text page = {0};
    html_escape(&page, longest);
    assert_int_equal(page.size, 4 * 2000 + 3);
    text_close(&page);
}

static void bytes_become_base_64(void **state) {
    (void)state;
    static const char *const PAIRS[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"foobar", "Zm9vYmFy"},
                                           {"\xFF\xFE\xFD", "//79"}};
    for (size_t k = 0; k < sizeof PAIRS / sizeof *PAIRS; k++) {
        text page = {0};
        html_base64(&page, PAIRS[k][0], strlen(PAIRS[k][0]));
        assert_string_equal(text_string(&page), PAIRS[k][1]);
        text_close(&page);
    }
}

static void ticks_are(scale scale, const char *expected) {
    double ticks[SCALE_MAX_TICKS];
    char all[600] = "", label[NUMBER_SIZE];
    const int count = scale_ticks(&scale, ticks);
    for (int k = 0; k < count; k++) {
        scale_label(&scale, ticks[k], label);
        if (k) strcat(all, " ");
        strcat(all, label);
    }
    assert_string_equal(all, expected);
}

static void ticks_are_round_numbers(void **state) {
    (void)state;
    ticks_are(scale_round(0, 1), "0.0 0.2 0.4 0.6 0.8 1.0");
    ticks_are(scale_round(0.13, 0.97), "0.0 0.2 0.4 0.6 0.8 1.0");
    ticks_are(scale_round(-3, 42), "-10 0 10 20 30 40 50");
    ticks_are(scale_round(0.98, 0.99), "0.980 0.982 0.984 0.986 0.988 0.990");
    ticks_are(scale_round(5, 5), "2 3 4 5 6 7 8");
    ticks_are(scale_round(0, 0), "-1.0 -0.5 0.0 0.5 1.0");
    ticks_are(scale_round(0, 60000), "0 20,000 40,000 60,000");
    ticks_are(scale_whole(1, 6), "1 2 3 4 5 6");
    ticks_are(scale_whole(1, 60), "10 20 30 40 50 60");
    ticks_are(scale_whole(1, 1), "0 1 2");
    ticks_are(scale_logarithmic(0.02, 30, 6), "0.01 0.1 1 10 100");
    ticks_are(scale_logarithmic(0, 1, 3), "0.001 0.01 0.1 1");
    ticks_are(scale_logarithmic(1, 1, 6), "0.1 1");
    ticks_are(scale_logarithmic(1e-6, 1e-5, 6), "10\xE2\x81\xBB\xE2\x81\xB6 10\xE2\x81\xBB\xE2\x81\xB5");
}

static void any_range_gives_a_scale_that_holds_it(void **state) {
    (void)state;
    uint64_t random = 7;
    for (int round = 0; round < 20000; round++) {
        const double low = (test_unit(&random) - 0.5) * pow(10, 40 * test_unit(&random) - 20);
        const double high = low + fabs(low) * 1e-5 + pow(10, 40 * test_unit(&random) - 20);
        const scale scale = scale_round(low, high);
        assert_true(scale.low < scale.high && scale.step > 0);
        assert_true(scale.low <= low + 1e-6 * scale.step && scale.high >= high - 1e-6 * scale.step);
        double ticks[SCALE_MAX_TICKS];
        char label[NUMBER_SIZE];
        const int count = scale_ticks(&scale, ticks);
        assert_in_range(count, 2, SCALE_MAX_TICKS);
        for (int k = 0; k < count; k++) {
            scale_label(&scale, ticks[k], label);
            assert_true(strlen(label) < NUMBER_SIZE);
            assert_true(isfinite(scale_place(&scale, ticks[k], 0, 100)));
        }
    }
}

static void values_are_placed_between_the_ends(void **state) {
    (void)state;
    const scale linear = scale_round(0, 10), decades = scale_logarithmic(0.01, 100, 6);
    assert_near(scale_place(&linear, 2.5, 100, 200), 125, 1e-9);
    assert_near(scale_place(&linear, 2.5, 200, 100), 175, 1e-9);
    assert_near(scale_place(&linear, 99, 100, 200), 200, 1e-9);
    assert_near(scale_place(&decades, 1, 0, 4), 2, 1e-9);
    assert_near(scale_place(&decades, 0, 0, 4), 0, 1e-9);
    assert_near(scale_place(&decades, -5, 0, 4), 0, 1e-9);
}

static void numbers_read_well(void **state) {
    (void)state;
    char label[NUMBER_SIZE];
    static const struct {
        double value;
        const char *text;
    } NUMBERS[] = {{53930, "53,930"},
                   {1234567, "1,234,567"},
                   {-1234.4, "-1,234"},
                   {0, "0"},
                   {-0.0, "0"},
                   {0.01234, "0.0123"},
                   {12.345, "12.3"},
                   {3, "3"},
                   {1e-7, "1e-07"},
                   {1e300, "1e+300"},
                   {(double)NAN, "\xE2\x80\x93"}};
    for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++) {
        number_format(NUMBERS[k].value, label);
        assert_string_equal(label, NUMBERS[k].text);
    }
    number_percent(0.9789, label);
    assert_string_equal(label, "97.9\xC2\xA0%");
    number_percent(HUGE_VAL, label);
    assert_string_equal(label, "\xE2\x80\x93");
    number_share(0.01, label);
    assert_string_equal(label, "1\xC2\xA0%");
    number_loss(6, label);
    assert_string_equal(label, "6.00");
    number_duration(75, label);
    assert_string_equal(label, "75\xC2\xA0s");
    number_duration(7200, label);
    assert_string_equal(label, "2.0\xC2\xA0h");
}

static void styles_repeat_only_after_24(void **state) {
    (void)state;
    for (int a = 0; a < 24; a++)
        for (int b = 0; b < a; b++)
            assert_true(style_colour(a) != style_colour(b) || strcmp(style_dash(a), style_dash(b)) != 0);
}

/* Reads with libpng itself what png_save wrote. */
static void reads_back(size_t width, size_t height, png_colour colour) {
    char path[] = "/tmp/hws_png_XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    const size_t size = width * height * (size_t)colour;
    unsigned char *pixels = malloc(size), *again = malloc(size), head[33];
    uint64_t random = 3;
    for (size_t k = 0; k < size; k++) pixels[k] = (unsigned char)test_random(&random);
    assert_int_equal(png_save(path, pixels, width, height, colour, NULL), STATUS_OK);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_true(image.width == width && image.height == height);
    image.format = colour == PNG_GREY ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, again, 0, NULL));
    assert_memory_equal(pixels, again, size);
    FILE *file = fopen(path, "rb");
    unsigned w, h;
    assert_int_equal(fread(head, 1, sizeof head, file), sizeof head);
    assert_true(png_size(head, sizeof head, &w, &h));
    assert_true(w == width && h == height);
    assert_false(png_size(head, sizeof head - 1, &w, &h));
    head[1] = 'X';
    assert_false(png_size(head, sizeof head, &w, &h));
    fclose(file);
    remove(path);
    free(pixels);
    free(again);
}

static void libpng_reads_our_pictures(void **state) {
    (void)state;
    reads_back(28, 28, PNG_GREY);
    reads_back(1, 1, PNG_GREY);
    reads_back(50, 37, PNG_RGB);
    reads_back(1, 300, PNG_RGB);
}

static void pictures_that_cannot_be_written_say_why(void **state) {
    (void)state;
    const unsigned char pixel[3] = {1, 2, 3};
    failure why;
    assert_int_equal(png_save("no/such/folder/x.png", pixel, 1, 1, PNG_GREY, &why), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(why.message, "no/such/folder/x.png"));
    assert_int_equal(png_save("x.png", pixel, 0, 1, PNG_GREY, &why), STATUS_BAD_INPUT);
    assert_int_equal(png_save("x.png", pixel, 1, 1000000, PNG_GREY, &why), STATUS_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_could_be_markup_is_escaped),
        cmocka_unit_test(what_is_not_text_becomes_a_replacement_character),
        cmocka_unit_test(long_text_ends_with_an_ellipsis),
        cmocka_unit_test(bytes_become_base_64),
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(any_range_gives_a_scale_that_holds_it),
        cmocka_unit_test(values_are_placed_between_the_ends),
        cmocka_unit_test(numbers_read_well),
        cmocka_unit_test(styles_repeat_only_after_24),
        cmocka_unit_test(libpng_reads_our_pictures),
        cmocka_unit_test(pictures_that_cannot_be_written_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
