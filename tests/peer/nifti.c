/* usage: peer_nifti image|labels IN OUT: reads IN, prints its spacing and affine, writes it to OUT. */
#include "nifti/nifti.h"

#include <stdio.h>
#include <string.h>

static void print_grid(const volume_grid *grid) {
    printf("%.17g %.17g %.17g", grid->spacing[0], grid->spacing[1], grid->spacing[2]);
    for (int k = 0; k < 12; k++) printf(" %.17g", grid->affine[k / 4][k % 4]);
    putchar('\n');
}

static status_code copy_image(const char *in, const char *out, failure *failure) {
    volume image;
    status_code status = nifti_read_volume(in, NIFTI_ALL_CHANNELS, &image, failure);
    if (status != STATUS_OK) return status;
    print_grid(&image.grid);
    status = nifti_write_volume(out, &image, failure);
    volume_close(&image);
    return status;
}

static status_code copy_labels(const char *in, const char *out, failure *failure) {
    label_map labels;
    status_code status = nifti_read_labels(in, &labels, failure);
    if (status != STATUS_OK) return status;
    print_grid(&labels.grid);
    status = nifti_write_labels(out, &labels, failure);
    label_map_close(&labels);
    return status;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    failure failure;
    const int image = strcmp(arguments[1], "image") == 0;
    if ((image ? copy_image : copy_labels)(arguments[2], arguments[3], &failure) == STATUS_OK) return 0;
    fprintf(stderr, "%s\n", failure.message);
    return 1;
}
