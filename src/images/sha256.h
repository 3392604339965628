/*
 * SHA-256 (FIPS 180-4), to know that a file that came over the network is the one that was meant.
 *
 * It is our own rather than the sha256sum of the system, so that the bytes which are added up are those which are kept,
 * out of gzip and in memory, and so that no check depends on a program that a machine may lack or call by another name.
 */
#ifndef HWS_IMAGES_SHA256_H
#define HWS_IMAGES_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT = 65 };

typedef struct sha256 {
    uint32_t state[8];
    uint64_t size; /* bytes added so far */
    uint8_t block[64];
} sha256;

void sha256_start(sha256 *sum);
void sha256_add(sha256 *sum, const void *bytes, size_t size);

/* Ends the sum: 64 hexadecimal digits in lower case and a zero. */
void sha256_text(sha256 *sum, char text[SHA256_TEXT]);

#endif
