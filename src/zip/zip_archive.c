#include "zip/zip_archive.h"

#include "zip/zip_format.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct zip_archive {
    const char *what;
    const unsigned char *bytes;
    size_t size;
    zip_entry *entries;
    size_t count;
    char *names; /* of all entries, each with a zero behind it */
};

/* Where the directory lies, and how many entries it lists. */
typedef struct directory {
    uint64_t start, bytes, count;
} directory;

static unsigned u16(const unsigned char *bytes) { return (unsigned)(bytes[0] | bytes[1] << 8); }
static uint32_t u32(const unsigned char *bytes) { return u16(bytes) | (uint32_t)u16(bytes + 2) << 16; }
static uint64_t u64(const unsigned char *bytes) { return u32(bytes) | (uint64_t)u32(bytes + 4) << 32; }

static status_code damaged(const zip_archive *archive, failure *failure, const char *why) {
    return fail(failure, STATUS_CORRUPT, "%s: is cut off or damaged: %s", archive->what, why);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* The record at the end of the file, which only a comment may follow. */
static const unsigned char *find_end(const zip_archive *archive) {
    if (archive->size < ZIP_END_BYTES) return NULL;
    const unsigned char *last = archive->bytes + archive->size - ZIP_END_BYTES;
    const size_t reach = archive->size - ZIP_END_BYTES < USHRT_MAX ? archive->size - ZIP_END_BYTES : USHRT_MAX;
    for (size_t comment = 0; comment <= reach; comment++)
        if (u32(last - comment) == ZIP_END && u16(last - comment + 20) == comment) return last - comment;
    return NULL;
}

static status_code read_end64(const zip_archive *archive, const unsigned char *end, directory *found,
                              failure *failure) {
    const size_t before = (size_t)(end - archive->bytes);
    if (before < ZIP64_LOCATOR_BYTES || u32(end - ZIP64_LOCATOR_BYTES) != ZIP64_LOCATOR)
        return damaged(archive, failure, "its zip64 record is missing");
    const uint64_t at = u64(end - ZIP64_LOCATOR_BYTES + 8);
    if (before < ZIP64_END_BYTES || at > before - ZIP64_END_BYTES || u32(archive->bytes + at) != ZIP64_END)
        return damaged(archive, failure, "its zip64 record is not where it should be");
    const unsigned char *record = archive->bytes + at;
    *found = (directory){.count = u64(record + 32), .bytes = u64(record + 40), .start = u64(record + 48)};
    return STATUS_OK;
}

static status_code read_end(const zip_archive *archive, directory *found, failure *failure) {
    const unsigned char *end = find_end(archive);
    if (!end) return fail(failure, STATUS_CORRUPT, "%s: is no zip archive, or its end is cut off", archive->what);
    *found = (directory){.count = u16(end + 10), .bytes = u32(end + 12), .start = u32(end + 16)};
    status_code status = STATUS_OK;
    if (u16(end + 4) != u16(end + 6)) return damaged(archive, failure, "it is a part of several archives");
    if (found->count == USHRT_MAX || found->bytes == ZIP_SEE_64 || found->start == ZIP_SEE_64)
        status = read_end64(archive, end, found, failure);
    const uint64_t before = (uint64_t)(end - archive->bytes);
    if (status == STATUS_OK && (found->start > before || found->bytes > before - found->start ||
                                found->count > found->bytes / ZIP_CENTRAL_BYTES))
        status = damaged(archive, failure, "its directory does not fit into it");
    return status;
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* Replaces the numbers that say so by those of the zip64 field, which has them in this order. */
static int read_extra64(const unsigned char *extra, size_t size, uint64_t *numbers[3]) {
    while (size >= ZIP_EXTRA_BYTES) {
        const size_t length = u16(extra + 2);
        if (length > size - ZIP_EXTRA_BYTES) return 0;
        size_t at = 0;
        for (int k = 0; k < 3 && u16(extra) == ZIP64_EXTRA; k++) {
            if (*numbers[k] != ZIP_SEE_64) continue;
            if (at + 8 > length) return 0;
            *numbers[k] = u64(extra + ZIP_EXTRA_BYTES + at);
            at += 8;
        }
        extra += ZIP_EXTRA_BYTES + length;
        size -= ZIP_EXTRA_BYTES + length;
    }
    return 1;
}

/* Whether the header at `start` is of this entry; its data follow it. */
static int place(const zip_archive *archive, uint64_t start, uint64_t end, size_t length, zip_entry *entry) {
    if (end < ZIP_LOCAL_BYTES || start > end - ZIP_LOCAL_BYTES) return 0;
    const unsigned char *local = archive->bytes + start;
    const uint64_t room = end - start - ZIP_LOCAL_BYTES, skipped = (uint64_t)u16(local + 26) + u16(local + 28);
    if (u32(local) != ZIP_LOCAL || u16(local + 26) != length || skipped > room || entry->packed > room - skipped)
        return 0;
    entry->bytes = local + ZIP_LOCAL_BYTES + skipped;
    return memcmp(local + ZIP_LOCAL_BYTES, entry->name, length) == 0;
}

/* One entry at `at`, of which `left` bytes are there; *used says how many it takes. */
static status_code read_entry(zip_archive *archive, const unsigned char *at, const directory *found, char *name,
                              size_t *used, failure *failure) {
    const size_t left = (size_t)(archive->bytes + found->start + found->bytes - at);
    if (left < ZIP_CENTRAL_BYTES || u32(at) != ZIP_CENTRAL)
        return damaged(archive, failure, "its directory ends too early");
    const size_t length = u16(at + 28), extra = u16(at + 30);
    *used = ZIP_CENTRAL_BYTES + length + extra + u16(at + 32);
    if (*used > left) return damaged(archive, failure, "its directory ends too early");
    memcpy(name, at + ZIP_CENTRAL_BYTES, length);
    name[length] = 0;
    uint64_t size = u32(at + 24), packed = u32(at + 20), start = u32(at + 42);
    const int method = (int)u16(at + 10);
    if (strlen(name) != length || (method != ZIP_STORED && method != ZIP_DEFLATED) || u16(at + 8) & ZIP_ENCRYPTED)
        return fail(failure, STATUS_CORRUPT, "%s: the entry '%.200s' is encrypted or packed in a way that is not known",
                    archive->what, name);
    zip_entry *entry = &archive->entries[archive->count++];
    const int whole = read_extra64(at + ZIP_CENTRAL_BYTES + length, extra, (uint64_t *[3]){&size, &packed, &start});
    if (!whole || packed > archive->size || size > SIZE_MAX / 2 || (method == ZIP_STORED && packed != size))
        return damaged(archive, failure, "the size of an entry is impossible");
    *entry = (zip_entry){
        .name = name, .deflated = method == ZIP_DEFLATED, .packed = packed, .size = size, .crc = u32(at + 16)};
    return place(archive, start, found->start, length, entry)
               ? STATUS_OK
               : fail(failure, STATUS_CORRUPT,
                      "%s: is cut off or damaged: the entry '%.200s' is not where it should be", archive->what, name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const zip_entry *)a)->name, ((const zip_entry *)b)->name);
}

static status_code sort(zip_archive *archive, failure *failure) {
    if (archive->count) qsort(archive->entries, archive->count, sizeof *archive->entries, by_name);
    for (size_t k = 1; k < archive->count; k++)
        if (by_name(&archive->entries[k - 1], &archive->entries[k]) == 0)
            return fail(failure, STATUS_CORRUPT, "%s: the entry '%.200s' is there twice", archive->what,
                        archive->entries[k].name);
    return STATUS_OK;
}

static status_code read_directory(zip_archive *archive, failure *failure) {
    directory found = {0};
    status_code status = read_end(archive, &found, failure);
    if (status != STATUS_OK) return status;
    archive->entries = calloc((size_t)found.count + 1, sizeof *archive->entries);
    archive->names = malloc((size_t)found.bytes + (size_t)found.count + 1);
    if (!archive->entries || !archive->names) return fail_memory(failure, archive->what);
    const unsigned char *at = archive->bytes + found.start;
    char *name = archive->names;
    for (uint64_t k = 0; k < found.count && status == STATUS_OK; k++) {
        size_t used = 0;
        status = read_entry(archive, at, &found, name, &used, failure);
        at += used;
        if (status == STATUS_OK) name += strlen(name) + 1;
    }
    return status == STATUS_OK ? sort(archive, failure) : status;
}

status_code zip_open(zip_archive **archive, const void *bytes, size_t size, const char *what, failure *failure) {
    zip_archive *opened = *archive = calloc(1, sizeof *opened);
    if (!opened) return fail_memory(failure, what);
    *opened = (zip_archive){.what = what, .bytes = bytes, .size = size};
    const status_code status = read_directory(opened, failure);
    if (status != STATUS_OK) zip_close(archive);
    return status;
}

void zip_close(zip_archive **archive) {
    if (!archive || !*archive) return;
    free((*archive)->entries);
    free((*archive)->names);
    free(*archive);
    *archive = NULL;
}

/* ---- the entries ------------------------------------------------------------------------------------------------- */

size_t zip_count(const zip_archive *archive) { return archive->count; }
const zip_entry *zip_at(const zip_archive *archive, size_t index) { return &archive->entries[index]; }

static int compare_name(const void *name, const void *entry) { return strcmp(name, ((const zip_entry *)entry)->name); }

const zip_entry *zip_find(const zip_archive *archive, const char *name) {
    return archive->count ? bsearch(name, archive->entries, archive->count, sizeof *archive->entries, compare_name)
                          : NULL;
}

static status_code check_sum(const zip_archive *archive, const zip_entry *entry, const void *bytes, failure *failure) {
    if (crc32_z(0, bytes, entry->size) == entry->crc) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: is damaged: the checksum of the entry '%.200s' does not match",
                archive->what, entry->name);
}

static int feed(z_stream *stream, size_t *packed, size_t *size) {
    stream->avail_in = *packed < INT_MAX ? (unsigned)*packed : INT_MAX;
    stream->avail_out = *size < INT_MAX ? (unsigned)*size : INT_MAX;
    const size_t in = stream->avail_in, out = stream->avail_out;
    const int result = inflate(stream, Z_NO_FLUSH);
    *packed -= in - stream->avail_in;
    *size -= out - stream->avail_out;
    const int moved = in != stream->avail_in || out != stream->avail_out;
    return result == Z_OK && !moved ? Z_BUF_ERROR : result;
}

static status_code inflate_entry(const zip_archive *archive, const zip_entry *entry, void *destination,
                                 failure *failure) {
    z_stream stream = {.next_in = (unsigned char *)entry->bytes, .next_out = destination};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return fail_memory(failure, archive->what);
    size_t packed = entry->packed, left = entry->size;
    int result = Z_OK;
    while (result == Z_OK) result = feed(&stream, &packed, &left);
    inflateEnd(&stream);
    if (result == Z_MEM_ERROR) return fail_memory(failure, archive->what);
    if (result == Z_STREAM_END && !packed && !left) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: is damaged: the entry '%.200s' cannot be unpacked", archive->what,
                entry->name);
}

status_code zip_read(const zip_archive *archive, const zip_entry *entry, void *destination, failure *failure) {
    if (!entry->deflated && entry->size) memcpy(destination, entry->bytes, entry->size);
    const status_code status = entry->deflated ? inflate_entry(archive, entry, destination, failure) : STATUS_OK;
    return status == STATUS_OK ? check_sum(archive, entry, destination, failure) : status;
}

status_code zip_verify(const zip_archive *archive, const zip_entry *entry, failure *failure) {
    return check_sum(archive, entry, entry->bytes, failure);
}
