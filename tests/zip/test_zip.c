#define _GNU_SOURCE /* mkdtemp */
#include "core/mapped_file.h"
#include "core/whole_file.h"
#include "testing.h"
#include "zip/zip_archive.h"
#include "zip/zip_writer.h"

#include <dirent.h>
#include <unistd.h>
#include <zlib.h>

static char folder[] = "/tmp/hws-zip-XXXXXX";
static char path[100];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/a.zip", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static const char TEXT[] = "what is written is read";

static void write_example(void) {
    zip_writer writer;
    failure failure = {0};
    zip_writer_open(&writer, path);
    zip_writer_add(&writer, "b/two", (zip_span[]){{TEXT, 8}, {TEXT + 8, sizeof TEXT - 8}}, 2, 64);
    zip_writer_add(&writer, "a", (zip_span[]){{TEXT, 5}}, 1, 1);
    zip_writer_add(&writer, "empty", NULL, 0, 4096);
    if (zip_writer_close(&writer, &failure) != STATUS_OK) fail_msg("%s", failure.message);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    mapped_file file;
    zip_archive *archive;
    failure failure = {0};
    char text[sizeof TEXT];
    write_example();
    assert_int_equal(mapped_file_open(&file, path, &failure), STATUS_OK);
    if (zip_open(&archive, file.bytes, file.size, path, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_int_equal(zip_count(archive), 3);
    assert_string_equal(zip_at(archive, 0)->name, "a");
    assert_int_equal(zip_find(archive, "a")->size, 5);
    const zip_entry *two = zip_find(archive, "b/two");
    assert_int_equal((two->bytes - file.bytes) % 64, 0);
    assert_int_equal(zip_verify(archive, two, &failure), STATUS_OK);
    assert_int_equal(zip_read(archive, two, text, &failure), STATUS_OK);
    assert_string_equal(text, TEXT);
    assert_int_equal((zip_find(archive, "empty")->bytes - file.bytes) % 4096, 0);
    assert_int_equal(zip_read(archive, zip_find(archive, "empty"), NULL, &failure), STATUS_OK);
    assert_null(zip_find(archive, "c"));
    zip_close(&archive);
    mapped_file_close(&file);
}

/* Whether the bytes open and every entry can be read. */
static int is_whole(const unsigned char *bytes, size_t size) {
    unsigned char *exact = malloc(size + !size), room[sizeof TEXT];
    zip_archive *archive;
    failure failure = {0};
    memcpy(exact, bytes, size);
    int whole = zip_open(&archive, exact, size, "it", &failure) == STATUS_OK;
    assert_int_equal(whole, archive != NULL);
    for (size_t k = 0; archive && k < zip_count(archive); k++) {
        const zip_entry *entry = zip_at(archive, k);
        whole &= entry->size <= sizeof room && zip_read(archive, entry, room, &failure) == STATUS_OK;
    }
    if (!whole) assert_true(failure.message[0] || archive);
    zip_close(&archive);
    free(exact);
    return whole;
}

static void what_is_cut_is_refused_and_what_is_altered_does_not_crash(void **state) {
    (void)state;
    char *bytes;
    size_t size;
    failure failure = {0};
    write_example();
    assert_int_equal(whole_file_read(path, 1 << 20, &bytes, &size, &failure), STATUS_OK);
    assert_true(is_whole((unsigned char *)bytes, size));
    for (size_t cut = 0; cut < size; cut++) assert_false(is_whole((unsigned char *)bytes, cut));
    for (size_t at = 0; at < size; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
            is_whole((unsigned char *)bytes, size);
            bytes[at] = (char)(bytes[at] ^ 1 << bit);
        }
    char *data = memmem(bytes, size, TEXT, sizeof TEXT);
    assert_non_null(data);
    data[3] ^= 1; /* the checksum notices it */
    assert_false(is_whole((unsigned char *)bytes, size));
    free(bytes);
}

static size_t put(unsigned char *to, uint64_t value, int bytes) {
    for (int k = 0; k < bytes; k++) to[k] = (unsigned char)(value >> (8 * k));
    return (size_t)bytes;
}

/* An archive with one deflated entry "d", as other programs write it, laid out by hand; `is_64` puts the sizes into a
   zip64 field and the directory's place into zip64 records. */
static size_t deflated_archive(unsigned char *to, int is_64) {
    unsigned char packed[100];
    z_stream stream = {.next_in = (unsigned char *)TEXT, .avail_in = sizeof TEXT, .next_out = packed, .avail_out = 100};
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t bytes = stream.total_out;
    deflateEnd(&stream);
    const uint64_t crc = crc32(0, (const unsigned char *)TEXT, sizeof TEXT), see = 0xffffffff;
    size_t n = put(to, 0x04034b50, 4);
    n += put(to + n, 0x000800000014, 6), n += put(to + n, 0, 4); /* version, flags, method, time and date */
    n += put(to + n, crc, 4), n += put(to + n, bytes, 4), n += put(to + n, sizeof TEXT, 4);
    n += put(to + n, 1, 2), n += put(to + n, 0, 2), n += put(to + n, 'd', 1);
    memcpy(to + n, packed, bytes);
    n += bytes;
    const size_t start = n;
    n += put(to + n, 0x02014b50, 4), n += put(to + n, 20, 2), n += put(to + n, 0x000800000014, 6);
    n += put(to + n, 0, 4), n += put(to + n, crc, 4);
    n += put(to + n, is_64 ? see : bytes, 4), n += put(to + n, is_64 ? see : sizeof TEXT, 4);
    n += put(to + n, 1, 2), n += put(to + n, is_64 ? 28 : 0, 2);
    n += put(to + n, 0, 8), n += put(to + n, 0, 2), n += put(to + n, is_64 ? see : 0, 4), n += put(to + n, 'd', 1);
    if (is_64) {
        n += put(to + n, 1, 2), n += put(to + n, 24, 2);
        n += put(to + n, sizeof TEXT, 8), n += put(to + n, bytes, 8), n += put(to + n, 0, 8);
    }
    const size_t end = n;
    if (is_64) {
        n += put(to + n, 0x06064b50, 4), n += put(to + n, 44, 8), n += put(to + n, 45, 2), n += put(to + n, 45, 2);
        n += put(to + n, 0, 8), n += put(to + n, 1, 8), n += put(to + n, 1, 8);
        n += put(to + n, end - start, 8), n += put(to + n, start, 8);
        n += put(to + n, 0x07064b50, 4), n += put(to + n, 0, 4), n += put(to + n, end, 8), n += put(to + n, 1, 4);
    }
    n += put(to + n, 0x06054b50, 4), n += put(to + n, 0, 4);
    n += put(to + n, is_64 ? 0xffff : 1, 2), n += put(to + n, is_64 ? 0xffff : 1, 2);
    n += put(to + n, is_64 ? see : end - start, 4), n += put(to + n, is_64 ? see : start, 4);
    return n + put(to + n, 0, 2);
}

static void deflated_entries_and_zip64_are_read(void **state) {
    (void)state;
    for (int is_64 = 0; is_64 < 2; is_64++) {
        unsigned char bytes[1000];
        char text[sizeof TEXT];
        zip_archive *archive;
        failure failure = {0};
        const size_t size = deflated_archive(bytes, is_64);
        if (zip_open(&archive, bytes, size, "it", &failure) != STATUS_OK) fail_msg("%s", failure.message);
        const zip_entry *entry = zip_find(archive, "d");
        assert_true(entry->deflated);
        assert_int_equal(entry->size, sizeof TEXT);
        if (zip_read(archive, entry, text, &failure) != STATUS_OK) fail_msg("%s", failure.message);
        assert_string_equal(text, TEXT);
        zip_close(&archive);
        for (size_t cut = 0; cut < size; cut++) assert_false(is_whole(bytes, cut));
        for (size_t at = 0; at < size; at++) {
            bytes[at] ^= 0x81;
            is_whole(bytes, size);
            bytes[at] ^= 0x81;
        }
    }
}

/* Numbered entries, each of which holds its own name. */
static void write_numbered(int count) {
    zip_writer writer;
    failure failure = {0};
    zip_writer_open(&writer, path);
    for (int k = 0; k < count; k++) {
        char name[32];
        const size_t size = (size_t)snprintf(name, sizeof name, "n/%d", k);
        zip_writer_add(&writer, name, &(zip_span){name, size}, 1, 1);
    }
    if (zip_writer_close(&writer, &failure) != STATUS_OK) fail_msg("%s", failure.message);
}

static void check_numbered(int count) {
    mapped_file file;
    zip_archive *archive;
    failure failure = {0};
    assert_int_equal(mapped_file_open(&file, path, &failure), STATUS_OK);
    if (zip_open(&archive, file.bytes, file.size, path, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_int_equal(zip_count(archive), count);
    for (int k = 0; k < count; k++) {
        char name[32], read[32];
        const size_t size = (size_t)snprintf(name, sizeof name, "n/%d", k);
        const zip_entry *entry = zip_find(archive, name);
        assert_true(entry && entry->size == size);
        assert_int_equal(zip_read(archive, entry, read, &failure), STATUS_OK);
        assert_memory_equal(read, name, size);
    }
    zip_close(&archive);
    mapped_file_close(&file);
}

/* Whether the place of a zip64 record stands before the end. */
static int has_end64(void) {
    mapped_file file;
    assert_int_equal(mapped_file_open(&file, path, NULL), STATUS_OK);
    const int has = file.size >= 42 && memcmp(file.bytes + file.size - 22 - 20, "PK\6\7", 4) == 0;
    mapped_file_close(&file);
    return has;
}

/* The old end has 16 bits for the number of entries, and all of them set send to the zip64 record. */
static void any_number_of_entries_is_read(void **state) {
    (void)state;
    static const int COUNTS[] = {0, 1, 0xfffe, 0xffff, 70000};
    for (size_t k = 0; k < sizeof COUNTS / sizeof *COUNTS; k++) {
        write_numbered(COUNTS[k]);
        assert_int_equal(has_end64(), COUNTS[k] >= 0xffff);
        check_numbered(COUNTS[k]);
    }
}

static void another_program_reads_many_entries(void **state) {
    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0) skip();
    write_numbered(70000);
    char command[600], answer[200] = "";
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s' 70000 2>&1", PEER, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(answer, sizeof answer, pipe)) continue;
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(answer, "read\n");
}

static int files_in_folder(void) {
    DIR *files = opendir(folder);
    int count = 0;
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files)) != NULL;)
        count += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
    closedir(files);
    return count;
}

static void what_is_abandoned_leaves_nothing(void **state) {
    (void)state;
    static char large[1 << 20];
    char *before, *after;
    size_t before_size, after_size;
    for (int is_there = 0; is_there < 2; is_there++) {
        zip_writer writer;
        unlink(path);
        if (is_there) write_example();
        if (is_there) assert_int_equal(whole_file_read(path, 1 << 20, &before, &before_size, NULL), STATUS_OK);
        zip_writer_open(&writer, path);
        for (int k = 0; k < 4; k++) zip_writer_add(&writer, TEXT + k, &(zip_span){large, sizeof large}, 1, 64);
        zip_writer_abandon(&writer);
        assert_int_equal(files_in_folder(), is_there);
    }
    assert_int_equal(whole_file_read(path, 1 << 20, &after, &after_size, NULL), STATUS_OK);
    assert_int_equal(after_size, before_size);
    assert_memory_equal(after, before, before_size);
    free(before), free(after);
}

static void one_name_for_two_entries_is_refused(void **state) {
    (void)state;
    zip_writer writer;
    mapped_file file;
    zip_archive *archive;
    failure failure = {0};
    zip_writer_open(&writer, path);
    zip_writer_add(&writer, "same", (zip_span[]){{TEXT, 5}}, 1, 1);
    zip_writer_add(&writer, "same", (zip_span[]){{TEXT, 6}}, 1, 1);
    assert_int_equal(zip_writer_close(&writer, &failure), STATUS_OK);
    assert_int_equal(mapped_file_open(&file, path, &failure), STATUS_OK);
    assert_int_equal(zip_open(&archive, file.bytes, file.size, "it", &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "'same' is there twice"));
    mapped_file_close(&file);
}

static void what_cannot_be_mapped_is_refused(void **state) {
    (void)state;
    mapped_file file;
    failure failure = {0};
    char missing[120];
    snprintf(missing, sizeof missing, "%s/missing", folder);
    assert_int_equal(mapped_file_open(&file, missing, &failure), STATUS_CANNOT_READ);
    assert_int_equal(mapped_file_open(&file, folder, &failure), STATUS_CORRUPT);
    assert_int_equal(whole_file_write(path, "", 0, &failure), STATUS_OK);
    assert_int_equal(mapped_file_open(&file, path, &failure), STATUS_CORRUPT);
    assert_null(file.bytes);
    mapped_file_close(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_cut_is_refused_and_what_is_altered_does_not_crash),
        cmocka_unit_test(deflated_entries_and_zip64_are_read),
        cmocka_unit_test(any_number_of_entries_is_read),
        cmocka_unit_test(another_program_reads_many_entries),
        cmocka_unit_test(what_is_abandoned_leaves_nothing),
        cmocka_unit_test(one_name_for_two_entries_is_refused),
        cmocka_unit_test(what_cannot_be_mapped_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
