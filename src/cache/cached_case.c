#include "cache/cached_case.h"

#include "cache/purposes.h"
#include "core/crc64.h"
#include "core/file_writer.h"
#include "core/memory.h"
#include "core/random.h"
#include "plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = "HWSCASE";
enum { VERSION = 1, ALIGNMENT = 64 };

/* In memory as in the file, on machines of this byte order; others see a wrong version. */
typedef struct header {
    char magic[8];
    uint32_t version, channels, classes, zero;
    uint32_t size[3], original[3], first[3], box[3];
    double original_spacing[3], spacing[3];
    uint64_t preprocessing, inputs, places, payload_crc, header_crc;
} header;

_Static_assert(sizeof(header) == 160, "the header is as docs/formats.md says");

typedef struct layout {
    size_t image, labels, places, end; /* offsets */
} layout;

static size_t aligned(size_t offset) { return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static layout layout_of(const header *header) {
    const size_t voxels = (size_t)header->size[0] * header->size[1] * header->size[2];
    layout layout;
    layout.image = aligned(sizeof *header + ((size_t)header->classes + 1) * sizeof(uint64_t));
    layout.labels = aligned(layout.image + voxels * header->channels * sizeof(float));
    layout.places = aligned(layout.labels + voxels * sizeof(int16_t));
    layout.end = layout.places + (size_t)header->places * sizeof(uint32_t);
    return layout;
}

static uint64_t crc_of(const void *bytes, size_t size) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, bytes, size);
    return crc64_value(&crc);
}

/* ---- stored voxels ---------------------------------------------------------------------------------------------- */

/* Each class's voxels in order; where there are more than enough, every one has the same chance
   (Knuth's algorithm S). */
static uint64_t choose_places(const int16_t *labels, size_t voxels, int class, uint64_t seed, uint32_t *places) {
    uint64_t left = 0, count = 0;
    for (size_t k = 0; k < voxels; k++) left += labels[k] == class;
    uint64_t wanted = left < CACHED_CASE_PLACES ? left : CACHED_CASE_PLACES;
    random_stream stream;
    random_start(&stream, seed, RANDOM_LOCATIONS, (uint64_t) class, 0);
    for (size_t k = 0; k < voxels && wanted > 0; k++) {
        if (labels[k] != class) continue;
        if (wanted == left || random_below(&stream, left) < wanted) {
            places[count++] = (uint32_t)k;
            wanted--;
        }
        left--;
    }
    return count;
}

typedef struct places {
    uint64_t *first;
    uint32_t *list;
} places;

static status_code places_open(places *places, const prepared_case *prepared, int classes, uint64_t seed,
                               failure *failure) {
    places->first = calloc((size_t)classes + 1, sizeof *places->first);
    places->list = memory_open(((size_t)classes * CACHED_CASE_PLACES + 1) * sizeof *places->list);
    if (!places->first || !places->list) return fail_memory(failure, "the places of classes");
    uint64_t count = 0;
    for (int class = 1; class < classes; class ++) {
        places->first[class] = count;
        count += choose_places(prepared->labels, case_geometry_voxels(&prepared->geometry), class, seed,
                               places->list + count);
    }
    places->first[classes] = count;
    return STATUS_OK;
}

static void places_close(places *places) {
    free(places->first);
    memory_close(places->list);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static header header_of(const prepared_case *prepared, int classes, uint64_t places, case_checksums checksums) {
    const case_geometry *geometry = &prepared->geometry;
    header header = {.version = VERSION,
                     .channels = (uint32_t)prepared->channels,
                     .classes = (uint32_t)classes,
                     .preprocessing = checksums.preprocessing,
                     .inputs = checksums.inputs,
                     .places = places};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    for (int k = 0; k < 3; k++) {
        header.size[k] = (uint32_t)geometry->size[k];
        header.original[k] = (uint32_t)geometry->original[k];
        header.first[k] = (uint32_t)geometry->box.first[k];
        header.box[k] = (uint32_t)geometry->box.size[k];
        header.original_spacing[k] = geometry->original_spacing[k];
        header.spacing[k] = geometry->spacing[k];
    }
    return header;
}

/* Where the bytes behind the header go: into the sum, then into the file. */
typedef struct sink {
    crc64 *crc;
    file_writer *file;
    size_t offset;
} sink;

static void put(sink *sink, const void *bytes, size_t size) {
    if (sink->crc) crc64_add(sink->crc, bytes, size);
    else file_writer_add(sink->file, bytes, size);
    sink->offset += size;
}

static void put_zeros_to(sink *sink, size_t offset) {
    static const char ZEROS[ALIGNMENT] = {0};
    put(sink, ZEROS, offset - sink->offset);
}

static void put_payload(sink *sink, const header *header, const prepared_case *prepared, const places *places) {
    const layout layout = layout_of(header);
    const size_t voxels = case_geometry_voxels(&prepared->geometry);
    put(sink, places->first, ((size_t)header->classes + 1) * sizeof *places->first);
    put_zeros_to(sink, layout.image);
    put(sink, prepared->image, voxels * header->channels * sizeof *prepared->image);
    put_zeros_to(sink, layout.labels);
    put(sink, prepared->labels, voxels * sizeof *prepared->labels);
    put_zeros_to(sink, layout.places);
    put(sink, places->list, (size_t)header->places * sizeof *places->list);
}

static status_code write_all(const char *path, header *header, const prepared_case *prepared, const places *places,
                             failure *failure) {
    crc64 crc;
    crc64_start(&crc);
    sink sink = {.crc = &crc, .offset = sizeof *header};
    put_payload(&sink, header, prepared, places);
    header->payload_crc = crc64_value(&crc);
    header->header_crc = crc_of(header, offsetof(struct header, header_crc));
    file_writer file;
    file_writer_open(&file, path);
    sink = (struct sink){.file = &file};
    put(&sink, header, sizeof *header);
    put_payload(&sink, header, prepared, places);
    return file_writer_close(&file, failure);
}

status_code cached_case_write(const char *path, const prepared_case *prepared, int classes, case_checksums checksums,
                              uint64_t seed, failure *failure) {
    places places = {0};
    status_code status = places_open(&places, prepared, classes, seed, failure);
    if (status == STATUS_OK) {
        header header = header_of(prepared, classes, places.first[classes], checksums);
        status = write_all(path, &header, prepared, &places, failure);
    }
    places_close(&places);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static int three_within(const uint32_t three[3], uint32_t low, uint32_t high) {
    for (int k = 0; k < 3; k++)
        if (three[k] < low || three[k] > high) return 0;
    return 1;
}

static int positive(const double three[3]) {
    for (int k = 0; k < 3; k++)
        if (!(three[k] > 0 && isfinite(three[k]))) return 0;
    return 1;
}

/* Whether the header is sound and the file as large as it says. */
static int header_is_sound(const header *header, size_t bytes) {
    if (memcmp(header->magic, MAGIC, sizeof MAGIC) != 0 || header->version != VERSION || header->zero != 0) return 0;
    if (header->header_crc != crc_of(header, offsetof(struct header, header_crc))) return 0;
    if (header->channels < 1 || header->channels > PLAN_MAX_CHANNELS) return 0;
    if (header->classes < 1 || header->classes > CACHED_CASE_MAX_CLASSES) return 0;
    if (header->places > (uint64_t)header->classes * CACHED_CASE_PLACES) return 0;
    const uint32_t most = 1u << 30;
    if (!three_within(header->size, 1, most) || !three_within(header->original, 1, most)) return 0;
    if (!three_within(header->first, 0, most) || !three_within(header->box, 1, most)) return 0;
    for (int k = 0; k < 3; k++)
        if (header->first[k] + header->box[k] > header->original[k]) return 0;
    if (!positive(header->original_spacing) || !positive(header->spacing)) return 0;
    const double voxels = (double)header->size[0] * header->size[1] * header->size[2];
    return voxels <= UINT32_MAX && voxels * header->channels < 1e15 && bytes == layout_of(header).end;
}

static int places_are_sound(const case_view *view, uint64_t count) {
    const size_t voxels = case_view_voxels(view);
    if (view->first[0] != 0 || view->first[view->classes] != count) return 0;
    for (int class = 0; class < view->classes; class ++)
        if (view->first[class] > view->first[class + 1]) return 0;
    for (uint64_t k = 0; k < count; k++)
        if (view->places[k] >= voxels) return 0;
    return 1;
}

static int labels_are_sound(const case_view *view) {
    const size_t voxels = case_view_voxels(view);
    for (size_t k = 0; k < voxels; k++)
        if (view->labels[k] < LABEL_OUTSIDE || view->labels[k] > view->classes) return 0;
    return 1;
}

static void fill(cached_case *file, const header *header) {
    const layout layout = layout_of(header);
    const char *base = (const char *)file->mapped.bytes;
    file->checksums = (case_checksums){.preprocessing = header->preprocessing, .inputs = header->inputs};
    file->contents = header->payload_crc;
    file->view = (case_view){.channels = (int)header->channels,
                             .classes = (int)header->classes,
                             .image = (const void *)(base + layout.image),
                             .labels = (const void *)(base + layout.labels),
                             .first = (const void *)(base + sizeof *header),
                             .places = (const void *)(base + layout.places)};
    for (int k = 0; k < 3; k++) {
        file->view.size[k] = file->geometry.size[k] = (int)header->size[k];
        file->geometry.original[k] = (int)header->original[k];
        file->geometry.box.first[k] = (int)header->first[k];
        file->geometry.box.size[k] = (int)header->box[k];
        file->geometry.original_spacing[k] = header->original_spacing[k];
        file->geometry.spacing[k] = header->spacing[k];
    }
}

static status_code fail_damaged(const char *path, failure *failure) {
    return fail(failure, STATUS_CORRUPT, "%s is damaged or of another version; hws plan makes a new one", path);
}

static status_code check(cached_case *file, const char *path, cached_case_mode mode, failure *failure) {
    header header;
    if (file->mapped.size < sizeof header) return fail_damaged(path, failure);
    memcpy(&header, file->mapped.bytes, sizeof header);
    if (!header_is_sound(&header, file->mapped.size)) return fail_damaged(path, failure);
    const size_t payload = file->mapped.size - sizeof header;
    if (mode == CACHED_CASE_VERIFY && crc_of(file->mapped.bytes + sizeof header, payload) != header.payload_crc)
        return fail_damaged(path, failure);
    fill(file, &header);
    const int sound =
        places_are_sound(&file->view, header.places) && (mode == CACHED_CASE_TRUST || labels_are_sound(&file->view));
    return sound ? STATUS_OK : fail_damaged(path, failure);
}

status_code cached_case_open(cached_case *file, const char *path, cached_case_mode mode, failure *failure) {
    struct failure why = {0};
    *file = (cached_case){0};
    status_code status = mapped_file_open(&file->mapped, path, &why);
    if (status == STATUS_CORRUPT) return fail_damaged(path, failure);
    if (status != STATUS_OK) return fail(failure, status, "%s; hws plan makes it", why.message);
    status = check(file, path, mode, failure);
    if (status != STATUS_OK) cached_case_close(file);
    return status;
}

void cached_case_close(cached_case *file) {
    mapped_file_close(&file->mapped);
    *file = (cached_case){0};
}
