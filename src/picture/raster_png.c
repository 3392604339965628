/* PNG files: see raster.h. */
#include "picture/raster_inside.h"

#include "core/memory.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const encoded *file;
    size_t at;
    char complaint[128];
    png_bytep *rows;
} reading;

static void take_bytes(png_structp png, png_bytep bytes, png_size_t size) {
    reading *r = png_get_io_ptr(png);
    if (size > r->file->size - r->at) png_error(png, "the file ends too early");
    memcpy(bytes, r->file->bytes + r->at, size);
    r->at += size;
}

static void complain(png_structp png, png_const_charp message) {
    reading *r = png_get_error_ptr(png);
    snprintf(r->complaint, sizeof r->complaint, "%s", message);
    png_longjmp(png, 1);
}

static void be_silent(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

/* The chunk acTL stands before the pixels. */
static int is_animated(const encoded *file) {
    for (size_t at = 8; at + 12 <= file->size;) {
        const uint8_t *c = file->bytes + at;
        const size_t length = (size_t)c[0] << 24 | (size_t)c[1] << 16 | (size_t)c[2] << 8 | c[3];
        if (memcmp(c + 4, "acTL", 4) == 0) return 1;
        if (memcmp(c + 4, "IDAT", 4) == 0 || length > file->size - at - 12) return 0;
        at += 12 + length;
    }
    return 0;
}

static void note(png_structp png, png_infop info, const encoded *file, raster_facts *facts) {
    png_bytep exif = NULL;
    png_uint_32 exif_size = 0;
    facts->width = (int)png_get_image_width(png, info);
    facts->height = (int)png_get_image_height(png, info);
    facts->channels = png_get_color_type(png, info) & PNG_COLOR_MASK_COLOR ? 3 : 1;
    facts->bits = png_get_bit_depth(png, info);
    facts->animated = is_animated(file);
    if (png_get_eXIf_1(png, info, &exif_size, &exif)) facts->orientation = raster_exif_orientation(exif, exif_size);
}

/* Whatever is stored becomes grey or RGB, of 16 bits if it has so many, else of 8. */
static void ask_for_samples(png_structp png, png_infop info) {
    const int type = png_get_color_type(png, info);
    if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
    if (type == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
    png_set_strip_alpha(png);
    (void)png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static void set_limits(png_structp png) {
    png_set_user_limits(png, RASTER_PIXELS_MAX, RASTER_PIXELS_MAX);
    png_set_chunk_cache_max(png, 128);
    png_set_chunk_malloc_max(png, 64 << 20);
}

/* libpng jumps back on its errors; nothing that is used afterwards and is set in between lives in a register. */
static int read_header(png_structp png, png_infop info, reading *r, raster_facts *facts) {
    if (setjmp(png_jmpbuf(png))) return 0;
    set_limits(png);
    png_set_read_fn(png, r, take_bytes);
    png_read_info(png, info);
    note(png, info, r->file, facts);
    ask_for_samples(png, info);
    return 1;
}

static int read_rows(png_structp png, png_infop info, const reading *r) {
    if (setjmp(png_jmpbuf(png))) return 0;
    png_read_image(png, r->rows);
    png_read_end(png, info);
    return 1;
}

static status_code read_samples(png_structp png, png_infop info, reading *r, const raster *picture, uint8_t *samples,
                                failure *failure) {
    const size_t stride = (size_t)picture->width * (size_t)picture->channels * (samples == picture->pixels ? 1 : 2);
    r->rows = malloc((size_t)picture->height * sizeof *r->rows);
    if (!r->rows) return fail_memory(failure, "a picture");
    for (int y = 0; y < picture->height; y++) r->rows[y] = samples + (size_t)y * stride;
    if (png_get_rowbytes(png, info) != stride)
        snprintf(r->complaint, sizeof r->complaint, "its rows have no such size");
    else if (read_rows(png, info, r)) return STATUS_OK;
    return STATUS_CORRUPT;
}

/* From 16 bits, the higher byte first; to the nearest. All greys are divided by 257, since 65535 is 255 x 257. */
static void scale_samples(const uint8_t *samples, raster_greys greys, raster *picture, raster_facts *facts) {
    const size_t count = (size_t)picture->height * (size_t)picture->width * (size_t)picture->channels;
    const int low = greys.low, range = (greys.high ? greys.high : RASTER_GREY_MOST) - low;
    facts->least = RASTER_GREY_MOST;
    for (size_t k = 0; k < count; k++) {
        const int sample = samples[2 * k] << 8 | samples[2 * k + 1], above = sample - low;
        const int inside = above < 0 ? 0 : above > range ? range : above;
        picture->pixels[k] = (uint8_t)((510 * inside + range) / (2 * range));
        if (sample < facts->least) facts->least = sample;
        if (sample > facts->most) facts->most = sample;
    }
}

static status_code read_pixels(png_structp png, png_infop info, reading *r, raster *picture, raster_facts *facts,
                               failure *failure) {
    if (facts->bits <= 8) return read_samples(png, info, r, picture, picture->pixels, failure);
    uint8_t *samples = memory_open(2 * (size_t)picture->height * (size_t)picture->width * (size_t)picture->channels);
    if (!samples) return fail_memory(failure, "a picture of 16 bits");
    const status_code status = read_samples(png, info, r, picture, samples, failure);
    if (status == STATUS_OK) scale_samples(samples, r->file->greys, picture, facts);
    memory_close(samples);
    return status;
}

static status_code decode(png_structp png, png_infop info, reading *r, raster_facts *facts, raster *picture,
                          failure *failure) {
    status_code status = info && read_header(png, info, r, facts) ? STATUS_OK : STATUS_CORRUPT;
    if (status == STATUS_OK)
        status = raster_check_size(r->file, (uint64_t)facts->width, (uint64_t)facts->height, failure);
    if (status == STATUS_OK && picture) {
        status = raster_open(picture, facts->height, facts->width, facts->channels, failure);
        if (status == STATUS_OK) status = read_pixels(png, info, r, picture, facts, failure);
    }
    if (status != STATUS_CORRUPT) return status;
    return fail(failure, STATUS_CORRUPT, "%.500s: is a broken PNG file (%s); replace it or remove it", r->file->name,
                r->complaint);
}

status_code raster_decode_png(const encoded *file, raster_facts *facts, raster *picture, failure *failure) {
    reading r = {.file = file};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, complain, be_silent);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const status_code status =
        info ? decode(png, info, &r, facts, picture, failure) : fail_memory(failure, "a picture");
    png_destroy_read_struct(&png, &info, NULL);
    free(r.rows);
    return status;
}
