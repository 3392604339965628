/*
 * Event files, which TensorBoard shows: docs/formats.md says what is in them.
 *
 *     event event = {0};
 *     event_begin(&event, seconds, iteration);
 *     event_add_scalar(&event, "loss", 0.5);
 *     status = event_append(&event, path, &failure);     closes it
 *
 * A file begins with the first event that is appended; what was appended before stays as it is.
 */
#ifndef HWS_TENSORBOARD_EVENT_FILE_H
#define HWS_TENSORBOARD_EVENT_FILE_H

#include "core/failure.h"
#include "core/text.h"

#include <stdint.h>

typedef struct event {
    double time; /* seconds since 1970 */
    int64_t step;
    text values; /* those that were added */
} event;

void event_begin(event *event, double time, int64_t step);

/* Numbers that are not finite are left out. */
void event_add_scalar(event *event, const char *tag, double value);
/* Of the finite ones among the values, in `buckets` equal parts of their range; nothing if there are none. */
void event_add_histogram(event *event, const char *tag, const double *values, size_t count, int buckets);
/* The bytes of a PNG file. */
void event_add_png(event *event, const char *tag, const void *png, size_t size);

/* One record behind those that are in the file. An event without values is not written. */
status_code event_append(event *event, const char *path, failure *failure);
void event_close(event *event);

/* CRC-32C (Castagnoli), and as TensorBoard's records have it: turned by 15 bits, plus a constant. */
uint32_t crc32c(const void *bytes, size_t size);
uint32_t crc32c_masked(const void *bytes, size_t size);

#endif
