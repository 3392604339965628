#define _POSIX_C_SOURCE 200809L
#include "nifti/nifti.h"

#include "core/file_writer.h"
#include "core/memory.h"
#include "core/path.h"
#include "nifti/nifti_header.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { CHUNK_VOXELS = 1 << 13, CHUNK_BYTES = CHUNK_VOXELS * 8, HIGHEST_RATIO = 1032 };

/* ---- reading ---- */

typedef struct nifti_stream {
    gzFile file;      /* reads uncompressed files too */
    uint64_t largest; /* as many bytes as this file can yield */
    const char *path;
    nifti_header header;
} nifti_stream;

struct nifti_reader {
    nifti_stream stream;
    char *path;
    int next; /* channel */
};

/* Reads up to `size` bytes; fewer only at the end of the file. */
static status_code stream_read(nifti_stream *stream, void *bytes, size_t size, size_t *count, failure *failure) {
    const int got = gzread(stream->file, bytes, (unsigned)size);
    *count = got > 0 ? (size_t)got : 0;
    int code = Z_OK;
    const char *reason = gzerror(stream->file, &code);
    /* errno may be an old one: an error that comes behind some bytes is told with the next ones. */
    const char *colon = strstr(reason, ": ");
    if (code == Z_ERRNO)
        return fail(failure, STATUS_CANNOT_READ, "%s could not be read: %s", stream->path,
                    colon ? colon + 2 : strerror(EIO));
    if (code == Z_MEM_ERROR) return fail_memory(failure, stream->path);
    if (code == Z_BUF_ERROR)
        return fail(failure, STATUS_CORRUPT, "%s is cut off within its compressed data", stream->path);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        return fail(failure, STATUS_CORRUPT, "%s is damaged: %s", stream->path, reason);
    return STATUS_OK;
}

static status_code stream_read_all(nifti_stream *stream, void *bytes, size_t size, failure *failure) {
    size_t count;
    const status_code status = stream_read(stream, bytes, size, &count, failure);
    if (status != STATUS_OK) return status;
    if (count < size)
        return fail(failure, STATUS_CORRUPT, "%s is cut off: it has fewer bytes than its header promises",
                    stream->path);
    return STATUS_OK;
}

static status_code stream_skip(nifti_stream *stream, uint64_t size, failure *failure) {
    uint8_t waste[4096];
    for (uint64_t left = size; left > 0;) {
        const size_t now = left < sizeof waste ? (size_t)left : sizeof waste;
        const status_code status = stream_read_all(stream, waste, now, failure);
        if (status != STATUS_OK) return status;
        left -= now;
    }
    return STATUS_OK;
}

/* Also makes zlib compare the checksum behind the compressed data. */
static status_code stream_must_end(nifti_stream *stream, failure *failure) {
    uint8_t byte;
    size_t count;
    const status_code status = stream_read(stream, &byte, 1, &count, failure);
    if (status != STATUS_OK) return status;
    if (count > 0) return fail(failure, STATUS_CORRUPT, "%s has more bytes than its header promises", stream->path);
    return STATUS_OK;
}

static status_code open_file(const char *path, int *descriptor, uint64_t *size, failure *failure) {
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not keep us waiting */
    struct stat info;
    if (*descriptor < 0 || fstat(*descriptor, &info) != 0)
        return fail(failure, STATUS_CANNOT_READ, "%s could not be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail(failure, STATUS_CANNOT_READ, "%s is not a file", path);
    *size = (uint64_t)info.st_size;
    return STATUS_OK;
}

static status_code read_header(nifti_stream *stream, failure *failure) {
    uint8_t bytes[NIFTI2_BYTES];
    size_t count;
    status_code status = stream_read(stream, bytes, NIFTI1_BYTES, &count, failure);
    /* Version 2 has more; version 1 may end sooner than that. */
    const int longer = status == STATUS_OK && count == NIFTI1_BYTES && (bytes[0] == 0x1c || bytes[3] == 0x1c);
    if (longer) {
        size_t more;
        status = stream_read(stream, bytes + count, NIFTI2_BYTES - count, &more, failure);
        count += more;
    }
    if (status != STATUS_OK) return status;
    status = nifti_header_parse(bytes, count, stream->path, &stream->header, failure);
    if (status != STATUS_OK) return status;
    if (stream->header.voxel_offset + stream->header.voxel_bytes > stream->largest)
        return fail(failure, STATUS_CORRUPT, "%s is cut off: it is too small for the voxels its header promises",
                    stream->path);
    return STATUS_OK;
}

static void stream_close(nifti_stream *stream) {
    if (stream->file) gzclose(stream->file);
    stream->file = NULL;
}

/* Leaves the stream behind the header. Close it, also after a failure. */
static status_code stream_open(nifti_stream *stream, const char *path, failure *failure) {
    *stream = (nifti_stream){.path = path};
    int descriptor;
    uint64_t size = 0;
    const status_code status = open_file(path, &descriptor, &size, failure);
    if (status == STATUS_OK) stream->file = gzdopen(descriptor, "rb");
    if (!stream->file) {
        if (descriptor >= 0) close(descriptor);
        return status == STATUS_OK ? fail_memory(failure, "a NIfTI file") : status;
    }
    gzbuffer(stream->file, 1 << 16);
    stream->largest = gzdirect(stream->file)              ? size
                      : size > UINT64_MAX / HIGHEST_RATIO ? UINT64_MAX
                                                          : size * HIGHEST_RATIO;
    return read_header(stream, failure);
}

static int host_is_big_endian(void) {
    const uint16_t one = 1;
    uint8_t first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void swap_bytes(uint8_t *bytes, size_t count, int size) {
    for (size_t i = 0; i < count; i++, bytes += size) {
        for (int a = 0, b = size - 1; a < b; a++, b--) {
            const uint8_t kept = bytes[a];
            bytes[a] = bytes[b];
            bytes[b] = kept;
        }
    }
}

#define DECODE(type)                                                                                                   \
    for (size_t i = 0; i < count; i++) {                                                                               \
        type value;                                                                                                    \
        memcpy(&value, raw + i * sizeof value, sizeof value);                                                          \
        values[i] = (double)value;                                                                                     \
    }                                                                                                                  \
    break

static void decode(nifti_type type, const uint8_t *raw, size_t count, double *values) {
    switch (type) {
    case NIFTI_UINT8: DECODE(uint8_t);
    case NIFTI_INT8: DECODE(int8_t);
    case NIFTI_UINT16: DECODE(uint16_t);
    case NIFTI_INT16: DECODE(int16_t);
    case NIFTI_UINT32: DECODE(uint32_t);
    case NIFTI_INT32: DECODE(int32_t);
    case NIFTI_UINT64: DECODE(uint64_t);
    case NIFTI_INT64: DECODE(int64_t);
    case NIFTI_FLOAT32: DECODE(float);
    case NIFTI_FLOAT64: DECODE(double);
    }
}

/* Where the values of a chunk go; returns how many it could take. */
typedef size_t voxel_taker(void *target, size_t first, size_t count, const double *values);

static int is_scaled(const nifti_header *header) { return header->slope != 1 || header->intercept != 0; }

static status_code read_chunk(nifti_stream *stream, uint8_t *raw, size_t count, double *values, failure *failure) {
    const nifti_header *header = &stream->header;
    const int bytes = nifti_type_bytes(header->type);
    const status_code status = stream_read_all(stream, raw, count * (size_t)bytes, failure);
    if (status != STATUS_OK) return status;
    if (header->big_endian != host_is_big_endian()) swap_bytes(raw, count, bytes);
    decode(header->type, raw, count, values);
    if (is_scaled(header))
        for (size_t i = 0; i < count; i++) values[i] = values[i] * header->slope + header->intercept;
    return STATUS_OK;
}

static status_code fail_label(const nifti_stream *stream, size_t voxel, double value, failure *failure) {
    const nifti_header *header = &stream->header;
    const size_t nx = (size_t)header->grid.size[0], ny = (size_t)header->grid.size[1];
    char scaling[100] = "";
    if (is_scaled(header))
        snprintf(scaling, sizeof scaling, " after scl_slope %.9g and scl_inter %.9g", header->slope, header->intercept);
    return fail(failure, STATUS_CORRUPT,
                "%s is not a label map: voxel (%zu, %zu, %zu) is %.9g%s; labels are whole numbers from -32768 to 32767",
                stream->path, voxel % nx, voxel / nx % ny, voxel / nx / ny, value, scaling);
}

static status_code read_values(nifti_stream *stream, size_t total, voxel_taker *take, void *target, failure *failure) {
    uint8_t *raw = memory_open(CHUNK_BYTES);
    double *values = memory_open(CHUNK_VOXELS * sizeof *values);
    status_code status = raw && values ? STATUS_OK : fail_memory(failure, "reading an image");
    for (size_t first = 0; first < total && status == STATUS_OK; first += CHUNK_VOXELS) {
        const size_t count = total - first < CHUNK_VOXELS ? total - first : CHUNK_VOXELS;
        status = read_chunk(stream, raw, count, values, failure);
        if (status != STATUS_OK) break;
        const size_t taken = take(target, first, count, values);
        if (taken < count) status = fail_label(stream, first + taken, values[taken], failure);
    }
    memory_close(raw);
    memory_close(values);
    return status;
}

static size_t take_floats(void *target, size_t first, size_t count, const double *values) {
    float *voxels = (float *)target + first;
    for (size_t i = 0; i < count; i++)
        voxels[i] =
            fabs(values[i]) <= FLT_MAX || isnan(values[i]) ? (float)values[i] : (float)copysign(INFINITY, values[i]);
    return count;
}

typedef struct label_target {
    int16_t *labels;
    double near; /* values so near to a whole number are that number */
} label_target;

/* Programs that store floating-point labels as scaled integers give them back up to half a step off. */
static double near_enough(const nifti_header *header) {
    return is_scaled(header) ? fmin(fmax(1e-3, fabs(header->slope) / 2), 1e-2) : 0;
}

static size_t take_labels(void *target, size_t first, size_t count, const double *values) {
    const label_target *to = target;
    for (size_t i = 0; i < count; i++) {
        const double whole = rint(values[i]);
        if (!(whole >= INT16_MIN && whole <= INT16_MAX) || !(fabs(values[i] - whole) <= to->near)) return i;
        to->labels[first + i] = (int16_t)whole;
    }
    return count;
}

static status_code skip_to_voxels(nifti_stream *stream, failure *failure) {
    const uint64_t front = stream->header.grid.nifti_version == 1 ? NIFTI1_BYTES : NIFTI2_BYTES;
    return stream_skip(stream, stream->header.voxel_offset - front, failure);
}

static status_code read_opened_volume(nifti_stream *stream, int channel, volume *volume, failure *failure) {
    const nifti_header *header = &stream->header;
    const int all = channel == NIFTI_ALL_CHANNELS, channels = all ? header->channels : 1;
    if (!all && (channel < 0 || channel >= header->channels))
        return fail(failure, STATUS_BAD_INPUT, "%s has %d channels; there is no channel %d", stream->path,
                    header->channels, channel);
    const uint64_t channel_bytes = header->voxel_bytes / (uint64_t)header->channels;
    status_code status = skip_to_voxels(stream, failure);
    if (status == STATUS_OK && !all) status = stream_skip(stream, channel_bytes * (uint64_t)channel, failure);
    if (status == STATUS_OK) status = volume_open(volume, &header->grid, channels, failure);
    const size_t total = volume_grid_voxels(&header->grid) * (size_t)channels;
    if (status == STATUS_OK) status = read_values(stream, total, take_floats, volume->voxels, failure);
    const int at_end = all || channel == header->channels - 1;
    if (status == STATUS_OK && at_end) status = stream_must_end(stream, failure);
    return status;
}

status_code nifti_read_volume(const char *path, int channel, volume *result, failure *failure) {
    *result = (volume){0};
    nifti_stream stream;
    status_code status = stream_open(&stream, path, failure);
    if (status == STATUS_OK) status = read_opened_volume(&stream, channel, result, failure);
    if (status != STATUS_OK) {
        volume_close(result);
        *result = (volume){0};
    }
    stream_close(&stream);
    return status;
}

status_code nifti_reader_open(nifti_reader **opened, const char *path, nifti_info *info, failure *failure) {
    nifti_reader *reader = *opened = calloc(1, sizeof *reader);
    if (reader) reader->path = strdup(path);
    status_code status = reader && reader->path ? STATUS_OK : fail_memory(failure, "a NIfTI file");
    if (status == STATUS_OK) status = stream_open(&reader->stream, reader->path, failure);
    if (status == STATUS_OK)
        *info = (nifti_info){.grid = reader->stream.header.grid, .channels = reader->stream.header.channels};
    else nifti_reader_close(opened);
    return status;
}

status_code nifti_reader_next(nifti_reader *reader, float *voxels, failure *failure) {
    nifti_stream *stream = &reader->stream;
    assert(reader->next < stream->header.channels);
    status_code status = reader->next == 0 ? skip_to_voxels(stream, failure) : STATUS_OK;
    if (status == STATUS_OK)
        status = read_values(stream, volume_grid_voxels(&stream->header.grid), take_floats, voxels, failure);
    if (status == STATUS_OK && ++reader->next == stream->header.channels) status = stream_must_end(stream, failure);
    return status;
}

void nifti_reader_close(nifti_reader **reader) {
    if (!*reader) return;
    stream_close(&(*reader)->stream);
    free((*reader)->path);
    free(*reader);
    *reader = NULL;
}

static status_code read_opened_labels(nifti_stream *stream, label_map *labels, failure *failure) {
    const nifti_header *header = &stream->header;
    if (header->channels != 1)
        return fail(failure, STATUS_CORRUPT, "%s has %d channels; a label map has one", stream->path, header->channels);
    status_code status = skip_to_voxels(stream, failure);
    if (status == STATUS_OK) status = label_map_open(labels, &header->grid, failure);
    const size_t total = volume_grid_voxels(&header->grid);
    label_target target = {labels->labels, near_enough(header)};
    if (status == STATUS_OK) status = read_values(stream, total, take_labels, &target, failure);
    return status == STATUS_OK ? stream_must_end(stream, failure) : status;
}

status_code nifti_read_labels(const char *path, label_map *labels, failure *failure) {
    *labels = (label_map){0};
    nifti_stream stream;
    status_code status = stream_open(&stream, path, failure);
    if (status == STATUS_OK) status = read_opened_labels(&stream, labels, failure);
    if (status != STATUS_OK) {
        label_map_close(labels);
        *labels = (label_map){0};
    }
    stream_close(&stream);
    return status;
}

status_code nifti_inspect(const char *path, nifti_info *info, failure *failure) {
    nifti_stream stream;
    const status_code status = stream_open(&stream, path, failure);
    *info = (nifti_info){.grid = stream.header.grid, .channels = stream.header.channels};
    stream_close(&stream);
    return status;
}

/* ---- writing ---- */

typedef struct nifti_output {
    file_writer file;
    int compressed;
    z_stream deflater;
    uint8_t *packed; /* CHUNK_BYTES */
} nifti_output;

/* zlib's own gzip header carries no time and no name, so equal contents give equal bytes. */
static status_code output_open(nifti_output *output, const char *path, failure *failure) {
    *output = (nifti_output){.compressed = path_ends_with(path, ".gz"), .packed = memory_open(CHUNK_BYTES)};
    const int good = output->packed && (!output->compressed || deflateInit2(&output->deflater, 6, Z_DEFLATED, 15 + 16,
                                                                            8, Z_DEFAULT_STRATEGY) == Z_OK);
    if (good) return file_writer_open(&output->file, path), STATUS_OK;
    memory_close(output->packed);
    return fail_memory(failure, "writing an image");
}

static void output_deflate(nifti_output *output, const uint8_t *bytes, size_t size, int flush) {
    z_stream *deflater = &output->deflater;
    deflater->next_in = (uint8_t *)bytes; /* zlib does not write there */
    deflater->avail_in = (unsigned)size;
    do {
        deflater->next_out = output->packed;
        deflater->avail_out = CHUNK_BYTES;
        deflate(deflater, flush);
        file_writer_add(&output->file, output->packed, CHUNK_BYTES - deflater->avail_out);
    } while (deflater->avail_out == 0);
}

static void output_add(nifti_output *output, const uint8_t *bytes, size_t size) {
    if (output->compressed) output_deflate(output, bytes, size, Z_NO_FLUSH);
    else file_writer_add(&output->file, bytes, size);
}

static status_code output_close(nifti_output *output, failure *failure) {
    if (output->compressed) {
        output_deflate(output, NULL, 0, Z_FINISH);
        deflateEnd(&output->deflater);
    }
    memory_close(output->packed);
    return file_writer_close(&output->file, failure);
}

/* Fills `bytes` with voxels as the file has them. */
typedef void voxel_giver(const void *source, size_t first, size_t count, uint8_t *bytes);

static void give_floats(const void *source, size_t first, size_t count, uint8_t *bytes) {
    memcpy(bytes, (const float *)source + first, count * sizeof(float));
    if (host_is_big_endian()) swap_bytes(bytes, count, sizeof(float));
}

static void give_int16(const void *source, size_t first, size_t count, uint8_t *bytes) {
    memcpy(bytes, (const int16_t *)source + first, count * sizeof(int16_t));
    if (host_is_big_endian()) swap_bytes(bytes, count, sizeof(int16_t));
}

static void give_uint8(const void *source, size_t first, size_t count, uint8_t *bytes) {
    const int16_t *labels = (const int16_t *)source + first;
    for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)labels[i];
}

typedef struct nifti_contents {
    const volume_grid *grid;
    int channels;
    nifti_type type;
    const void *voxels;
    voxel_giver *give;
} nifti_contents;

static void write_contents(nifti_output *output, const nifti_contents *contents, uint8_t *bytes) {
    uint8_t front[NIFTI_LARGEST_FRONT];
    output_add(output, front, nifti_header_write(contents->grid, contents->channels, contents->type, front));
    const size_t total = volume_grid_voxels(contents->grid) * (size_t)contents->channels;
    const size_t voxel_bytes = (size_t)nifti_type_bytes(contents->type);
    for (size_t first = 0; first < total && !output->file.error; first += CHUNK_VOXELS) {
        const size_t count = total - first < CHUNK_VOXELS ? total - first : CHUNK_VOXELS;
        contents->give(contents->voxels, first, count, bytes);
        output_add(output, bytes, count * voxel_bytes);
    }
}

static status_code write_file(const char *path, const nifti_contents *contents, failure *failure) {
    uint8_t *bytes = memory_open(CHUNK_BYTES);
    nifti_output output;
    status_code status = bytes ? output_open(&output, path, failure) : fail_memory(failure, "writing an image");
    if (status == STATUS_OK) {
        write_contents(&output, contents, bytes);
        status = output_close(&output, failure);
    }
    memory_close(bytes);
    return status;
}

status_code nifti_write_volume(const char *path, const volume *volume, failure *failure) {
    const nifti_contents contents = {&volume->grid, volume->channels, NIFTI_FLOAT32, volume->voxels, give_floats};
    return write_file(path, &contents, failure);
}

status_code nifti_write_labels(const char *path, const label_map *labels, failure *failure) {
    const size_t count = volume_grid_voxels(&labels->grid);
    int small = 1;
    for (size_t i = 0; i < count && small; i++) small = labels->labels[i] >= 0 && labels->labels[i] <= UINT8_MAX;
    const nifti_contents contents = {&labels->grid, 1, small ? NIFTI_UINT8 : NIFTI_INT16, labels->labels,
                                     small ? give_uint8 : give_int16};
    return write_file(path, &contents, failure);
}
