#include "picture/letters.h"

#include "testing.h"

enum { WIDTH = 20, HEIGHT = 9 };

/* '#' where it is drawn. */
static void expect(const char *words, size_t x, size_t y, const char *const rows[HEIGHT]) {
    uint8_t pixels[HEIGHT][WIDTH][3] = {0};
    const raster_target target = {&pixels[0][0][0], WIDTH, HEIGHT, {10, 20, 30}};
    letters_draw(&target, x, y, words);
    for (int row = 0; row < HEIGHT; row++)
        for (int column = 0; column < WIDTH; column++) {
            const uint8_t drawn[3] = {10, 20, 30}, empty[3] = {0};
            assert_memory_equal(pixels[row][column], rows[row][column] == '#' ? drawn : empty, 3);
        }
}

static void letters_are_drawn_as_capitals(void **state) {
    (void)state;
    const char *const rows[HEIGHT] = {"....................", ".#.....#####........", ".#.......#..........",
                                      ".#.......#..........", ".#.......#..........", ".#.......#..........",
                                      ".#.......#..........", ".#####...#..........", "...................."};
    expect("lt", 1, 1, rows);
    expect("LT", 1, 1, rows);
}

static void what_lies_outside_is_not_drawn(void **state) {
    (void)state;
    const char *const rows[HEIGHT] = {"....................", "....................", "....................",
                                      "....................", "....................", "....................",
                                      "..................##", "..................#.", "..................#."};
    expect("EEEE", 18, 6, rows);
}

/* An umlaut is one mark, though it has two bytes. */
static void a_character_is_one_mark(void **state) {
    (void)state;
    assert_int_equal(letters_width(""), 0);
    assert_int_equal(letters_width("abc"), 3 * LETTER_ADVANCE);
    assert_int_equal(letters_width("\xC3\xB6"
                                   "b"),
                     2 * LETTER_ADVANCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_drawn_as_capitals),
        cmocka_unit_test(what_lies_outside_is_not_drawn),
        cmocka_unit_test(a_character_is_one_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
