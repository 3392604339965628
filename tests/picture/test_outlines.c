#include "picture/outlines.h"

#include "testing.h"

#include <math.h>
#include <png.h>
#include <unistd.h>

enum { WIDTH = 6, HEIGHT = 5, FACTOR = 8 }; /* small planes are enlarged eight times */

static uint8_t pixels[HEIGHT * FACTOR][WIDTH * FACTOR][3];

static void draw(const float *grey, const int16_t *reference, const int16_t *prediction) {
    char path[64];
    snprintf(path, sizeof path, "outlines_%ld.png", (long)getpid());
    const outlined_plane plane = {WIDTH, HEIGHT, grey, reference, prediction};
    assert_int_equal(outlined_plane_save(&plane, path, NULL), STATUS_OK);
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.width, WIDTH * FACTOR);
    assert_int_equal(image.height, HEIGHT * FACTOR);
    image.format = PNG_FORMAT_RGB;
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    unlink(path);
}

static void expect(int y, int x, int red, int green, int blue) {
    assert_int_equal(pixels[y][x][0], red);
    assert_int_equal(pixels[y][x][1], green);
    assert_int_equal(pixels[y][x][2], blue);
}

static void greys_reach_from_black_to_white_and_bad_voxels_are_black(void **state) {
    (void)state;
    float grey[HEIGHT * WIDTH];
    const int16_t nothing[HEIGHT * WIDTH] = {0};
    for (int k = 0; k < HEIGHT * WIDTH; k++) grey[k] = (float)(k % WIDTH) - 2;
    grey[1 * WIDTH] = NAN;
    grey[2 * WIDTH] = INFINITY;
    draw(grey, nothing, nothing);
    for (int x = 0; x < WIDTH * FACTOR; x++) expect(3, x, 51 * (x / FACTOR), 51 * (x / FACTOR), 51 * (x / FACTOR));
    expect(1 * FACTOR, 0, 0, 0, 0);
    expect(2 * FACTOR, 0, 0, 0, 0);
    for (int k = 0; k < HEIGHT * WIDTH; k++) grey[k] = 5;
    draw(grey, nothing, nothing);
    expect(9, 9, 0, 0, 0);
}

/* Reference: a block of 3 x 3; prediction: its left two columns, in two labels. */
static void edges_of_each_label_are_outlined(void **state) {
    (void)state;
    float grey[HEIGHT * WIDTH] = {0};
    int16_t reference[HEIGHT * WIDTH] = {0}, prediction[HEIGHT * WIDTH] = {0};
    for (int y = 1; y <= 3; y++)
        for (int x = 1; x <= 3; x++) {
            reference[y * WIDTH + x] = 1;
            if (x <= 2) prediction[y * WIDTH + x] = y <= 2 ? 1 : 2;
        }
    prediction[0] = -1; /* ignored: no outline */
    draw(grey, reference, prediction);
    expect(0, 0, 0, 0, 0);
    expect(1 * FACTOR, 1 * FACTOR, 255, 255, 255);     /* both */
    expect(1 * FACTOR + 4, 1 * FACTOR + 4, 0, 0, 0);   /* inside the voxel nothing is covered */
    expect(1 * FACTOR, 3 * FACTOR, 230, 159, 0);       /* the reference alone */
    expect(2 * FACTOR, 2 * FACTOR, 0, 0, 0);           /* inside both */
    expect(2 * FACTOR, 3 * FACTOR - 1, 86, 180, 233);  /* inside the reference, right edge of the prediction */
    expect(3 * FACTOR, 2 * FACTOR, 86, 180, 233);      /* between two labels of the prediction */
    expect(4 * FACTOR - 1, 2 * FACTOR, 255, 255, 255); /* the bottom of both */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greys_reach_from_black_to_white_and_bad_voxels_are_black),
        cmocka_unit_test(edges_of_each_label_are_outlined),
    };
    return cmocka_run_group_tests_name("outlines", tests, NULL, NULL);
}
