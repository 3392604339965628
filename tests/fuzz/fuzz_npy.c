/* Bytes as a .npy array: its numbers lie within the bytes, or it is refused with a sentence. */
#include "fuzz.h"
#include "images/npz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    npy array;
    failure why = {0};
    const status_code status = npy_parse(&array, data, size, "fuzzed", &why);
    require(status == STATUS_OK || why.message[0]);
    if (status != STATUS_OK) return 0;
    size_t bytes = (size_t)array.item;
    require(array.dimensions >= 1 && array.dimensions <= 4);
    for (int k = 0; k < array.dimensions; k++) bytes *= (size_t)array.shape[k];
    require(array.data >= data && array.data + bytes == data + size);
    return 0;
}
