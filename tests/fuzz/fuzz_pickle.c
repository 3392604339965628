/* Arbitrary bytes as a pickle. */
#include "fuzz.h"
#include "torch_file/pickle.h"

#include <string.h>

/* Looks at what is there, as deep as a checkpoint goes: values may refer to each other in circles. */
static size_t look(const pickle_value *value, int depth, size_t *left) {
    if (!depth || !*left) return 0;
    --*left;
    size_t sum = value->string ? strlen(value->string) : 0;
    require(!value->string || sum <= value->length);
    require(value->kind != PICKLE_DICT || value->count % 2 == 0);
    require(value->kind != PICKLE_CALL || value->count == 2);
    for (size_t k = 0; k < value->count; k++) sum += look(value->item[k], depth - 1, left);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    uint8_t *exact = malloc(size + !size); /* so that a sanitizer sees reads beyond the end */
    pickle *p = NULL;
    failure failure = {0};
    require(exact);
    if (size) memcpy(exact, data, size);
    const status_code status = pickle_open(&p, exact, size, "input", &failure);
    require((status == STATUS_OK) == (p != NULL));
    require(status == STATUS_OK || (status == STATUS_CORRUPT && failure.message[0]));
    size_t left = 10000;
    if (p) look(pickle_root(p), 6, &left);
    pickle_close(&p);
    free(exact);
    return 0;
}
