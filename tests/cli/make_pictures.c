/*
 * Pictures for the tests: a folder with labels.csv (file, label, group, patient, split) and noisy pictures that are dark or
 * light; those of the group "odd" the other way round, with a bright frame. usage: make_pictures FOLDER COUNT
 */
#define _XOPEN_SOURCE 700
#include "core/path.h"
#include "core/text.h"
#include "core/whole_file.h"
#include "picture/png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int count, char **arguments) {
    char name[64], path[PATH_SIZE];
    unsigned char pixels[SIDE * SIDE];
    text csv = {0};
    if (count != 3 || folder_make(arguments[1], NULL) != STATUS_OK) return 2;
    text_add(&csv, "file,label,group,patient,split\n");
    for (int k = 0; k < atoi(arguments[2]); k++) {
        const int light = k % 2, odd = k % 6 < 2;
        snprintf(name, sizeof name, "p%03d.png", k);
        draw(k, light, odd, pixels);
        if (path_join(path, arguments[1], name, NULL) != STATUS_OK) return 1;
        if (png_save(path, pixels, SIDE, SIDE, PNG_GREY, NULL) != STATUS_OK) return 1;
        text_format(&csv, "%s,%s,%s,%d,%s\n", name, light ? "light" : "dark", odd ? "odd" : "even", k,
                    k % 4 == 3 || k % 4 == 2 ? (k % 3 ? "test" : "val") : "train");
    }
    if (path_join(path, arguments[1], "labels.csv", NULL) != STATUS_OK) return 1;
    const int failed = whole_file_write_text(path, &csv, NULL) != STATUS_OK;
    text_close(&csv);
    return failed;
}
