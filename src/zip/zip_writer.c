#include "zip/zip_writer.h"

#include "zip/zip_format.h"

#include <string.h>
#include <zlib.h>

enum {
    VERSION = 45,       /* 4.5 knows zip64 */
    DATE = 1 << 5 | 1,  /* 1980-01-01 */
    PADDING = 0x4246,   /* "FB": the extra field that PyTorch aligns its storages with, too */
    HEADER_ROOM = 4400, /* a header without its name */
    ZIP64_SIZES = 16
};

void zip_writer_open(zip_writer *writer, const char *path) {
    *writer = (zip_writer){0};
    file_writer_open(&writer->file, path);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

typedef struct record {
    unsigned char bytes[HEADER_ROOM];
    size_t size;
} record;

static void put(record *record, uint64_t value, int bytes) {
    for (int k = 0; k < bytes; k++) record->bytes[record->size++] = (unsigned char)(value >> (8 * k));
}

static uint64_t or_see_64(uint64_t value) { return value < ZIP_SEE_64 ? value : ZIP_SEE_64; }

typedef struct entry_facts {
    const char *name;
    uint64_t size, start;
    uint32_t crc;
} entry_facts;

/* What the local header and the directory have in common: from the version that is needed to the length of the name. */
static void put_common(record *record, const entry_facts *entry) {
    put(record, VERSION, 2);
    put(record, 0x800, 2); /* names are UTF-8 */
    put(record, ZIP_STORED, 2);
    put(record, 0, 2);
    put(record, DATE, 2);
    put(record, entry->crc, 4);
    put(record, or_see_64(entry->size), 4);
    put(record, or_see_64(entry->size), 4);
    put(record, strlen(entry->name), 2);
}

static void add(zip_writer *writer, const void *bytes, size_t size) {
    if (size) file_writer_add(&writer->file, bytes, size);
    writer->written += size;
}

/* The extra field may be as long as it takes to put the data in their place. */
static void write_local(zip_writer *writer, const entry_facts *entry, size_t alignment) {
    const int is_64 = entry->size >= ZIP_SEE_64;
    const size_t fixed =
        ZIP_LOCAL_BYTES + strlen(entry->name) + ZIP_EXTRA_BYTES + (is_64 ? ZIP_EXTRA_BYTES + ZIP64_SIZES : 0);
    const size_t padding = (size_t)(-(writer->written + fixed) & (alignment - 1));
    record header = {0}, extra = {0};
    put(&header, ZIP_LOCAL, 4);
    put_common(&header, entry);
    if (is_64) {
        put(&extra, ZIP64_EXTRA, 2);
        put(&extra, ZIP64_SIZES, 2);
        put(&extra, entry->size, 8);
        put(&extra, entry->size, 8);
    }
    put(&extra, PADDING, 2);
    put(&extra, padding, 2);
    extra.size += padding;
    put(&header, extra.size, 2);
    add(writer, header.bytes, header.size);
    add(writer, entry->name, strlen(entry->name));
    add(writer, extra.bytes, extra.size);
}

static void list(zip_writer *writer, const entry_facts *entry) {
    const int size_64 = entry->size >= ZIP_SEE_64, start_64 = entry->start >= ZIP_SEE_64;
    record header = {0}, extra = {0};
    if (size_64 || start_64) {
        put(&extra, ZIP64_EXTRA, 2);
        put(&extra, (size_64 ? ZIP64_SIZES : 0) + (start_64 ? 8u : 0u), 2);
        if (size_64) put(&extra, entry->size, 8);
        if (size_64) put(&extra, entry->size, 8);
        if (start_64) put(&extra, entry->start, 8);
    }
    put(&header, ZIP_CENTRAL, 4);
    put(&header, VERSION, 2);
    put_common(&header, entry);
    put(&header, extra.size, 2);
    put(&header, 0, 8); /* no comment, the first disk, attributes */
    put(&header, 0, 2);
    put(&header, or_see_64(entry->start), 4);
    text_add_bytes(&writer->directory, header.bytes, header.size);
    text_add_bytes(&writer->directory, entry->name, strlen(entry->name));
    text_add_bytes(&writer->directory, extra.bytes, extra.size);
    writer->count++;
}

void zip_writer_add(zip_writer *writer, const char *name, const zip_span *spans, int count, size_t alignment) {
    entry_facts entry = {.name = name, .start = writer->written};
    uLong crc = 0;
    for (int k = 0; k < count; k++) {
        if (spans[k].size) crc = crc32_z(crc, spans[k].bytes, spans[k].size);
        entry.size += spans[k].size;
    }
    entry.crc = (uint32_t)crc;
    write_local(writer, &entry, alignment);
    for (int k = 0; k < count; k++) add(writer, spans[k].bytes, spans[k].size);
    list(writer, &entry);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void write_end64(zip_writer *writer, uint64_t start) {
    const uint64_t at = writer->written;
    record end = {0};
    put(&end, ZIP64_END, 4);
    put(&end, ZIP64_END_BYTES - 12, 8);
    put(&end, VERSION, 2);
    put(&end, VERSION, 2);
    put(&end, 0, 8);
    put(&end, writer->count, 8);
    put(&end, writer->count, 8);
    put(&end, at - start, 8);
    put(&end, start, 8);
    put(&end, ZIP64_LOCATOR, 4);
    put(&end, 0, 4);
    put(&end, at, 8);
    put(&end, 1, 4);
    add(writer, end.bytes, end.size);
}

static void write_end(zip_writer *writer) {
    const uint64_t start = writer->written, count = writer->count < 0xffff ? writer->count : 0xffff;
    add(writer, writer->directory.bytes, writer->directory.size);
    const uint64_t bytes = writer->written - start;
    if (count == 0xffff || start >= ZIP_SEE_64 || bytes >= ZIP_SEE_64) write_end64(writer, start);
    record end = {0};
    put(&end, ZIP_END, 4);
    put(&end, 0, 4);
    put(&end, count, 2);
    put(&end, count, 2);
    put(&end, or_see_64(bytes), 4);
    put(&end, or_see_64(start), 4);
    put(&end, 0, 2);
    add(writer, end.bytes, end.size);
}

status_code zip_writer_close(zip_writer *writer, failure *failure) {
    const int out_of_memory = writer->directory.failed;
    if (out_of_memory) file_writer_abandon(&writer->file);
    else write_end(writer);
    text_close(&writer->directory);
    return out_of_memory ? fail_memory(failure, writer->file.path) : file_writer_close(&writer->file, failure);
}

void zip_writer_abandon(zip_writer *writer) {
    file_writer_abandon(&writer->file);
    text_close(&writer->directory);
}
