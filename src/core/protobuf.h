/*
 * Messages in the wire format of Protocol Buffers, which ONNX and TensorBoard use, written into a text:
 *
 *     text inner = {0};
 *     protobuf_add_string(&inner, 1, "loss");
 *     protobuf_add_float(&inner, 2, 0.5f);
 *     protobuf_add_message(&message, 5, &inner);      closes it
 *
 * The numbers of fields are those of the format's definition (.proto). A failed allocation is remembered by the text.
 */
#ifndef HWS_CORE_PROTOBUF_H
#define HWS_CORE_PROTOBUF_H

#include "core/text.h"

#include <stdint.h>

void protobuf_add_integer(text *message, int field, int64_t value); /* int32, int64, bool and enums */
void protobuf_add_float(text *message, int field, float value);
void protobuf_add_double(text *message, int field, double value);
void protobuf_add_string(text *message, int field, const char *string);
void protobuf_add_bytes(text *message, int field, const void *bytes, size_t size);

/* A message inside, which is closed; if it ran out of memory, so has the outer one. */
void protobuf_add_message(text *message, int field, text *inner);

/* The tag and the length of a field whose `size` bytes the caller writes behind it. */
void protobuf_begin_bytes(text *message, int field, size_t size);

/* Repeated numbers in one field. */
void protobuf_add_doubles(text *message, int field, const double *values, size_t count);

#endif
