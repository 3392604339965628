#include "images/labelled_images.h"

#include "core/memory.h"
#include "picture/png.h"

status_code labelled_images_save(const labelled_images *set, int64_t index, const char *path, failure *failure) {
    if (set->values || (set->channels != 1 && set->channels != 3)) return STATUS_OK;
    uint8_t *pixels = memory_open(labelled_images_stride(set));
    if (!pixels) return fail_memory(failure, "a picture");
    status_code status = labelled_images_copy(set, index, pixels, failure);
    if (status == STATUS_OK)
        status = png_save(path, pixels, (size_t)set->width, (size_t)set->height,
                          set->channels == 3 ? PNG_RGB : PNG_GREY, failure);
    memory_close(pixels);
    return status;
}
