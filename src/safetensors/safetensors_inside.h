/* What reader and writer of safetensors share. */
#ifndef HWS_SAFETENSORS_SAFETENSORS_INSIDE_H
#define HWS_SAFETENSORS_SAFETENSORS_INSIDE_H

#include "core/mapped_file.h"
#include "safetensors/safetensors.h"

#include <jansson.h>

enum { SAFETENSORS_LENGTH_BYTES = 8, SAFETENSORS_CRC_DIGITS = 16 };

static const size_t SAFETENSORS_LARGEST_HEADER = 100u << 20;

#define SAFETENSORS_METADATA "__metadata__"
#define SAFETENSORS_CRC "hws_crc64"

/* Bytes that somebody else owns. */
typedef struct safetensors_span {
    const unsigned char *bytes;
    size_t size;
} safetensors_span;

struct safetensors {
    char *path;
    const unsigned char *bytes; /* the whole file */
    size_t size;
    mapped_file mapped; /* the same if this file is mapped; else not open */
    json_t *header;
    const json_t *metadata; /* in the header, or NULL */
    safetensor *tensors;
    size_t count;
};

/* The bytes of a tensor; 0 if that does not fit into a size_t. A tensor of no elements has 0 bytes and is fine. */
int safetensors_bytes(safetensors_dtype dtype, size_t rank, const size_t *shape, size_t *bytes);

/* Parses the header into header, metadata and tensors of that data. */
status_code safetensors_parse(safetensors *file, const char *header, size_t header_size, const safetensors_span *data,
                              failure *failure);

/* Whether a header is no deeper and holds no more values than the reader accepts, before
   anything is allocated for them. */
int safetensors_is_plausible(const char *header, size_t size);

/* Where in the header the digits of the checksum are, or NULL. Inside strings quotes are escaped, so what this finds
   is the key itself. */
const char *safetensors_find_crc(const char *header, size_t header_size);

/* The checksum, as digits: of the header with zeros in place of the checksum, then of the data. */
void safetensors_crc(const char *header, size_t header_size, size_t spans, const safetensors_span *data,
                     char digits[SAFETENSORS_CRC_DIGITS + 1]);

#endif
