/*
 * usage: peer_raster decode FILE OUT                    raw bytes; prints height, width, channels
 *        peer_raster fit FILE HEIGHT WIDTH OUT
 */
#include "picture/resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_raw(const char *path, const uint8_t *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    return file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
    raster p;
    failure why = {0};
    if (count < 4) return 2;
    if (raster_read_greys(&p, arguments[2], (raster_greys){0}, NULL, &why) != STATUS_OK) {
        fprintf(stderr, "%s\n", why.message);
        return 1;
    }
    printf("%d %d %d\n", p.height, p.width, p.channels);
    if (strcmp(arguments[1], "decode") == 0)
        return write_raw(arguments[3], p.pixels, (size_t)p.height * (size_t)p.width * (size_t)p.channels);
    const int height = atoi(arguments[3]), width = atoi(arguments[4]);
    const size_t size = (size_t)height * (size_t)width * (size_t)p.channels;
    uint8_t *pixels = malloc(size);
    if (!pixels || raster_fit(&p, height, width, pixels, NULL) != STATUS_OK) return 1;
    return write_raw(arguments[5], pixels, size);
}
