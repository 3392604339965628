#define _GNU_SOURCE /* mkdtemp, mkfifo, truncate, popen, memmem */
#include "safetensors/safetensors.h"
#include "testing.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hws-safetensors-XXXXXX";
static char path[100];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/a.safetensors", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static const float WEIGHT[6] = {0.5f, -1, 2, 3, 4, 0x1p-60f};
static const double BIAS[2] = {0.1, 1e300};
static const int64_t COUNTS[3] = {-1, 0, INT64_C(1) << 40};
static const int16_t SCALAR = -5;
static const uint8_t MASK[3] = {1, 2, 255};
static const char NOTE[] = "quotes \" and \\ and \xc3\xbc\n";

typedef struct entry {
    const char *name;
    safetensors_dtype dtype;
    size_t rank, shape[2];
    const void *data;
} entry;

static const entry ENTRIES[] = {
    {"mask", SAFETENSORS_U8, 1, {3}, MASK},       {"w\xc3\xa9ight", SAFETENSORS_F32, 2, {2, 3}, WEIGHT},
    {"scalar", SAFETENSORS_I16, 0, {0}, &SCALAR}, {"empty", SAFETENSORS_F32, 2, {0, 4}, NULL},
    {"counts", SAFETENSORS_I64, 1, {3}, COUNTS},  {"bias", SAFETENSORS_F64, 1, {2}, BIAS},
};
enum { ENTRIES_COUNT = sizeof ENTRIES / sizeof *ENTRIES };

static void write_example(int backwards) {
    const char *const metadata[2][2] = {{"epoch", "7"}, {"note", NOTE}};
    safetensors_writer *writer = NULL;
    failure failure = {0};
    assert_int_equal(safetensors_writer_open(&writer, &failure), STATUS_OK);
    for (size_t k = 0; k < ENTRIES_COUNT; k++) {
        const entry *e = &ENTRIES[backwards ? ENTRIES_COUNT - 1 - k : k];
        assert_int_equal(
            safetensors_add(writer, &(safetensors_entry){e->name, e->dtype, e->rank, e->shape}, e->data, &failure),
            STATUS_OK);
    }
    for (int k = 0; k < 2; k++) {
        const char *const *pair = metadata[backwards ? 1 - k : k];
        assert_int_equal(safetensors_add_metadata(writer, pair[0], pair[1], &failure), STATUS_OK);
    }
    if (safetensors_write(writer, path, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    safetensors_writer_close(&writer);
    assert_null(writer);
}

static size_t file_bytes(uint8_t *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

static void check_entry(const safetensors *file, const entry *e) {
    const safetensor *t = safetensors_find(file, e->name);
    uint8_t copy[64];
    assert_non_null(t);
    assert_true(t->dtype == e->dtype && t->rank == e->rank);
    assert_int_equal((uintptr_t)t->data % safetensors_dtype_size(t->dtype), 0);
    assert_int_equal(safetensors_copy(file, &(safetensors_entry){e->name, e->dtype, e->rank, e->shape}, copy, NULL),
                     STATUS_OK);
    if (t->size) assert_memory_equal(copy, e->data, t->size);
}

static void what_was_written_is_read(void **state) {
    (void)state;
    write_example(0);
    safetensors *file = NULL;
    failure failure = {0};
    if (safetensors_open(&file, path, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    assert_true(safetensors_verified(file) != 0);
    assert_int_equal(safetensors_count(file), ENTRIES_COUNT);
    for (size_t k = 0; k < ENTRIES_COUNT; k++) check_entry(file, &ENTRIES[k]);
    for (size_t k = 1; k < ENTRIES_COUNT; k++)
        assert_true(strcmp(safetensors_at(file, k - 1)->name, safetensors_at(file, k)->name) < 0);
    assert_string_equal(safetensors_metadata(file, "epoch"), "7");
    assert_string_equal(safetensors_metadata(file, "note"), NOTE);
    assert_null(safetensors_metadata(file, "no"));
    assert_null(safetensors_metadata(file, "hws_crc64"));
    assert_null(safetensors_find(file, "no"));
    safetensors_close(&file);
    assert_null(file);
}

static void equal_content_gives_equal_bytes(void **state) {
    (void)state;
    uint8_t first[4096], second[4096];
    write_example(0);
    const size_t size = file_bytes(first, sizeof first);
    write_example(1);
    assert_int_equal(file_bytes(second, sizeof second), size);
    assert_memory_equal(first, second, size);
}

static void another_program_reads_it(void **state) {
    (void)state;
    if (access("/usr/bin/python3", X_OK) != 0) skip();
    write_example(0);
    char command[600], answer[200] = "";
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' '%s' 2>&1", PEER, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(answer, sizeof answer, pipe)) continue;
    assert_int_equal(pclose(pipe), 0);
    assert_string_equal(answer, "read\n");
}

static void a_file_without_tensors_is_fine(void **state) {
    (void)state;
    safetensors_writer *writer = NULL;
    safetensors *file = NULL;
    assert_int_equal(safetensors_writer_open(&writer, NULL), STATUS_OK);
    assert_int_equal(safetensors_write(writer, path, NULL), STATUS_OK);
    safetensors_writer_close(&writer);
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_int_equal(safetensors_count(file), 0);
    safetensors_close(&file);
}

static status_code open_bytes(const void *bytes, size_t size) {
    safetensors *file = NULL;
    failure failure = {0};
    const status_code status = safetensors_open_bytes(&file, bytes, size, "test", &failure);
    assert_true((status == STATUS_OK) == (file != NULL));
    assert_true((status == STATUS_OK) == (failure.message[0] == 0));
    safetensors_close(&file);
    return status;
}

static void every_changed_bit_and_every_cut_is_noticed(void **state) {
    (void)state;
    uint8_t bytes[4096] = {0};
    write_example(0);
    const size_t size = file_bytes(bytes, sizeof bytes - 1);
    assert_int_equal(open_bytes(bytes, size), STATUS_OK);
    for (size_t i = 0; i < size * 8; i++) {
        safetensors *file = NULL;
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        (void)safetensors_open_bytes(&file, bytes, size, "test", NULL);
        /* The name of the checksum itself may change, but then the file is not said to be verified. */
        if (file && safetensors_verified(file)) fail_msg("bit %zu may change", i);
        if (file) assert_null(memmem(bytes, size, "hws_crc64", 9));
        safetensors_close(&file);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
    for (size_t cut = 0; cut < size; cut++) assert_int_equal(open_bytes(bytes, cut), STATUS_CORRUPT);
    assert_int_equal(open_bytes(bytes, size + 1), STATUS_CORRUPT);
}

/* A file of a header and so many bytes of data. */
static status_code open_header(const char *header, size_t data) {
    const size_t length = strlen(header), size = 8 + length + data;
    uint8_t *bytes = calloc(1, size);
    for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)((uint64_t)length >> (8 * k));
    memcpy(bytes + 8, header, length);
    const status_code status = open_bytes(bytes, size);
    free(bytes);
    return status;
}

typedef struct header_case {
    const char *header;
    size_t data;
} header_case;

#define T(name, dtype, shape, begin, end)                                                                              \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void files_of_other_programs_are_read(void **state) {
    (void)state;
    const header_case good[] = {
        {"{}", 0},
        {"{}   \n", 0},
        {"{" T("a", "F32", "[2,2]", "0", "16") "}", 16},
        {"{" T("b", "BF16", "[3]", "16", "22") "," T("a", "F32", "[2,2]", "0", "16") "}", 22},
        {"{\"a\" : {\"shape\" : [ 1 ], \"dtype\" : \"BOOL\", \"data_offsets\" : [0 , 1]}} ", 1},
        {"{\"__metadata__\":{\"format\":\"pt\"}," T("a", "F16", "[]", "0", "2") "}", 2},
        {"{" T("a", "F32", "[0]", "0", "0") "," T("b", "I8", "[4]", "0", "4") "," T("c", "F64", "[2,0]", "4", "4") "}",
         4},
        {"{" T("a", "U64", "[1]", "0", "8") "," T("b", "U32", "[1]", "8", "12") "," T("c", "U16", "[1]", "12",
                                                                                      "14") "}",
         14},
    };
    for (size_t k = 0; k < sizeof good / sizeof *good; k++)
        if (open_header(good[k].header, good[k].data) != STATUS_OK) fail_msg("%s was refused", good[k].header);
}

static void whatever_breaks_the_rules_is_refused(void **state) {
    (void)state;
    const header_case bad[] = {
        {"", 0},
        {" {}", 0},
        {"[]", 0},
        {"{", 0},
        {"{}}", 0},
        {"{} x", 0},
        {"{\"a\":1}", 0},
        {"{\"a\":{}}", 0},
        {"{}", 1}, /* data that no tensor holds */
        {"{" T("a", "F32", "[2]", "0", "8") "}", 9},
        {"{" T("a", "F32", "[2]", "0", "8") "}", 7},
        {"{" T("a", "F32", "[2]", "0", "8") "," T("a", "F32", "[2]", "0", "8") "}", 8}, /* a name twice */
        {"{" T("a", "F32", "[2]", "0", "8") "," T("b", "F32", "[2]", "0", "8") "}", 8}, /* a place twice, an overlap */
        {"{" T("a", "F32", "[2]", "0", "8") "," T("b", "F32", "[2]", "4", "12") "}", 12},
        {"{" T("a", "F32", "[2]", "0", "8") "," T("b", "F32", "[2]", "12", "20") "}", 20}, /* holes */
        {"{" T("a", "F32", "[2]", "4", "12") "}", 12},
        {"{" T("a", "F32", "[2]", "8", "0") "}", 8},
        {"{" T("a", "F32", "[3]", "0", "8") "}", 8},
        {"{" T("a", "F33", "[2]", "0", "8") "}", 8},
        {"{" T("a", "F32", "[-2]", "0", "8") "}", 8},
        {"{" T("a", "F32", "[2.0]", "0", "8") "}", 8},
        {"{" T("a", "F32", "2", "0", "8") "}", 8},
        {"{" T("a", "F32", "[\"2\"]", "0", "8") "}", 8},
        {"{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "0", "1") "}", 1},
        {"{" T("a", "F32", "[4611686018427387904,4]", "0", "0") "}", 0}, /* products that wrap around */
        {"{" T("a", "F32", "[2305843009213693953,8]", "0", "32") "}", 32},
        {"{" T("a", "F32", "[99999999999999999999]", "0", "0") "}", 0},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"more\":1}}", 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,1]}}", 1},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[[1]],\"data_offsets\":[0,1]}}", 1},
        {"{\"a\\u0000b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1},
        {"{\"a\xff\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1},
        {"{\"__metadata__\":{\"a\":1}}", 0},
        {"{\"__metadata__\":[]}", 0},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0},
        {"{\"__metadata__\":{\"hws_crc64\":\"0123456789abcdef\"}}", 0},
        {"{\"__metadata__\":{\"hws_crc64\":\"\"}}", 0},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        if (open_header(bad[k].header, bad[k].data) != STATUS_CORRUPT) fail_msg("%s was read", bad[k].header);
}

static void hostile_headers_are_refused_before_they_are_parsed(void **state) {
    (void)state;
    const size_t size = 8 << 20;
    char *header = malloc(size + 1);
    for (int kind = 0; kind < 3; kind++) {
        memset(header, kind == 0 ? '[' : '{', size);
        header[0] = '{';
        header[size] = 0;
        for (size_t i = 1; kind == 2 && i < size; i++) header[i] = i % 2 ? '0' : ',';
        assert_int_equal(open_header(header, 0), STATUS_CORRUPT);
    }
    free(header);
    uint8_t length[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{', '}'};
    assert_int_equal(open_bytes(length, sizeof length), STATUS_CORRUPT);
    memset(length, 0, 8);
    length[0] = 9;
    assert_int_equal(open_bytes(length, sizeof length), STATUS_CORRUPT);
}

static void a_huge_file_of_nothing_costs_nothing(void **state) {
    (void)state;
    safetensors *file = NULL;
    write_example(0);
    if (truncate(path, (off_t)1 << 40) != 0) skip(); /* not every file system has files of holes */
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_CORRUPT);
    unlink(path);
}

static void folders_pipes_and_missing_files_are_named(void **state) {
    (void)state;
    safetensors *file = NULL;
    failure failure = {0};
    unlink(path);
    assert_int_equal(safetensors_open(&file, path, &failure), STATUS_CANNOT_READ);
    assert_non_null(strstr(failure.message, path));
    assert_int_equal(safetensors_open(&file, folder, &failure), STATUS_CORRUPT);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(safetensors_open(&file, path, &failure), STATUS_CORRUPT);
    assert_null(file);
    unlink(path);
}

static void a_tensor_of_another_shape_is_not_copied(void **state) {
    (void)state;
    write_example(0);
    safetensors *file = NULL;
    failure failure = {0};
    uint8_t copy[64] = {0};
    const char *name = "w\xc3\xa9ight";
    const size_t right[2] = {2, 3}, turned[2] = {3, 2};
    assert_int_equal(safetensors_open(&file, path, NULL), STATUS_OK);
    assert_int_equal(safetensors_copy(file, &(safetensors_entry){name, SAFETENSORS_F32, 2, turned}, copy, &failure),
                     STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "F32 [2, 3], but the model needs F32 [3, 2]"));
    assert_int_equal(safetensors_copy(file, &(safetensors_entry){name, SAFETENSORS_I32, 2, right}, copy, NULL),
                     STATUS_CORRUPT);
    assert_int_equal(safetensors_copy(file, &(safetensors_entry){"weight", SAFETENSORS_F32, 2, right}, copy, &failure),
                     STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "'weight'"));
    safetensors_close(&file);
}

static void what_cannot_be_read_again_is_not_written(void **state) {
    (void)state;
    safetensors_writer *writer = NULL;
    failure failure = {0};
    const size_t one[1] = {1}, huge[2] = {SIZE_MAX / 2, 3};
    assert_int_equal(safetensors_writer_open(&writer, NULL), STATUS_OK);
    assert_int_equal(safetensors_add(writer, &(safetensors_entry){"__metadata__", SAFETENSORS_U8, 1, one}, MASK, NULL),
                     STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add(writer, &(safetensors_entry){"\xff", SAFETENSORS_U8, 1, one}, MASK, NULL),
                     STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add(writer, &(safetensors_entry){"a", SAFETENSORS_U8, 2, huge}, MASK, NULL),
                     STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add(writer, &(safetensors_entry){"a", SAFETENSORS_U8, 9, one}, MASK, NULL),
                     STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add_metadata(writer, "k", "\xff", NULL), STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add_metadata(writer, "hws_crc64", "1", NULL), STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add_metadata(writer, "k", "v", NULL), STATUS_OK);
    assert_int_equal(safetensors_add_metadata(writer, "k", "v", NULL), STATUS_BAD_INPUT);
    assert_int_equal(safetensors_add(writer, &(safetensors_entry){"a", SAFETENSORS_U8, 1, one}, MASK, NULL), STATUS_OK);
    assert_int_equal(safetensors_write(writer, "/nowhere/at/all", &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "/nowhere/at/all"));
    assert_int_equal(safetensors_add(writer, &(safetensors_entry){"a", SAFETENSORS_U8, 1, one}, MASK, NULL), STATUS_OK);
    assert_int_equal(safetensors_write(writer, path, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "two tensors named 'a'"));
    safetensors_writer_close(&writer);
}

static void more_tensors_than_can_be_read_again_are_not_written(void **state) {
    (void)state;
    safetensors_writer *writer = NULL;
    char name[32];
    assert_int_equal(safetensors_writer_open(&writer, NULL), STATUS_OK);
    for (int k = 0; k < 200000; k++) {
        snprintf(name, sizeof name, "%d", k);
        assert_int_equal(safetensors_add(writer, &(safetensors_entry){name, SAFETENSORS_I16, 0, NULL}, &SCALAR, NULL),
                         STATUS_OK);
    }
    unlink(path);
    assert_int_equal(safetensors_write(writer, path, NULL), STATUS_BAD_INPUT);
    assert_int_equal(access(path, F_OK), -1);
    safetensors_writer_close(&writer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(equal_content_gives_equal_bytes),
        cmocka_unit_test(another_program_reads_it),
        cmocka_unit_test(a_file_without_tensors_is_fine),
        cmocka_unit_test(every_changed_bit_and_every_cut_is_noticed),
        cmocka_unit_test(files_of_other_programs_are_read),
        cmocka_unit_test(whatever_breaks_the_rules_is_refused),
        cmocka_unit_test(hostile_headers_are_refused_before_they_are_parsed),
        cmocka_unit_test(a_huge_file_of_nothing_costs_nothing),
        cmocka_unit_test(folders_pipes_and_missing_files_are_named),
        cmocka_unit_test(a_tensor_of_another_shape_is_not_copied),
        cmocka_unit_test(what_cannot_be_read_again_is_not_written),
        cmocka_unit_test(more_tensors_than_can_be_read_again_are_not_written),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
