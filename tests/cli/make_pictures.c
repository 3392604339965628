/*
 * Pictures for the tests: a folder with labels.csv (file, label, group, patient, split) and noisy pictures
 * that are dark or light; those of the group "odd" the other way round, with a bright frame. usage:
 * make_pictures FOLDER COUNT [16]
 *
 * With 16 they have so many bits, and each value is 16 times as large.
 */
#define _XOPEN_SOURCE 700
#include "core/path.h"
#include "core/text.h"
#include "core/whole_file.h"
#include "picture/png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIDE = 12 };

static void draw(int which, int light, int odd, unsigned char *pixels) {
    unsigned noise = 12345u + (unsigned)which * 7919u;
    for (int k = 0; k < SIDE * SIDE; k++) {
        noise = noise * 1664525u + 1013904223u;
        const int edge = k / SIDE == 0 || k % SIDE == 0;
        pixels[k] = (unsigned char)((light != odd ? 160 : 40) + (int)(noise >> 26));
        if (odd && edge) pixels[k] = 255;
    }
}

/* ---- PNG files of 16 bits, which the program does not write ------------------------------------------------------ */

static void add_whole(text *bytes, unsigned long whole) {
    const unsigned char four[] = {(unsigned char)(whole >> 24), (unsigned char)(whole >> 16),
                                  (unsigned char)(whole >> 8), (unsigned char)whole};
    text_add_bytes(bytes, (const char *)four, 4);
}

static void add_chunk(text *png, const char *type, const unsigned char *bytes, size_t size) {
    const unsigned long before = crc32(0, (const Bytef *)type, 4);
    add_whole(png, size);
    text_add_bytes(png, type, 4);
    text_add_bytes(png, (const char *)bytes, size);
    add_whole(png, size ? crc32(before, bytes, (uInt)size) : before);
}

static status_code save_deep(const char *path, const unsigned char *pixels) {
    static const unsigned char HEADER[] = {0, 0, 0, SIDE, 0, 0, 0, SIDE, 16, 0, 0, 0, 0};
    unsigned char rows[SIDE * (1 + 2 * SIDE)] = {0}, packed[2 * sizeof rows + 100];
    uLongf size = sizeof packed;
    text png = {0};
    for (int k = 0; k < SIDE * SIDE; k++) {
        unsigned char *sample = rows + k / SIDE * (1 + 2 * SIDE) + 1 + 2 * (k % SIDE);
        sample[0] = pixels[k] >> 4;
        sample[1] = (unsigned char)(pixels[k] << 4);
    }
    if (compress(packed, &size, rows, sizeof rows) != Z_OK) return STATUS_FAILED;
    text_add_bytes(&png, "\x89PNG\r\n\x1a\n", 8);
    add_chunk(&png, "IHDR", HEADER, sizeof HEADER);
    add_chunk(&png, "IDAT", packed, size);
    add_chunk(&png, "IEND", NULL, 0);
    const status_code status = whole_file_write_text(path, &png, NULL);
    text_close(&png);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

int main(int count, char **arguments) {
    char name[64], path[PATH_SIZE];
    unsigned char pixels[SIDE * SIDE];
    text csv = {0};
    const int deep = count == 4 && strcmp(arguments[3], "16") == 0;
    if ((count != 3 && !deep) || folder_make(arguments[1], NULL) != STATUS_OK) return 2;
    text_add(&csv, "file,label,group,patient,split\n");
    for (int k = 0; k < atoi(arguments[2]); k++) {
        const int light = k % 2, odd = k % 6 < 2;
        snprintf(name, sizeof name, "p%03d.png", k);
        draw(k, light, odd, pixels);
        if (path_join(path, arguments[1], name, NULL) != STATUS_OK) return 1;
        if ((deep ? save_deep(path, pixels) : png_save(path, pixels, SIDE, SIDE, PNG_GREY, NULL)) != STATUS_OK)
            return 1;
        text_format(&csv, "%s,%s,%s,%d,%s\n", name, light ? "light" : "dark", odd ? "odd" : "even", k,
                    k % 4 == 3 || k % 4 == 2 ? (k % 3 ? "test" : "val") : "train");
    }
    if (path_join(path, arguments[1], "labels.csv", NULL) != STATUS_OK) return 1;
    const int failed = whole_file_write_text(path, &csv, NULL) != STATUS_OK;
    text_close(&csv);
    return failed;
}
