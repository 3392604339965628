/* usage: peer_resample image|labels IN OUT D H W D2 H2 W2 ORDER_D ORDER_H ORDER_W: raw float32 or int16 in and out. */
#include "preprocess/resample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_raw(const char *path, size_t bytes) {
    FILE *file = fopen(path, "rb");
    void *data = malloc(bytes);
    if (!file || !data || fread(data, 1, bytes, file) != bytes) exit(1);
    fclose(file);
    return data;
}

static void write_raw(const char *path, const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) exit(1);
}

static size_t voxels(const int size[3]) { return (size_t)size[0] * (size_t)size[1] * (size_t)size[2]; }

int main(int count, char **arguments) {
    if (count != 13) return 2;
    resampling how = {.threads = 2};
    for (int k = 0; k < 3; k++) {
        how.from[k] = atoi(arguments[4 + k]);
        how.to[k] = atoi(arguments[7 + k]);
        how.order[k] = (resample_order)atoi(arguments[10 + k]);
    }
    const int image = strcmp(arguments[1], "image") == 0;
    const size_t bytes = image ? sizeof(float) : sizeof(int16_t);
    void *from = read_raw(arguments[2], voxels(how.from) * bytes), *to = malloc(voxels(how.to) * bytes);
    if (!to) return 1;
    failure failure;
    const status_code status =
        image ? resample_image(&how, from, to, &failure) : resample_labels(&how, from, to, &failure);
    if (status != STATUS_OK) return 1;
    write_raw(arguments[3], to, voxels(how.to) * bytes);
    free(from);
    free(to);
    return 0;
}
