/* Saving a sampler. */
#include "core/atomic_file.h"
#include "core/crc64.h"
#include "core/memory.h"
#include "sampler/state_format.h"

#include <errno.h>
#include <math.h>

enum { CHUNK = 1 << 16 };

/* An earlier version, which older libraries read, where it says all there is to say. */
static uint32_t version_of(const hws_sampler *sampler) {
    const hws_options *options = &sampler->options;
    const int first = options->tail == 0 && options->importance != HWS_IMPORTANCE_NORMALISED &&
                      sampler->ratios.weight == 0 && isfinite(options->initial_loss) &&
                      history_known(sampler) == sampler->law.n;
    if (sampler->history.losses) return VERSION;
    return first ? 1 : 2;
}

static uint32_t sections_of(const hws_sampler *sampler) {
    return (sampler->last_seen ? FLAG_COUNTS : 0) | (sampler->history.record.entries ? FLAG_RECORD : 0);
}

static state_header header_of(const hws_sampler *sampler) {
    state_header header = {
        .version = version_of(sampler),
        .n = sampler->law.n,
        .draws_made = sampler->draws_made,
        .updates_made = sampler->updates_made,
        .options = sampler->options,
        .waited = sampler->visits.waited,
        .watch = sampler->watch,
        .ratios = sampler->ratios,
    };
    header.flags = sections_of(sampler);
    header.bound = (uint32_t)sampler->history.record.bound;
    if (sampler->law.window.valid) {
        header.flags |= FLAG_WINDOW;
        header.window = sampler->law.window.place;
    }
    return header;
}

static void header_write(const state_header *header, unsigned char *at) {
    const hws_options *options = &header->options;
    memset(at, 0, header_size(header->version));
    memcpy(at, MAGIC, sizeof MAGIC);
    put_u32(at + 8, header->version);
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
    if (header->version == 1) return;
    put_f64(at + 168, options->tail);
    put_u64(at + 176, header->watch.updated);
    put_u32(at + 184, header->watch.haste);
    put_f32(at + 188, header->watch.square);
    put_u64(at + 192, header->waited);
    put_f64(at + 200, header->ratios.log_mean);
    put_f64(at + 208, header->ratios.weight);
    put_f64(at + 216, header->watch.radius);
    put_f64(at + 224, header->watch.target);
    if (header->version == 2) return;
    put_u32(at + 132, header->bound);
    put_f64(at + 232, options->trim);
    put_f64(at + 240, options->doubt);
}

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

static void put_loss(const hws_sampler *sampler, int64_t example, unsigned char *at) {
    if (history_knows(sampler, example)) put_f32(at, history_loss(sampler, example));
    else put_u32(at, visit_set_has(&sampler->visits.left, example) ? NOT_VISITED : VISITED);
}

static void put_entry(const record_entry *entry, unsigned char *at) {
    put_f32(at, entry->mean);
    put_f32(at + 4, entry->evidence);
    put_u32(at + 8, entry->count);
    put_u32(at + 12, (uint32_t)entry->label);
}

static void write_state(const hws_sampler *sampler, sink *sink) {
    crc64_start(&sink->crc);
    const state_header header = header_of(sampler);
    header_write(&header, room(sink, header_size(header.version)));
    for (int64_t i = 0; i < header.n; i++) put_loss(sampler, i, room(sink, 4));
    for (int64_t i = 0; sampler->last_seen && i < header.n; i++) put_u64(room(sink, 8), sampler->last_seen[i]);
    for (int64_t i = 0; sampler->last_seen && i < header.n; i++) put_u64(room(sink, 8), sampler->draw_counts[i]);
    for (int64_t i = 0; header.flags & FLAG_RECORD && i < header.n; i++)
        put_entry(&sampler->history.record.entries[i], room(sink, RECORD_SIZE));
    flush(sink);
    const uint64_t checksum = crc64_value(&sink->crc);
    put_u64(room(sink, CHECKSUM_SIZE), checksum);
    flush(sink);
}

size_t hws_sampler_state_size(const hws_sampler *sampler) {
    if (!sampler) return 0;
    return (size_t)total_size(version_of(sampler), sampler->law.n, sections_of(sampler));
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

hws_status hws_sampler_save(hws_sampler *sampler, const char *path) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (!path) return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "path is NULL");
    sink *to = memory_open(sizeof *to);
    if (!to) return no_memory(sampler);
    memset(to, 0, sizeof *to);
    atomic_file file;
    hws_status status = HWS_OK;
    if (!atomic_file_open(&file, path)) {
        status = errno == ENOMEM ? no_memory(sampler) : error_path(&sampler->error, "write", path, errno);
    } else {
        to->file = &file;
        write_state(sampler, to);
        const int reason = errno;
        if (to->failed) {
            atomic_file_abandon(&file);
            status = error_path(&sampler->error, "write", path, reason);
        } else if (!atomic_file_commit(&file)) {
            status = error_path(&sampler->error, "write", path, errno);
        }
    }
    memory_close(to);
    return status;
}
