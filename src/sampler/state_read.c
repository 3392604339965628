/* Resuming a sampler: nothing but a whole and unaltered state is accepted. */
#define _POSIX_C_SOURCE 200809L
#include "core/crc64.h"
#include "core/memory.h"
#include "sampler/options.h"
#include "sampler/state_format.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is being read, and where to say what is wrong with it. */
typedef struct reading {
    char name[PATH_SHOWN]; /* as the messages call it */
    const hws_divergence *divergence;
    hws_error *error;
} reading;

static hws_status refuse(const reading *reading, hws_status status, const char *format, ...) PRINTF_LIKE(3, 4);
static hws_status refuse(const reading *reading, hws_status status, const char *format, ...) {
    char what[sizeof reading->error->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return error_set(reading->error, status, "%s %s", reading->name, what);
}

static hws_status refuse_header(const reading *reading, const char *what) {
    return refuse(reading, HWS_ERROR_CORRUPT, "was altered: its header has an impossible %s; use another copy", what);
}

static hws_status truncated(const reading *reading, uint64_t size, uint64_t whole) {
    return refuse(reading, HWS_ERROR_CORRUPT, "is truncated: %llu bytes are left of %llu; use another copy",
                  (unsigned long long)size, (unsigned long long)whole);
}

/* Is it a state, of this version, with a whole header? `size` bytes can be read. */
static hws_status check_kind(const reading *reading, const unsigned char *at, size_t size) {
    if (size == 0) return refuse(reading, HWS_ERROR_CORRUPT, "is empty; use another copy");
    if (memcmp(at, MAGIC, size < sizeof MAGIC ? size : sizeof MAGIC) != 0)
        return refuse(reading, HWS_ERROR_CORRUPT, "was not written by a sampler: it does not begin with %.8s", MAGIC);
    if (size >= 12 && get_u32(at + 8) > VERSION)
        return refuse(reading, HWS_ERROR_VERSION,
                      "was written by a newer version of hws (format %u; libhws %s reads up to %d); update hws",
                      (unsigned)get_u32(at + 8), HWS_VERSION, VERSION);
    if (size >= 12 && get_u32(at + 8) < 1) return refuse_header(reading, "version");
    const size_t header = size >= 12 ? header_size(get_u32(at + 8)) : HEADER_SIZE;
    if (size < header)
        return refuse(reading, HWS_ERROR_CORRUPT, "is truncated: %zu bytes are left, its header alone has %zu", size,
                      header);
    return HWS_OK;
}

static int window_is_sane(const window_place *window) {
    return isfinite(window->reference) && fabs(window->center) <= 100 && window->half > 0 && window->half <= 1 &&
           window->error >= 0 && window->error < INFINITY;
}

/* What version 2 has added. */
static hws_status header_parse_added(const reading *reading, const unsigned char *at, state_header *header) {
    header->options.tail = get_f64(at + 168);
    header->watch =
        (tail_watch){get_u64(at + 176), get_u32(at + 184), get_f64(at + 216), get_f64(at + 224), get_f32(at + 188)};
    header->waited = get_u64(at + 192);
    header->ratios = (ratio_mean){get_f64(at + 200), get_f64(at + 208)};
    if (header->watch.haste > TAIL_MAX_HASTE || !isfinite(header->watch.radius) || !isfinite(header->watch.target) ||
        !(header->watch.square >= 0 && isfinite(header->watch.square)))
        return refuse_header(reading, "pace of looks");
    if (!isfinite(header->ratios.log_mean) || !(header->ratios.weight >= 0 && header->ratios.weight < INFINITY))
        return refuse_header(reading, "mean of ratios");
    return HWS_OK;
}

/* What version 3 has added. */
static hws_status header_parse_record(const reading *reading, const unsigned char *at, state_header *header) {
    header->options.trim = get_f64(at + 232);
    header->options.doubt = get_f64(at + 240);
    header->options.keep_record = (header->flags & FLAG_RECORD) != 0;
    header->bound = get_u32(at + 132);
    if (header->bound > RECORD_BOUND_MAX || (header->options.doubt > 0 && !header->options.keep_record) ||
        (!header->options.keep_record && header->options.trim == 0))
        return refuse_header(reading, "record");
    return HWS_OK;
}

/* Reads and checks everything but the options' ranges, which need the callbacks of a custom divergence. */
static hws_status header_parse(const reading *reading, const unsigned char *at, state_header *header) {
    *header = (state_header){.version = get_u32(at + 8),
                             .flags = get_u32(at + 12),
                             .draws_made = get_u64(at + 24),
                             .updates_made = get_u64(at + 32)};
    const uint64_t n = get_u64(at + 16);
    const uint32_t known = FLAG_COUNTS | FLAG_WINDOW | (header->version > 2 ? FLAG_RECORD : 0);
    if (header->flags & ~known) return refuse_header(reading, "flag");
    if (n < 1 || n > (uint64_t)HWS_MAX_EXAMPLES) return refuse_header(reading, "number of examples");
    if (header->updates_made > UPDATES_MAX) return refuse_header(reading, "number of updates");
    if (get_u32(at + 56) > HWS_CUSTOM) return refuse_header(reading, "divergence");
    if (get_u32(at + 60) > HWS_IMPORTANCE_NORMALISED) return refuse_header(reading, "kind of importance weights");
    if (get_u32(at + 128) > 1) return refuse_header(reading, "answer about replacement");
    header->n = (int64_t)n;
    hws_options_init(&header->options, sizeof header->options);
    header->options.seed = get_u64(at + 40);
    header->options.beta = get_f64(at + 48);
    header->options.divergence.kind = (hws_divergence_kind)get_u32(at + 56);
    header->options.divergence.parameter = get_f64(at + 64);
    header->options.importance = (hws_importance)get_u32(at + 60);
    header->options.initial_loss = get_f64(at + 72);
    header->options.jitter = get_f64(at + 80);
    header->options.momentum = get_f64(at + 88);
    header->options.floor = get_f64(at + 96);
    header->options.uniform_mix = get_f64(at + 104);
    header->options.weight_min = get_f64(at + 112);
    header->options.weight_max = get_f64(at + 120);
    header->options.replacement = (int)get_u32(at + 128);
    header->options.keep_counts = (header->flags & FLAG_COUNTS) != 0;
    header->window = (window_place){get_f64(at + 136), get_f64(at + 144), get_f64(at + 152), get_f64(at + 160)};
    if (header->flags & FLAG_WINDOW && !window_is_sane(&header->window)) return refuse_header(reading, "level window");
    hws_status status = header->version > 1 ? header_parse_added(reading, at, header) : HWS_OK;
    if (status == HWS_OK && header->version > 2) status = header_parse_record(reading, at, header);
    return status;
}

/* The header, when it explains the size of the whole; `at` holds it as far as it goes. */
static hws_status header_read(const reading *reading, const unsigned char *at, uint64_t size, state_header *header) {
    hws_status status = check_kind(reading, at, size < HEADER_SIZE ? (size_t)size : HEADER_SIZE);
    if (status == HWS_OK) status = header_parse(reading, at, header);
    if (status != HWS_OK) return status;
    const uint64_t whole = total_size(header->version, header->n, header->flags);
    if (size < whole) return truncated(reading, size, whole);
    if (size > whole)
        return refuse(reading, HWS_ERROR_CORRUPT, "was altered: it has %llu bytes instead of %llu; use another copy",
                      (unsigned long long)size, (unsigned long long)whole);
    return HWS_OK;
}

static hws_status check_sum(const reading *reading, const unsigned char *at, size_t size) {
    crc64 *crc = memory_open(sizeof *crc);
    if (!crc) return refuse(reading, HWS_ERROR_MEMORY, "cannot be checked: out of memory");
    crc64_start(crc);
    crc64_add(crc, at, size - CHECKSUM_SIZE);
    const uint64_t computed = crc64_value(crc);
    memory_close(crc);
    return computed == get_u64(at + size - CHECKSUM_SIZE)
               ? HWS_OK
               : refuse(reading, HWS_ERROR_CORRUPT, "was altered: its checksum is wrong; use another copy");
}

/* A number that is no loss is one of two, and none in the first version. */
static hws_status read_losses(const state_header *header, const unsigned char *at, float *losses, hws_error *why) {
    for (int64_t i = 0; i < header->n; i++) {
        const uint32_t bits = get_u32(at + 4 * i);
        losses[i] = get_f32(at + 4 * i);
        if (isnan(losses[i]) && (header->version == 1 || (bits != NOT_VISITED && bits != VISITED)))
            return error_set(why, HWS_ERROR_NOT_FINITE, "the loss of example %lld is no number", (long long)i);
    }
    return HWS_OK;
}

static void restore_visits(hws_sampler *sampler, const state_header *header, const unsigned char *at) {
    sampler->options.tail = header->options.tail;
    sampler->watch = header->watch;
    sampler->ratios = header->ratios;
    sampler->visits.waited = header->waited;
    for (int64_t i = 0; sampler->visits.left.bits && i < header->n; i++)
        if (get_u32(at + 4 * i) == VISITED) visit_set_remove(&sampler->visits.left, i);
}

/* Opens a sampler with the options and losses of a state. */
static hws_status restore_losses(const reading *reading, hws_sampler **out, const state_header *header,
                                 const unsigned char *at) {
    const size_t n = (size_t)header->n;
    float *losses = memory_open(n * sizeof *losses);
    if (!losses) return refuse(reading, HWS_ERROR_MEMORY, "has %zu examples: out of memory", n);
    hws_error why;
    hws_status status = read_losses(header, at, losses, &why);
    hws_options options = header->options;
    if (status == HWS_OK) status = options_check(&options, header->n, &why);
    options.tail = 0; /* beta is what it was, and does not follow from the losses now */
    if (status == HWS_OK) status = hws_sampler_open(out, header->n, losses, &options, &why);
    memory_close(losses);
    if (status == HWS_OK) restore_visits(*out, header, at);
    /* What open refuses was never written by save: the state is at fault, not an argument. */
    if (status == HWS_ERROR_ARGUMENT || status == HWS_ERROR_NOT_FINITE)
        return refuse(reading, HWS_ERROR_CORRUPT, "was altered: %s", why.message);
    return status == HWS_OK ? HWS_OK : error_set(reading->error, status, "%s", why.message);
}

static hws_status restore_counters(const reading *reading, hws_sampler *sampler, const state_header *header,
                                   const unsigned char *at) {
    const size_t n = (size_t)header->n;
    sampler->draws_made = header->draws_made;
    sampler->updates_made = header->updates_made;
    for (size_t i = 0; sampler->last_seen && i < n; i++) {
        sampler->last_seen[i] = get_u64(at + 8 * i);
        sampler->draw_counts[i] = get_u64(at + 8 * (n + i));
        if (sampler->last_seen[i] > sampler->updates_made)
            return refuse(reading, HWS_ERROR_CORRUPT, "was altered: example %zu was seen after the last update", i);
    }
    if (!(header->flags & FLAG_WINDOW)) return HWS_OK;
    const hws_divergence_kind kind = sampler->law.divergence.kind;
    if (kind == HWS_KL || kind == HWS_CHI2 || kind == HWS_CVAR) return refuse_header(reading, "level window");
    const loss_list list = law_list(&sampler->law);
    return level_window_restore(&sampler->law.window, &list, header->window) ? HWS_OK
                                                                             : refuse_header(reading, "level window");
}

static hws_status read_entry(const reading *reading, const unsigned char *at, record_entry *entry) {
    const uint32_t label = get_u32(at + 12);
    *entry = (record_entry){get_f32(at), get_f32(at + 4), get_u32(at + 8), 0};
    if (label >= RECORD_LABELS_MAX || !isfinite(entry->mean) || !(entry->evidence >= 0 && isfinite(entry->evidence)))
        return refuse(reading, HWS_ERROR_CORRUPT, "was altered: it has a record that cannot be");
    entry->label = (int32_t)label;
    return HWS_OK;
}

/* The records, and what the law is told according to them. */
static hws_status restore_record(const reading *reading, hws_sampler *sampler, const state_header *header,
                                 const unsigned char *at) {
    record *record = &sampler->history.record;
    if (!record->entries) return HWS_OK;
    for (int64_t i = 0; i < header->n; i++) {
        record_entry entry;
        const hws_status status = read_entry(reading, at + RECORD_SIZE * i, &entry);
        if (status != HWS_OK) return status;
        if (!record_reserve_labels(record, entry.label + 1))
            return refuse(reading, HWS_ERROR_MEMORY, "has many labels: out of memory");
        record_set_label(record, i, entry.label, history_loss(sampler, i));
        record->entries[i] = entry;
    }
    record->bound = (int)header->bound;
    record_count_anew(record, sampler->history.losses);
    const hws_status status = sampler->options.doubt > 0 ? history_tell_all(sampler) : HWS_OK;
    return status == HWS_OK ? status : refuse(reading, status, "cannot be restored: out of memory");
}

static hws_status take_callbacks(const reading *reading, state_header *header) {
    if (header->options.divergence.kind != HWS_CUSTOM) return HWS_OK;
    if (!reading->divergence || reading->divergence->kind != HWS_CUSTOM)
        return refuse(reading, HWS_ERROR_DIVERGENCE,
                      "is of a sampler with a custom divergence, whose functions no state can hold; give them as "
                      "`divergence`");
    header->options.divergence = *reading->divergence;
    return divergence_check(reading->divergence, header->n, reading->error);
}

static hws_status read_state(const reading *reading, hws_sampler **out, const unsigned char *at, size_t size) {
    state_header header;
    hws_status status = header_read(reading, at, size, &header);
    if (status == HWS_OK) status = check_sum(reading, at, size);
    if (status == HWS_OK) status = take_callbacks(reading, &header);
    if (status != HWS_OK) return status;
    const unsigned char *losses = at + header_size(header.version), *counts = losses + 4 * header.n,
                        *records = counts + (header.flags & FLAG_COUNTS ? 16 * header.n : 0);
    status = restore_losses(reading, out, &header, losses);
    if (status == HWS_OK) status = restore_record(reading, *out, &header, records);
    if (status == HWS_OK) status = restore_counters(reading, *out, &header, counts);
    if (status != HWS_OK) hws_sampler_close(out);
    return status;
}

hws_status hws_sampler_state_read(hws_sampler **out, const void *bytes, size_t size, const hws_divergence *divergence,
                                  hws_error *error) {
    error_clear(error);
    if (!out) return error_set(error, HWS_ERROR_ARGUMENT, "the place for the sampler is NULL");
    *out = NULL;
    if (!bytes) return error_set(error, HWS_ERROR_ARGUMENT, "the state is NULL");
    const reading reading = {.name = "the state", .divergence = divergence, .error = error};
    return read_state(&reading, out, bytes, size);
}

/* 0 on failure, with errno set. */
static int read_all(int descriptor, unsigned char *bytes, size_t size) {
    while (size > 0) {
        const ssize_t got = read(descriptor, bytes, size < 1 << 30 ? size : 1 << 30);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) errno = EIO; /* the file has become shorter */
        if (got <= 0) return 0;
        bytes += got;
        size -= (size_t)got;
    }
    return 1;
}

/* The size of a regular file; -1 with errno set for anything else. */
static int64_t size_of(int descriptor) {
    struct stat info;
    if (fstat(descriptor, &info) != 0) return -1;
    if (S_ISREG(info.st_mode)) return info.st_size;
    errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    return -1;
}

static hws_status load_from(const reading *reading, hws_sampler **out, const char *path, int descriptor) {
    unsigned char head[HEADER_SIZE];
    const int64_t size = size_of(descriptor);
    if (size < 0 || !read_all(descriptor, head, size < HEADER_SIZE ? (size_t)size : HEADER_SIZE))
        return error_path(reading->error, "read", path, errno);
    /* The header must explain the file's size before that much memory is asked for. */
    state_header header;
    const hws_status status = header_read(reading, head, (uint64_t)size, &header);
    if (status != HWS_OK) return status;
    unsigned char *bytes = (uint64_t)size <= SIZE_MAX ? memory_open((size_t)size) : NULL;
    if (!bytes) return refuse(reading, HWS_ERROR_MEMORY, "has %lld bytes: out of memory", (long long)size);
    const size_t known = size < HEADER_SIZE ? (size_t)size : HEADER_SIZE;
    memcpy(bytes, head, known);
    const hws_status result = read_all(descriptor, bytes + known, (size_t)size - known)
                                  ? read_state(reading, out, bytes, (size_t)size)
                                  : error_path(reading->error, "read", path, errno);
    memory_close(bytes);
    return result;
}

hws_status hws_sampler_load(hws_sampler **out, const char *path, const hws_divergence *divergence, hws_error *error) {
    error_clear(error);
    if (!out) return error_set(error, HWS_ERROR_ARGUMENT, "the place for the sampler is NULL");
    *out = NULL;
    if (!path) return error_set(error, HWS_ERROR_ARGUMENT, "path is NULL");
    /* A pipe, which is refused below, must not hold us up here. */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return error_path(error, "read", path, errno);
    reading reading = {.divergence = divergence, .error = error};
    path_shown(path, reading.name);
    const hws_status status = load_from(&reading, out, path, descriptor);
    close(descriptor);
    return status;
}
