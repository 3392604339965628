/* Reading PNG and JPEG files: what comes out, and what is refused. */
#include "picture/raster_inside.h"
#include "picture/resize.h"

#include "core/text.h"
#include "core/whole_file.h"
#include "work_folder.h"

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

static uint8_t shade(int y, int x, int c) { return (uint8_t)(40 + 9 * y + 5 * x + 30 * c); }

static raster made(int height, int width, int channels) {
    raster p;
    assert_int_equal(raster_open(&p, height, width, channels, NULL), STATUS_OK);
    for (int y = 0, k = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int c = 0; c < channels; c++) p.pixels[k++] = shade(y, x, c);
    return p;
}

/* ---- files of all kinds ------------------------------------------------------------------------------------------ */

typedef struct kind {
    int type, bits, interlaced;
} kind;

static void take(png_structp png, png_bytep bytes, png_size_t size) {
    text_add_bytes(png_get_io_ptr(png), bytes, size);
}

static void flush(png_structp png) { (void)png; }

/* Samples are the row's bytes as they are. */
static text png_of(const kind *k, int height, int width, const uint8_t *rows, size_t stride) {
    text bytes = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &bytes, take, flush);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, k->bits, k->type,
                 k->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    const png_color palette[4] = {{1, 2, 3}, {10, 20, 30}, {100, 110, 120}, {250, 251, 252}};
    if (k->type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette, 4);
    png_write_info(png, info);
    const int passes = png_set_interlace_handling(png);
    for (int pass = 0; pass < passes; pass++)
        for (int y = 0; y < height; y++) png_write_row(png, rows + (size_t)y * stride);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return bytes;
}

static encoded file_of(const void *bytes, size_t size) { return (encoded){bytes, size, "x.png", {0}}; }

static raster decoded(const text *bytes, raster_facts *facts) {
    raster p;
    failure why = {0};
    const encoded file = file_of(bytes->bytes, bytes->size);
    if (raster_decode(&p, &file, facts, &why) != STATUS_OK) fail_msg("%s", why.message);
    return p;
}

static void every_kind_of_png_becomes_bytes(void **state) {
    (void)state;
    const uint8_t grey16[] = {0, 0, 0x80, 0x80, 0xff, 0xff, 0x12, 0xff}; /* the last is 18.9 * 257 */
    const struct {
        kind kind;
        int height, width;
        const uint8_t *rows;
        size_t stride;
        int channels;
        uint8_t expected[12];
    } CASES[] = {
        {{PNG_COLOR_TYPE_GRAY, 8, 0}, 2, 2, (const uint8_t *)"\1\2\3\4", 2, 1, {1, 2, 3, 4}},
        {{PNG_COLOR_TYPE_GRAY, 1, 0}, 1, 4, (const uint8_t *)"\x50", 1, 1, {0, 255, 0, 255}},
        {{PNG_COLOR_TYPE_GRAY, 4, 1}, 1, 4, (const uint8_t *)"\x0f\x51", 2, 1, {0, 255, 85, 17}},
        {{PNG_COLOR_TYPE_GRAY, 16, 0}, 2, 2, grey16, 4, 1, {0, 128, 255, 19}},
        {{PNG_COLOR_TYPE_GRAY_ALPHA, 8, 0}, 1, 2, (const uint8_t *)"\x21\0\x42\x80", 4, 1, {0x21, 0x42}},
        {{PNG_COLOR_TYPE_RGB, 8, 1}, 1, 2, (const uint8_t *)"\1\2\3\4\5\6", 6, 3, {1, 2, 3, 4, 5, 6}},
        {{PNG_COLOR_TYPE_RGB_ALPHA, 8, 0}, 1, 1, (const uint8_t *)"\x0a\x0b\x0c\0", 4, 3, {10, 11, 12}},
        {{PNG_COLOR_TYPE_PALETTE, 2, 0},
         1,
         4,
         (const uint8_t *)"\x1b",
         1,
         3,
         {1, 2, 3, 10, 20, 30, 100, 110, 120, 250, 251, 252}},
    };
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        raster_facts facts, looked;
        text bytes = png_of(&CASES[k].kind, CASES[k].height, CASES[k].width, CASES[k].rows, CASES[k].stride);
        raster p = decoded(&bytes, &facts);
        assert_true(p.height == CASES[k].height && p.width == CASES[k].width && p.channels == CASES[k].channels);
        assert_memory_equal(p.pixels, CASES[k].expected, (size_t)(p.height * p.width * p.channels));
        const encoded file = file_of(bytes.bytes, bytes.size);
        assert_int_equal(raster_look(&looked, &file, NULL), STATUS_OK);
        looked.least = facts.least, looked.most = facts.most; /* which no header tells */
        assert_memory_equal(&facts, &looked, sizeof facts);
        assert_int_equal(facts.bits, CASES[k].kind.bits);
        raster_close(&p);
        text_close(&bytes);
    }
}

/* Every value there is, in a picture of 256 x 256, read by these greys; NULL: it is refused. */
static const uint8_t *all_values(const char *words, int bits, raster_facts *facts, failure *why) {
    static uint8_t rows[65536 * 2], pixels[65536];
    raster_greys greys;
    raster p;
    for (int v = 0; v < 65536; v++) rows[2 * v] = (uint8_t)(v >> 8), rows[2 * v + 1] = (uint8_t)v;
    text bytes = png_of(&(kind){PNG_COLOR_TYPE_GRAY, bits, 1}, 256, 256, rows, 512);
    assert_int_equal(whole_file_write(work_path("values.png"), bytes.bytes, bytes.size, NULL), STATUS_OK);
    assert_int_equal(raster_greys_parse(&greys, words, why), STATUS_OK);
    const status_code status = raster_read_greys(&p, work_path("values.png"), greys, facts, why);
    if (status == STATUS_OK) memcpy(pixels, p.pixels, sizeof pixels);
    raster_close(&p);
    text_close(&bytes);
    return status == STATUS_OK ? pixels : NULL;
}

static void greys_say_what_becomes_black_and_white(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int low, high;
    } GREYS[] = {{"", 0, 65535},
                 {"0,65535", 0, 65535},
                 {"0,4095", 0, 4095},
                 {"1000,1001", 1000, 1001},
                 {"500,40000", 500, 40000}};
    raster_facts facts;
    failure why = {0};
    for (size_t g = 0; g < sizeof GREYS / sizeof *GREYS; g++) {
        const uint8_t *pixels = all_values(GREYS[g].words, 16, &facts, &why);
        assert_non_null(pixels);
        assert_true(facts.bits == 16 && facts.least == 0 && facts.most == 65535);
        for (int v = 0; v < 65536; v++) {
            const double share = (v - GREYS[g].low) / (double)(GREYS[g].high - GREYS[g].low);
            assert_int_equal(pixels[v], (int)floor(255 * fmin(1, fmax(0, share)) + 0.5));
        }
    }
    assert_null(all_values("0,4095", 8, &facts, &why));
    assert_non_null(strstr(why.message, "has 8 bits, but greys from 0 to 4095 are asked for"));
    assert_non_null(all_values("", 8, &facts, &why));
}

static void greys_that_are_none_are_refused(void **state) {
    (void)state;
    static const char *const WORDS[] = {"4095", "0,",    ",5",   "9,3", "5,5", "0,65536", "0,99999999999999999999",
                                        "-1,5", "0,5,6", "0, 5", "a,b", " "};
    for (size_t k = 0; k < sizeof WORDS / sizeof *WORDS; k++) {
        raster_greys greys = {1, 2};
        failure why = {0};
        assert_int_equal(raster_greys_parse(&greys, WORDS[k], &why), STATUS_BAD_INPUT);
        assert_non_null(strstr(why.message, "are not LOW,HIGH"));
        assert_true(greys.low == 0 && greys.high == 0);
    }
}

/* With an EXIF block of one entry if `orientation` is not 0. */
static text jpeg_of(const raster *p, int components, int progressive, int orientation) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    text out = {0};
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &bytes, &size);
    c.image_height = (JDIMENSION)p->height;
    c.image_width = (JDIMENSION)p->width;
    c.input_components = components;
    c.in_color_space = components == 1 ? JCS_GRAYSCALE : components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 100, TRUE);
    for (int k = 0; k < components; k++) c.comp_info[k].h_samp_factor = c.comp_info[k].v_samp_factor = 1;
    if (progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    uint8_t exif[] = "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0";
    exif[24] = (uint8_t)orientation;
    if (orientation) jpeg_write_marker(&c, JPEG_APP0 + 1, exif, sizeof exif);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = p->pixels + (size_t)c.next_scanline * (size_t)p->width * (size_t)components;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    text_add_bytes(&out, bytes, size);
    free(bytes);
    return out;
}

static void assert_alike(const raster *a, const raster *b, int most) {
    assert_true(a->height == b->height && a->width == b->width && a->channels == b->channels);
    for (int k = 0; k < a->height * a->width * a->channels; k++)
        if (abs(a->pixels[k] - b->pixels[k]) > most) fail_msg("byte %d: %d and %d", k, a->pixels[k], b->pixels[k]);
}

static void jpegs_come_back_nearly_as_they_were(void **state) {
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2)
        for (int progressive = 0; progressive < 2; progressive++) {
            raster p = made(9, 11, channels);
            text bytes = jpeg_of(&p, channels, progressive, 0);
            raster back = decoded(&bytes, NULL);
            assert_alike(&p, &back, 3);
            raster_close(&p);
            raster_close(&back);
            text_close(&bytes);
        }
}

/* Four inks, inverted as Adobe's programs (and libjpeg's marker) have it: 255 is none. */
static void cmyk_becomes_rgb(void **state) {
    (void)state;
    raster inks = {.height = 8, .width = 8, .channels = 4, .pixels = malloc(8 * 8 * 4)};
    for (int k = 0; k < 64; k++) memcpy(inks.pixels + 4 * k, "\xff\x80\x00\xc0", 4);
    text bytes = jpeg_of(&inks, 4, 0, 0);
    raster p = decoded(&bytes, NULL);
    assert_int_equal(p.channels, 3);
    assert_near(p.pixels[0], 0xc0, 3);
    assert_near(p.pixels[1], 0xc0 * 0x80 / 255, 3);
    assert_near(p.pixels[2], 0, 3);
    raster_close(&p);
    text_close(&bytes);
    free(inks.pixels);
}

/* Each orientation against its definition: where the first row and column of the file are to be seen (EXIF 2.3). */
static void exif_turns_pictures_upright(void **state) {
    (void)state;
    for (int o = 1; o <= 8; o++) {
        raster p = made(16, 24, 1);
        text bytes = jpeg_of(&p, 1, 0, o);
        raster_facts facts;
        raster up = decoded(&bytes, &facts);
        const int sideways = o >= 5;
        assert_true(up.height == (sideways ? 24 : 16) && up.width == (sideways ? 16 : 24));
        assert_true(facts.height == up.height && facts.width == up.width);
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 24; x++) {
                const int right = 23 - x, below = 15 - y;
                const int row[] = {0, y, y, below, below, x, x, right, right};
                const int column[] = {0, x, right, right, x, y, below, below, y};
                assert_near(up.pixels[row[o] * up.width + column[o]], shade(y, x, 0), 4);
            }
        raster_close(&p);
        raster_close(&up);
        text_close(&bytes);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refuse(const void *bytes, size_t size, const char *words) {
    raster p;
    failure why = {0};
    const encoded file = file_of(bytes, size);
    assert_int_not_equal(raster_decode(&p, &file, NULL, &why), STATUS_OK);
    if (!strstr(why.message, words)) fail_msg("'%s' lacks '%s'", why.message, words);
    assert_null(p.pixels);
}

static void what_is_no_picture_is_named(void **state) {
    (void)state;
    refuse("", 0, "is empty");
    refuse("hello", 5, "neither a PNG nor a JPEG");
    refuse("GIF89a", 6, "GIF");
    refuse("RIFF1234WEBPVP8 ", 16, "WebP");
    refuse("<html>", 6, "HTML");
    refuse("\xff\xd8\xff", 3, "broken JPEG");
    refuse("\x89PNG\r\n\x1a\n", 8, "broken PNG");
}

static void pictures_that_are_cut_are_refused(void **state) {
    (void)state;
    raster p = made(32, 32, 3);
    text jpeg = jpeg_of(&p, 3, 0, 0);
    text png = png_of(&(kind){PNG_COLOR_TYPE_RGB, 8, 0}, 32, 32, p.pixels, 96);
    for (size_t size = 4; size + 2 < jpeg.size; size += 7) refuse(jpeg.bytes, size, "JPEG");
    for (size_t size = 8; size < png.size; size++) refuse(png.bytes, size, "PNG");
    for (size_t at = 50; at + 20 < png.size; at += 3) { /* every chunk has a checksum */
        png.bytes[at] ^= 1;
        refuse(png.bytes, png.size, "PNG");
        png.bytes[at] ^= 1;
    }
    raster_close(&p);
    text_close(&jpeg);
    text_close(&png);
}

/* A header alone promises 30,000 x 30,000 pixels: nothing is allocated for them. */
static void giants_are_refused_by_their_header(void **state) {
    (void)state;
    text png = png_of(&(kind){PNG_COLOR_TYPE_GRAY, 1, 0}, 1, 4, (const uint8_t *)"\x50", 1);
    memcpy(png.bytes + 16, "\0\0\x75\x30\0\0\x75\x30", 8);
    const uLong crc = crc32(0, (const Bytef *)png.bytes + 12, 17);
    for (int k = 0; k < 4; k++) png.bytes[29 + k] = (char)(crc >> (24 - 8 * k));
    refuse(png.bytes, png.size, "30000 x 30000");
    text_close(&png);
}

/* The chunk that makes a PNG an animation, behind the header: its first picture is read, and it is told. */
static void of_an_animation_the_first_picture_is_read(void **state) {
    (void)state;
    raster p = made(4, 5, 3);
    raster_facts facts = {0};
    text png = png_of(&(kind){PNG_COLOR_TYPE_RGB, 8, 0}, 4, 5, p.pixels, 15), animated = {0};
    uint8_t chunk[20] = "\0\0\0\x08"
                        "acTL\0\0\0\2";
    const uLong crc = crc32(0, chunk + 4, 12);
    for (int k = 0; k < 4; k++) chunk[16 + k] = (uint8_t)(crc >> (24 - 8 * k));
    text_add_bytes(&animated, png.bytes, 33);
    text_add_bytes(&animated, chunk, sizeof chunk);
    text_add_bytes(&animated, png.bytes + 33, png.size - 33);
    raster read = decoded(&animated, &facts);
    assert_true(facts.animated);
    assert_memory_equal(read.pixels, p.pixels, 60);
    raster_close(&read);
    raster_close(&p);
    text_close(&png);
    text_close(&animated);
}

static void files_are_named_when_they_cannot_be_read(void **state) {
    (void)state;
    raster p;
    failure why = {0};
    assert_int_equal(raster_read_greys(&p, "/no/such/file.png", (raster_greys){0}, NULL, &why), STATUS_CANNOT_READ);
    assert_non_null(strstr(why.message, "/no/such/file.png"));
}

/* ---- sizes and colours ------------------------------------------------------------------------------------------- */

/* The filter's definition, in doubles. */
static double plain(const raster *p, int height, int width, int y, int x, int c) {
    const double sy = (double)p->height / height, sx = (double)p->width / width;
    const double wy = fmax(sy, 1), wx = fmax(sx, 1), cy = (y + 0.5) * sy, cx = (x + 0.5) * sx;
    double sum = 0, weights = 0;
    for (int v = 0; v < p->height; v++)
        for (int u = 0; u < p->width; u++) {
            const double w = fmax(0, 1 - fabs(v + 0.5 - cy) / wy) * fmax(0, 1 - fabs(u + 0.5 - cx) / wx);
            sum += w * p->pixels[(v * p->width + u) * p->channels + c];
            weights += w;
        }
    return sum / weights;
}

static void resizing_is_an_antialiased_bilinear_filter(void **state) {
    (void)state;
    static const int SIZES[][4] = {{13, 17, 5, 6}, {7, 5, 20, 23}, {16, 16, 16, 9}, {30, 4, 3, 4}, {6, 6, 6, 6}};
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        const int *s = SIZES[k];
        uint64_t random = k;
        raster p = made(s[0], s[1], 3), q;
        for (int i = 0; i < s[0] * s[1] * 3; i++) p.pixels[i] = (uint8_t)test_random(&random);
        assert_int_equal(raster_resize(&p, s[2], s[3], &q, NULL), STATUS_OK);
        for (int y = 0; y < s[2]; y++)
            for (int x = 0; x < s[3]; x++)
                for (int c = 0; c < 3; c++) /* rounded twice */
                    assert_near(q.pixels[(y * s[3] + x) * 3 + c], plain(&p, s[2], s[3], y, x, c), 1.01);
        raster_close(&p);
        raster_close(&q);
    }
}

static void fitting_keeps_proportions_and_the_middle(void **state) {
    (void)state;
    raster p = made(4, 10, 1);
    uint8_t pixels[16];
    int64_t h, w;
    raster_cover(&p, 2, 2, &h, &w);
    assert_true(h == 2 && w == 5);
    raster_cover(&p, 8, 4, &h, &w);
    assert_true(h == 8 && w == 20);
    assert_int_equal(raster_fit(&p, 4, 4, pixels, NULL), STATUS_OK);
    for (int y = 0; y < 4; y++) assert_memory_equal(pixels + 4 * y, p.pixels + 10 * y + 3, 4);
    raster_close(&p);
}

/* What is cut out is what it would be if all of the covering picture were made, also where most of it is cut away. */
static void fitting_makes_what_is_cut_out_alone(void **state) {
    (void)state;
    static const int SIZES[][4] = {{13, 17, 5, 6}, {7, 5, 20, 23},  {3, 90, 8, 8},
                                   {90, 2, 8, 5},  {31, 33, 31, 9}, {1, 1, 4, 3}};
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        const int *s = SIZES[k];
        uint64_t random = k;
        const int h = s[0] * s[3] <= s[1] * s[2] ? s[2] : s[0] * s[3] / s[1];
        const int w = s[0] * s[3] <= s[1] * s[2] ? s[1] * s[2] / s[0] : s[3];
        const int top = (int)lrint((h - s[2]) / 2.0), left = (int)lrint((w - s[3]) / 2.0);
        uint8_t pixels[20 * 23 * 3];
        raster p = made(s[0], s[1], 3), all;
        for (int i = 0; i < s[0] * s[1] * 3; i++) p.pixels[i] = (uint8_t)test_random(&random);
        assert_int_equal(raster_resize(&p, h, w, &all, NULL), STATUS_OK);
        assert_int_equal(raster_fit(&p, s[2], s[3], pixels, NULL), STATUS_OK);
        for (int y = 0; y < s[2]; y++)
            assert_memory_equal(pixels + y * s[3] * 3, all.pixels + ((top + y) * w + left) * 3, (size_t)s[3] * 3);
        raster_close(&p);
        raster_close(&all);
    }
}

/* A picture of a few kilobytes can be so thin that what covers the square has more pixels than an int can count. */
static void pictures_like_threads_are_fitted(void **state) {
    (void)state;
    enum { LENGTH = 42949673, SIDE = 100, MIDDLE = SIDE / 2 };
    static uint8_t pixels[SIDE * SIDE];
    for (int upright = 0; upright < 2; upright++) {
        raster p;
        assert_int_equal(raster_open(&p, upright ? LENGTH : 1, upright ? 1 : LENGTH, 1, NULL), STATUS_OK);
        memset(p.pixels, 10, LENGTH);
        p.pixels[LENGTH / 2] = 210;
        assert_int_equal(raster_fit(&p, SIDE, SIDE, pixels, NULL), STATUS_OK);
        for (int across = 0; across < SIDE; across += 33) { /* the middle one of its pixels fills the square */
            const uint8_t *line = pixels + (upright ? across : across * SIDE);
            const int step = upright ? SIDE : 1;
            assert_near(line[MIDDLE * step], 210, 2);
            assert_near(line[0], 110, 2); /* half-way to the next pixel */
            assert_near(line[(SIDE - 1) * step], 110, 2);
            assert_near(line[SIDE / 4 * step], 160, 2);
        }
        raster_close(&p);
    }
}

static void colours_become_grey_and_back(void **state) {
    (void)state;
    raster p = made(1, 2, 3);
    memcpy(p.pixels, "\xff\0\0\x0a\xc8\x32", 6);
    assert_int_equal(raster_convert(&p, 1, NULL), STATUS_OK);
    assert_int_equal(p.pixels[0], 76); /* 0.299 * 255 */
    assert_int_equal(p.pixels[1], 126);
    assert_int_equal(raster_convert(&p, 3, NULL), STATUS_OK);
    assert_memory_equal(p.pixels, "\x4c\x4c\x4c\x7e\x7e\x7e", 6);
    raster_close(&p);
}

/* Tables have other numbers of channels, and pictures are no tables. */
static void channels_other_than_grey_and_colour_are_refused(void **state) {
    (void)state;
    static const int WRONG[] = {-1, 0, 2, 4, 5};
    for (int own = 1; own <= 3; own += 2)
        for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++) {
            raster p = made(5, 7, own);
            failure why = {0};
            assert_int_equal(raster_convert(&p, WRONG[k], &why), STATUS_BAD_INPUT);
            assert_non_null(strstr(why.message, "1 or 3"));
            assert_true(p.channels == own && p.pixels[0] == shade(0, 0, 0));
            raster_close(&p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_png_becomes_bytes),
        cmocka_unit_test(greys_say_what_becomes_black_and_white),
        cmocka_unit_test(greys_that_are_none_are_refused),
        cmocka_unit_test(jpegs_come_back_nearly_as_they_were),
        cmocka_unit_test(cmyk_becomes_rgb),
        cmocka_unit_test(exif_turns_pictures_upright),
        cmocka_unit_test(what_is_no_picture_is_named),
        cmocka_unit_test(pictures_that_are_cut_are_refused),
        cmocka_unit_test(giants_are_refused_by_their_header),
        cmocka_unit_test(of_an_animation_the_first_picture_is_read),
        cmocka_unit_test(files_are_named_when_they_cannot_be_read),
        cmocka_unit_test(resizing_is_an_antialiased_bilinear_filter),
        cmocka_unit_test(fitting_keeps_proportions_and_the_middle),
        cmocka_unit_test(fitting_makes_what_is_cut_out_alone),
        cmocka_unit_test(pictures_like_threads_are_fitted),
        cmocka_unit_test(colours_become_grey_and_back),
        cmocka_unit_test(channels_other_than_grey_and_colour_are_refused),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
