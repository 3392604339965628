/* A small PNG or JPEG file. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "picture/png.h"
#include "testing.h"

#include <jpeglib.h>

static size_t as_png(const uint8_t *pixels, size_t height, size_t width, int colour, uint8_t *bytes) {
    require(png_save(fuzz_path("x.png"), pixels, width, height, colour ? PNG_RGB : PNG_GREY, NULL) == STATUS_OK);
    return fuzz_get("x.png", bytes);
}

static size_t as_jpeg(uint8_t *pixels, size_t height, size_t width, int colour, uint8_t *bytes) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *made = NULL;
    unsigned long size = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &made, &size);
    c.image_height = (JDIMENSION)height;
    c.image_width = (JDIMENSION)width;
    c.input_components = colour ? 3 : 1;
    c.in_color_space = colour ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&c);
    if (width % 2) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = pixels + (size_t)c.next_scanline * width * (colour ? 3 : 1);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    require(size <= FUZZ_LARGEST);
    memcpy(bytes, made, size);
    free(made);
    return size;
}

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    uint8_t pixels[3 * 16 * 16];
    const size_t height = 1 + test_random(random) % 16, width = 1 + test_random(random) % 16;
    const int colour = (int)(test_random(random) % 2), jpeg = (int)(test_random(random) % 2);
    for (size_t k = 0; k < sizeof pixels; k++) pixels[k] = (uint8_t)test_random(random);
    const size_t size =
        jpeg ? as_jpeg(pixels, height, width, colour, bytes) : as_png(pixels, height, width, colour, bytes);
    *front = size < 200 ? size : 200;
    return size;
}
