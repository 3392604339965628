/* Saving and resuming. The format is specified in docs/formats.md. */
#define _POSIX_C_SOURCE 200809L
#include "core/atomic_file.h"
#include "core/crc64.h"
#include "core/memory.h"
#include "sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_SIZE = 168, CHECKSUM_SIZE = 8, VERSION = 1, FLAG_COUNTS = 1, FLAG_WINDOW = 2, CHUNK = 1 << 16 };

static const char MAGIC[8] = {'H', 'W', 'S', 'S', 'T', 'A', 'T', 'E'};

/* ---- little-endian numbers ------------------------------------------------------------------------------------- */

static void put_u32(unsigned char *at, uint32_t x) {
    for (int k = 0; k < 4; k++) at[k] = (unsigned char)(x >> (8 * k));
}

static void put_u64(unsigned char *at, uint64_t x) {
    for (int k = 0; k < 8; k++) at[k] = (unsigned char)(x >> (8 * k));
}

static void put_f64(unsigned char *at, double x) { put_u64(at, hws_bits_of(x)); }

static void put_f32(unsigned char *at, float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_u32(at, bits);
}

static uint32_t get_u32(const unsigned char *at) {
    uint32_t x = 0;
    for (int k = 0; k < 4; k++) x |= (uint32_t)at[k] << (8 * k);
    return x;
}

static uint64_t get_u64(const unsigned char *at) { return get_u32(at) | (uint64_t)get_u32(at + 4) << 32; }

static double get_f64(const unsigned char *at) { return hws_double_of(get_u64(at)); }

static float get_f32(const unsigned char *at) {
    const uint32_t bits = get_u32(at);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- the header ------------------------------------------------------------------------------------------------ */

typedef struct state_header {
    uint32_t flags;
    int64_t n;
    uint64_t draws_made, updates_made;
    hws_options options;
    window_place window;
} state_header;

/* n is at most 2^32, so this cannot overflow 64 bits. */
static uint64_t total_size(int64_t n, uint32_t flags) {
    return HEADER_SIZE + (uint64_t)n * (flags & FLAG_COUNTS ? 4 + 16 : 4) + CHECKSUM_SIZE;
}

static state_header header_of(const hws_sampler *sampler) {
    state_header header = {
        .n = sampler->law.n,
        .draws_made = sampler->draws_made,
        .updates_made = sampler->updates_made,
        .options = sampler->options,
    };
    if (sampler->last_seen) header.flags |= FLAG_COUNTS;
    if (sampler->law.window.valid) {
        header.flags |= FLAG_WINDOW;
        header.window = sampler->law.window.place;
    }
    return header;
}

static void header_write(const state_header *header, unsigned char *at) {
    const hws_options *options = &header->options;
    memset(at, 0, HEADER_SIZE);
    memcpy(at, MAGIC, sizeof MAGIC);
    put_u32(at + 8, VERSION);
    put_u32(at + 12, header->flags);
    put_u64(at + 16, (uint64_t)header->n);
    put_u64(at + 24, header->draws_made);
    put_u64(at + 32, header->updates_made);
    put_u64(at + 40, options->seed);
    put_f64(at + 48, options->beta);
    put_u32(at + 56, (uint32_t)options->divergence.kind);
    put_u32(at + 60, (uint32_t)options->importance);
    put_f64(at + 64, options->divergence.parameter);
    put_f64(at + 72, options->initial_loss);
    put_f64(at + 80, options->jitter);
    put_f64(at + 88, options->momentum);
    put_f64(at + 96, options->floor);
    put_f64(at + 104, options->uniform_mix);
    put_f64(at + 112, options->weight_min);
    put_f64(at + 120, options->weight_max);
    put_u32(at + 128, options->replacement != 0);
    put_f64(at + 136, header->window.reference);
    put_f64(at + 144, header->window.center);
    put_f64(at + 152, header->window.half);
    put_f64(at + 160, header->window.error);
}

static int window_is_sane(const window_place *window) {
    return isfinite(window->reference) && fabs(window->center) <= 100 && window->half > 0 && window->half <= 1 &&
           window->error >= 0 && window->error < INFINITY;
}

/* Reads and checks everything but the options' ranges, which need the callbacks of a custom divergence. */
static hws_status header_read(const unsigned char *at, state_header *header) {
    if (memcmp(at, MAGIC, sizeof MAGIC) != 0) return HWS_ERROR_CORRUPT;
    if (get_u32(at + 8) > VERSION) return HWS_ERROR_VERSION;
    if (get_u32(at + 8) != VERSION) return HWS_ERROR_CORRUPT;
    *header =
        (state_header){.flags = get_u32(at + 12), .draws_made = get_u64(at + 24), .updates_made = get_u64(at + 32)};
    const uint64_t n = get_u64(at + 16);
    if (header->flags & ~(uint32_t)(FLAG_COUNTS | FLAG_WINDOW) || n < 1 || n > (uint64_t)HWS_MAX_EXAMPLES ||
        get_u32(at + 128) > 1)
        return HWS_ERROR_CORRUPT;
    header->n = (int64_t)n;
    if (get_u32(at + 56) > HWS_CUSTOM || get_u32(at + 60) > HWS_IMPORTANCE_EXACT) return HWS_ERROR_CORRUPT;
    header->options = (hws_options){
        .seed = get_u64(at + 40),
        .beta = get_f64(at + 48),
        .divergence = {.kind = (hws_divergence_kind)get_u32(at + 56), .parameter = get_f64(at + 64)},
        .importance = (hws_importance)get_u32(at + 60),
        .initial_loss = get_f64(at + 72),
        .jitter = get_f64(at + 80),
        .momentum = get_f64(at + 88),
        .floor = get_f64(at + 96),
        .uniform_mix = get_f64(at + 104),
        .weight_min = get_f64(at + 112),
        .weight_max = get_f64(at + 120),
        .replacement = (int)get_u32(at + 128),
        .keep_counts = (header->flags & FLAG_COUNTS) != 0,
    };
    header->window = (window_place){get_f64(at + 136), get_f64(at + 144), get_f64(at + 152), get_f64(at + 160)};
    if (header->flags & FLAG_WINDOW && !window_is_sane(&header->window)) return HWS_ERROR_CORRUPT;
    return HWS_OK;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

/* Where the bytes go: into memory, or in chunks into a file. */
typedef struct sink {
    unsigned char *memory;
    atomic_file *file;
    crc64 crc;
    size_t filled;
    int failed;
    unsigned char chunk[CHUNK];
} sink;

static void flush(sink *sink) {
    crc64_add(&sink->crc, sink->chunk, sink->filled);
    if (sink->memory) {
        memcpy(sink->memory, sink->chunk, sink->filled);
        sink->memory += sink->filled;
    } else if (!sink->failed) {
        sink->failed = !atomic_file_write(sink->file, sink->chunk, sink->filled);
    }
    sink->filled = 0;
}

/* A place for `size` bytes, to be filled by the caller at once. */
static unsigned char *room(sink *sink, size_t size) {
    if (sink->filled + size > CHUNK) flush(sink);
    sink->filled += size;
    return sink->chunk + sink->filled - size;
}

static void write_state(const hws_sampler *sampler, sink *sink) {
    crc64_start(&sink->crc);
    const state_header header = header_of(sampler);
    header_write(&header, room(sink, HEADER_SIZE));
    for (int64_t i = 0; i < header.n; i++) put_f32(room(sink, 4), sampler->law.losses[i]);
    for (int64_t i = 0; sampler->last_seen && i < header.n; i++) put_u64(room(sink, 8), sampler->last_seen[i]);
    for (int64_t i = 0; sampler->last_seen && i < header.n; i++) put_u64(room(sink, 8), sampler->draw_counts[i]);
    flush(sink);
    const uint64_t checksum = crc64_value(&sink->crc);
    put_u64(room(sink, CHECKSUM_SIZE), checksum);
    flush(sink);
}

size_t hws_sampler_state_size(const hws_sampler *sampler) {
    if (!sampler) return 0;
    return (size_t)total_size(sampler->law.n, sampler->last_seen ? FLAG_COUNTS : 0);
}

static hws_status no_memory(hws_sampler *sampler) {
    return sampler_fail(sampler, HWS_ERROR_MEMORY, -1, -1, "no memory for writing the state");
}

hws_status hws_sampler_state_write(hws_sampler *sampler, void *bytes, size_t size) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (!bytes || size != hws_sampler_state_size(sampler))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "the state has %zu bytes, room is for %zu",
                            hws_sampler_state_size(sampler), size);
    sink *to = memory_open(sizeof *to);
    if (!to) return no_memory(sampler);
    memset(to, 0, sizeof *to);
    to->memory = bytes;
    write_state(sampler, to);
    memory_close(to);
    return HWS_OK;
}

static hws_status io_failure(hws_sampler *sampler, const char *path, int reason) {
    return sampler_fail(sampler, HWS_ERROR_IO, -1, -1, "cannot write %.120s: %s", path, strerror(reason));
}

hws_status hws_sampler_save(hws_sampler *sampler, const char *path) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (!path) return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "path is NULL");
    sink *to = memory_open(sizeof *to);
    if (!to) return no_memory(sampler);
    memset(to, 0, sizeof *to);
    atomic_file file;
    hws_status status = HWS_OK;
    if (!atomic_file_open(&file, path)) {
        status = errno == ENOMEM ? no_memory(sampler) : io_failure(sampler, path, errno);
    } else {
        to->file = &file;
        write_state(sampler, to);
        const int reason = errno;
        if (to->failed) {
            atomic_file_abandon(&file);
            status = io_failure(sampler, path, reason);
        } else if (!atomic_file_commit(&file)) {
            status = io_failure(sampler, path, errno);
        }
    }
    memory_close(to);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Opens a sampler from bytes that have the right size and checksum. */
static hws_status restore(hws_sampler **out, const state_header *header, const unsigned char *body) {
    const size_t n = (size_t)header->n;
    float *losses = memory_open(n * sizeof *losses);
    if (!losses) return HWS_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++) losses[i] = get_f32(body + 4 * i);
    hws_status status = hws_sampler_open(out, header->n, losses, &header->options);
    memory_close(losses);
    if (status != HWS_OK) return status;

    hws_sampler *sampler = *out;
    sampler->draws_made = header->draws_made;
    sampler->updates_made = header->updates_made;
    body += 4 * n;
    for (size_t i = 0; sampler->last_seen && i < n; i++) {
        sampler->last_seen[i] = get_u64(body + 8 * i);
        sampler->draw_counts[i] = get_u64(body + 8 * (n + i));
        if (sampler->last_seen[i] > sampler->updates_made) status = HWS_ERROR_CORRUPT;
    }
    if (header->flags & FLAG_WINDOW) {
        const hws_divergence_kind kind = sampler->law.divergence.kind;
        if (kind == HWS_KL || kind == HWS_CHI2 || kind == HWS_CVAR) status = HWS_ERROR_CORRUPT;
        else level_window_fill(&sampler->law.window, sampler->law.losses, header->window);
    }
    if (status != HWS_OK) hws_sampler_close(out);
    return status;
}

hws_status hws_sampler_state_read(hws_sampler **out, const void *bytes, size_t size, const hws_divergence *divergence) {
    if (!out) return HWS_ERROR_ARGUMENT;
    *out = NULL;
    if (!bytes) return HWS_ERROR_ARGUMENT;
    state_header header;
    if (size < HEADER_SIZE + CHECKSUM_SIZE) return HWS_ERROR_CORRUPT;
    hws_status status = header_read(bytes, &header);
    if (status != HWS_OK) return status;
    if (total_size(header.n, header.flags) != size) return HWS_ERROR_CORRUPT;

    crc64 *crc = memory_open(sizeof *crc);
    if (!crc) return HWS_ERROR_MEMORY;
    crc64_start(crc);
    crc64_add(crc, bytes, size - CHECKSUM_SIZE);
    const uint64_t computed = crc64_value(crc);
    memory_close(crc);
    const unsigned char *at = bytes;
    if (computed != get_u64(at + size - CHECKSUM_SIZE)) return HWS_ERROR_CORRUPT;

    if (header.options.divergence.kind == HWS_CUSTOM) {
        if (!divergence || divergence->kind != HWS_CUSTOM) return HWS_ERROR_DIVERGENCE;
        header.options.divergence = *divergence;
    }
    status = restore(out, &header, at + HEADER_SIZE);
    /* What open refuses was never written by save: the file is at fault, not an argument. */
    return status == HWS_ERROR_ARGUMENT || status == HWS_ERROR_NOT_FINITE ? HWS_ERROR_CORRUPT : status;
}

static int read_all(int descriptor, unsigned char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t got = read(descriptor, bytes, size < 1 << 30 ? size : 1 << 30);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        bytes += got;
        size -= (size_t)got;
    }
    return 1;
}

static hws_status load_from(hws_sampler **out, int descriptor, const hws_divergence *divergence) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return HWS_ERROR_IO;
    if (!S_ISREG(info.st_mode)) {
        errno = EINVAL;
        return HWS_ERROR_IO;
    }
    if (info.st_size < HEADER_SIZE + CHECKSUM_SIZE) return HWS_ERROR_CORRUPT;
    /* The header must explain the file's size before that much memory is asked for. */
    unsigned char head[HEADER_SIZE];
    state_header header;
    if (!read_all(descriptor, head, sizeof head)) return HWS_ERROR_IO;
    const hws_status status = header_read(head, &header);
    if (status != HWS_OK) return status;
    const uint64_t size = total_size(header.n, header.flags);
    if (size != (uint64_t)info.st_size) return HWS_ERROR_CORRUPT;
    if (size > SIZE_MAX) return HWS_ERROR_MEMORY;

    unsigned char *bytes = memory_open((size_t)size);
    if (!bytes) return HWS_ERROR_MEMORY;
    memcpy(bytes, head, sizeof head);
    const hws_status result = read_all(descriptor, bytes + sizeof head, (size_t)size - sizeof head)
                                  ? hws_sampler_state_read(out, bytes, (size_t)size, divergence)
                                  : HWS_ERROR_IO;
    memory_close(bytes);
    return result;
}

hws_status hws_sampler_load(hws_sampler **out, const char *path, const hws_divergence *divergence) {
    if (!out) return HWS_ERROR_ARGUMENT;
    *out = NULL;
    if (!path) return HWS_ERROR_ARGUMENT;
    /* A pipe, which is refused below, must not hold us up here. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return HWS_ERROR_IO;
    const hws_status status = load_from(out, descriptor, divergence);
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return status;
}
