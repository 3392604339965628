#include "core/protobuf.h"

#include <string.h>

typedef enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 } wire;

/* Seven bits to a byte, the lowest first; the top bit says that more follow. */
static void add_varint(text *message, uint64_t value) {
    unsigned char bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (unsigned char)(value & 0x7f);
        value >>= 7;
        if (value) bytes[count] |= 0x80;
        count++;
    } while (value);
    text_add_bytes(message, bytes, count);
}

static void add_tag(text *message, int field, wire kind) { add_varint(message, (uint64_t)field << 3 | (uint64_t)kind); }

/* Lowest byte first, on every machine. */
static void add_fixed(text *message, uint64_t bits, size_t count) {
    unsigned char bytes[8];
    for (size_t k = 0; k < count; k++) bytes[k] = (unsigned char)(bits >> 8 * k);
    text_add_bytes(message, bytes, count);
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void protobuf_add_integer(text *message, int field, int64_t value) {
    add_tag(message, field, WIRE_VARINT);
    add_varint(message, (uint64_t)value);
}

void protobuf_add_float(text *message, int field, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_tag(message, field, WIRE_32);
    add_fixed(message, bits, sizeof bits);
}

void protobuf_add_double(text *message, int field, double value) {
    add_tag(message, field, WIRE_64);
    add_fixed(message, bits_of(value), sizeof value);
}

void protobuf_begin_bytes(text *message, int field, size_t size) {
    add_tag(message, field, WIRE_BYTES);
    add_varint(message, size);
}

void protobuf_add_bytes(text *message, int field, const void *bytes, size_t size) {
    protobuf_begin_bytes(message, field, size);
    if (size) text_add_bytes(message, bytes, size);
}

void protobuf_add_string(text *message, int field, const char *string) {
    protobuf_add_bytes(message, field, string, strlen(string));
}

void protobuf_add_message(text *message, int field, text *inner) {
    protobuf_add_bytes(message, field, inner->bytes, inner->size);
    message->failed |= inner->failed;
    text_close(inner);
}

void protobuf_add_doubles(text *message, int field, const double *values, size_t count) {
    protobuf_begin_bytes(message, field, count * sizeof *values);
    for (size_t k = 0; k < count; k++) add_fixed(message, bits_of(values[k]), sizeof *values);
}
