/* A small array of bytes or longer numbers. */
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const int item = 1 << test_random(random) % 4, rows = (int)(test_random(random) % 5),
              columns = (int)(test_random(random) % 5);
    char header[118];
    memset(header, ' ', sizeof header);
    const int length =
        snprintf(header, sizeof header, "{'descr': '%cu%d', 'fortran_order': False, 'shape': (%d, %d), }",
                 item == 1 ? '|' : '<', item, rows, columns);
    header[length] = ' ';
    header[sizeof header - 1] = '\n';
    memcpy(bytes, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(bytes + 10, header, sizeof header);
    const size_t size = 10 + sizeof header + (size_t)(item * rows * columns);
    for (size_t k = 10 + sizeof header; k < size; k++) bytes[k] = (uint8_t)test_random(random);
    *front = 10 + sizeof header;
    return size;
}
