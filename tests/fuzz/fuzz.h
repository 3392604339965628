/* A fuzz target: libFuzzer's entry point, or a test's over fixed inputs (standalone.c). */
#ifndef HWS_TESTS_FUZZ_H
#define HWS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUZZ_LARGEST = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A correct input of at most FUZZ_LARGEST bytes for standalone.c to alter; the first `front` bytes matter most. */
size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front);

/* Stops at once, whatever the build type, so that the fuzzer keeps the input. */
#define require(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
