#include "tensorboard/event_file.h"

#include "core/path.h"
#include "core/protobuf.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of TensorFlow's messages Event, Summary, Summary.Value, HistogramProto and Summary.Image. */
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SCALAR = 2, VALUE_IMAGE = 4, VALUE_HISTOGRAM = 5 };
enum { HISTOGRAM_LOW = 1, HISTOGRAM_HIGH = 2, HISTOGRAM_COUNT = 3, HISTOGRAM_SUM = 4, HISTOGRAM_SQUARES = 5 };
enum { HISTOGRAM_LIMITS = 6, HISTOGRAM_BUCKETS = 7 };
enum { IMAGE_HEIGHT = 1, IMAGE_WIDTH = 2, IMAGE_CHANNELS = 3, IMAGE_BYTES = 4 };

/* ---- checksums --------------------------------------------------------------------------------------------------- */

uint32_t crc32c(const void *bytes, size_t size) {
    static const uint32_t POLYNOMIAL = 0x82f63b78; /* lowest bit first */
    const unsigned char *at = bytes;
    uint32_t crc = 0xffffffff;
    for (size_t k = 0; k < size; k++) {
        crc ^= at[k];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    }
    return ~crc;
}

uint32_t crc32c_masked(const void *bytes, size_t size) {
    const uint32_t crc = crc32c(bytes, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

void event_begin(event *e, double time, int64_t step) { *e = (event){.time = time, .step = step}; }

static void add_value(event *e, const char *tag, int field, text *content) {
    text value = {0};
    protobuf_add_string(&value, VALUE_TAG, tag);
    protobuf_add_message(&value, field, content);
    protobuf_add_message(&e->values, SUMMARY_VALUE, &value);
}

void event_add_scalar(event *e, const char *tag, double number) {
    text value = {0};
    if (!isfinite(number)) return;
    protobuf_add_string(&value, VALUE_TAG, tag);
    protobuf_add_float(&value, VALUE_SCALAR, (float)number);
    protobuf_add_message(&e->values, SUMMARY_VALUE, &value);
}

typedef struct sums {
    double low, high, count, sum, squares;
} sums;

static sums sums_of(const double *values, size_t count) {
    sums s = {HUGE_VAL, -HUGE_VAL, 0, 0, 0};
    for (size_t k = 0; k < count; k++) {
        if (!isfinite(values[k])) continue;
        s.low = fmin(s.low, values[k]);
        s.high = fmax(s.high, values[k]);
        s.count++;
        s.sum += values[k];
        s.squares += values[k] * values[k];
    }
    return s;
}

void event_add_histogram(event *e, const char *tag, const double *values, size_t count, int buckets) {
    const sums s = sums_of(values, count);
    text histogram = {0};
    double *limits = calloc(2 * (size_t)buckets, sizeof *limits), *counts = limits ? limits + buckets : NULL;
    if (!limits) e->values.failed = 1;
    if (limits && s.count > 0) {
        const double width = s.high > s.low ? (s.high - s.low) / buckets : 1;
        for (int k = 0; k < buckets; k++) limits[k] = s.low + width * (k + 1);
        for (size_t k = 0; k < count; k++)
            if (isfinite(values[k])) counts[(int)fmin((values[k] - s.low) / width, buckets - 1)]++;
        protobuf_add_double(&histogram, HISTOGRAM_LOW, s.low);
        protobuf_add_double(&histogram, HISTOGRAM_HIGH, s.high);
        protobuf_add_double(&histogram, HISTOGRAM_COUNT, s.count);
        protobuf_add_double(&histogram, HISTOGRAM_SUM, s.sum);
        protobuf_add_double(&histogram, HISTOGRAM_SQUARES, s.squares);
        protobuf_add_doubles(&histogram, HISTOGRAM_LIMITS, limits, (size_t)buckets);
        protobuf_add_doubles(&histogram, HISTOGRAM_BUCKETS, counts, (size_t)buckets);
        add_value(e, tag, VALUE_HISTOGRAM, &histogram);
    }
    free(limits);
}

/* A PNG file has its sizes at a fixed place, highest byte first. */
static int64_t png_number(const unsigned char *at) {
    return (int64_t)at[0] << 24 | (int64_t)at[1] << 16 | (int64_t)at[2] << 8 | at[3];
}

void event_add_png(event *e, const char *tag, const void *png, size_t size) {
    enum { WIDTH_AT = 16, HEIGHT_AT = 20, COLOUR_AT = 25, HEAD = 26, IS_COLOUR = 2 };
    const unsigned char *at = png;
    text image = {0};
    if (size < HEAD) return;
    protobuf_add_integer(&image, IMAGE_HEIGHT, png_number(at + HEIGHT_AT));
    protobuf_add_integer(&image, IMAGE_WIDTH, png_number(at + WIDTH_AT));
    protobuf_add_integer(&image, IMAGE_CHANNELS, at[COLOUR_AT] & IS_COLOUR ? 3 : 1);
    protobuf_add_bytes(&image, IMAGE_BYTES, png, size);
    add_value(e, tag, VALUE_IMAGE, &image);
}

void event_close(event *e) { text_close(&e->values); }

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void add_little(text *record, uint64_t number, int bytes) {
    for (int k = 0; k < bytes; k++) {
        const unsigned char byte = (unsigned char)(number >> 8 * k);
        text_add_bytes(record, &byte, 1);
    }
}

/* Its length, the checksum of that, the message, the checksum of that. */
static void add_record(text *records, text *message) {
    const size_t start = records->size;
    add_little(records, message->size, 8);
    if (!records->failed) add_little(records, crc32c_masked(records->bytes + start, 8), 4);
    text_add_bytes(records, message->bytes, message->size);
    add_little(records, crc32c_masked(message->bytes, message->size), 4);
    records->failed |= message->failed;
    text_close(message);
}

static void add_first(const event *e, text *records) {
    text message = {0};
    protobuf_add_double(&message, EVENT_TIME, e->time);
    protobuf_add_string(&message, EVENT_VERSION, "brain.Event:2");
    add_record(records, &message);
}

static status_code append(const char *path, const text *records, failure *failure) {
    FILE *file = fopen(path, "ab");
    int good = file && fwrite(records->bytes, 1, records->size, file) == records->size;
    if (file) good &= fclose(file) == 0;
    return good ? STATUS_OK : fail(failure, STATUS_CANNOT_WRITE, "%.500s cannot be written: %s", path, strerror(errno));
}

status_code event_append(event *e, const char *path, failure *failure) {
    text message = {0}, records = {0};
    if (!e->values.size && !e->values.failed) return STATUS_OK;
    if (!path_exists(path)) add_first(e, &records);
    protobuf_add_double(&message, EVENT_TIME, e->time);
    protobuf_add_integer(&message, EVENT_STEP, e->step);
    protobuf_add_message(&message, EVENT_SUMMARY, &e->values);
    add_record(&records, &message);
    const status_code status = records.failed ? fail_memory(failure, "an event") : append(path, &records, failure);
    text_close(&records);
    return status;
}
