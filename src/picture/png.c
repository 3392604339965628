#define _POSIX_C_SOURCE 200809L
#include "picture/png.h"

#include "core/path.h"
#include "core/whole_file.h"

#include <dirent.h>
#include <png.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_bytes(png_structp png, png_bytep bytes, png_size_t size) {
    text_add_bytes(png_get_io_ptr(png), bytes, size);
}

static void add_nothing(png_structp png) { (void)png; }

static void be_silent(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

typedef struct picture {
    const unsigned char *pixels;
    size_t width, height;
    png_colour colour;
} picture;

/* libpng jumps back here on its errors; nothing that lives across the jump changes after it was set. */
static int encode_rows(png_structp png, png_infop info, text *bytes, const picture *picture) {
    if (setjmp(png_jmpbuf(png))) return 0;
    png_set_write_fn(png, bytes, add_bytes, add_nothing);
    png_set_IHDR(png, info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8,
                 picture->colour == PNG_GREY  ? PNG_COLOR_TYPE_GRAY
                 : picture->colour == PNG_RGB ? PNG_COLOR_TYPE_RGB
                                              : PNG_COLOR_TYPE_RGBA,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (size_t y = 0; y < picture->height; y++)
        png_write_row(png, picture->pixels + y * picture->width * (size_t)picture->colour);
    png_write_end(png, info);
    return 1;
}

static int encode(text *bytes, const picture *picture) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, be_silent);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    const int good = info && encode_rows(png, info, bytes, picture) && !bytes->failed;
    png_destroy_write_struct(&png, &info);
    return good;
}

static int is_possible(size_t width, size_t height) {
    return width >= 1 && height >= 1 && width <= PNG_MAX_SIDE && height <= PNG_MAX_SIDE;
}

int png_encode(text *bytes, const unsigned char *pixels, size_t width, size_t height, png_colour colour) {
    return is_possible(width, height) && encode(bytes, &(picture){pixels, width, height, colour});
}

status_code png_save(const char *path, const unsigned char *pixels, size_t width, size_t height, png_colour colour,
                     failure *failure) {
    if (!is_possible(width, height))
        return fail(failure, STATUS_BAD_INPUT, "%s: an image of %zu by %zu pixels; from 1 to %d a side are possible",
                    path, width, height, PNG_MAX_SIDE);
    text bytes = {0};
    const status_code status = encode(&bytes, &(picture){pixels, width, height, colour})
                                   ? whole_file_write(path, bytes.bytes, bytes.size, failure)
                                   : fail_memory(failure, path);
    text_close(&bytes);
    return status;
}

static unsigned big_endian(const unsigned char *at) {
    return (unsigned)at[0] << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

int png_size(const void *bytes, size_t size, unsigned *width, unsigned *height) {
    const unsigned char *at = bytes;
    if (size < 33 || memcmp(at, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) != 0) return 0;
    *width = big_endian(at + 16);
    *height = big_endian(at + 20);
    return *width >= 1 && *height >= 1 && *width <= PNG_MAX_SIDE && *height <= PNG_MAX_SIDE;
}

/* Whether "/NAME/" occurs in the list. */
static int is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = strchr(list, '/'); at && at[1]; at = strchr(at + 1, '/'))
        if (strncmp(at + 1, name, length) == 0 && at[1 + length] == '/') return 1;
    return 0;
}

void png_remove_others(const char *folder, const char *kept) {
    char path[PATH_SIZE];
    DIR *listing = opendir(folder);
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        const size_t length = strlen(entry->d_name);
        if (length > 4 && strcmp(entry->d_name + length - 4, ".png") == 0 && !is_listed(kept, entry->d_name) &&
            path_join(path, folder, entry->d_name, NULL) == STATUS_OK)
            unlink(path);
    }
    if (listing) closedir(listing);
}
