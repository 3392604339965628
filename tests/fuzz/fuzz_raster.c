/* Bytes as a picture file: decoded or refused with a sentence, and as large as its header says. */
#include "fuzz.h"
#include "picture/raster_inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    raster picture;
    raster_facts facts, looked;
    failure why = {0};
    const encoded file = {data, size, "fuzzed", {0}};
    const status_code status = raster_decode(&picture, &file, &facts, &why);
    require(status == STATUS_OK || why.message[0]);
    require((status == STATUS_OK) == (picture.pixels != NULL));
    if (status != STATUS_OK) return 0;
    require(raster_look(&looked, &file, NULL) == STATUS_OK);
    require(looked.height == picture.height && looked.width == picture.width && looked.channels == picture.channels);
    require((int64_t)picture.height * picture.width <= RASTER_PIXELS_MAX);
    require(raster_convert(&picture, picture.channels == 1 ? 3 : 1, NULL) == STATUS_OK);
    raster_close(&picture);
    return 0;
}
