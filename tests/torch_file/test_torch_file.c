#define _GNU_SOURCE /* mkdtemp, memmem */
#include "core/whole_file.h"
#include "example_checkpoint.h"
#include "testing.h"
#include "torch_file/torch_file.h"

#include <unistd.h>

static char folder[] = "/tmp/hws-torch-file-XXXXXX";
static char path[100];
static char *bytes; /* of the example */
static size_t size;

static int make_example(void **state) {
    (void)state;
    failure failure = {0};
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/a.pth", folder);
    return write_example_checkpoint(path, &failure) != STATUS_OK ||
           whole_file_read(path, 1 << 20, &bytes, &size, &failure) != STATUS_OK;
}

static int remove_folder(void **state) {
    (void)state;
    free(bytes);
    unlink(path);
    return rmdir(folder);
}

static void what_is_written_is_read(void **state) {
    (void)state;
    torch_file *file;
    torch_tensor tensor;
    failure failure = {0};
    float values[6];
    if (torch_file_open(&file, path, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    const pickle_value *root = torch_file_root(file), *weights = pickle_get(root, "network_weights");
    assert_true(pickle_is_string(pickle_get(root, "trainer_name"), "nnUNetTrainer"));
    assert_int_equal(pickle_get(root, "current_epoch")->whole, 1000);
    assert_int_equal(pickle_get(root, "optimizer_state")->kind, PICKLE_NONE);
    assert_int_equal(pickle_get(root, "inference_allowed_mirroring_axes")->item[2]->whole, 2);
    if (torch_tensor_open(file, pickle_get(weights, "conv.weight"), "conv.weight", &tensor, &failure) != STATUS_OK)
        fail_msg("%s", failure.message);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.shape[0], 2);
    assert_int_equal(tensor.shape[1], 3);
    torch_tensor_copy(&tensor, values);
    assert_memory_equal(values, EXAMPLE_WEIGHT, sizeof values);
    assert_int_equal(torch_tensor_open(file, pickle_get(weights, "no"), "no", &tensor, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "'no' is missing"));
    assert_int_equal(torch_tensor_open(file, root, "root", &tensor, &failure), STATUS_CORRUPT);
    torch_file_close(&file);
}

static void transposed_tensors_are_copied_in_their_order(void **state) {
    (void)state;
    const torch_tensor tensor = {
        .rank = 2, .shape = {3, 2}, .stride = {1, 3}, .count = 6, .bytes = (const unsigned char *)EXAMPLE_WEIGHT};
    const float expected[6] = {0.5f, 3, -1, 4, 2, 0x1p-60f};
    float values[6];
    torch_tensor_copy(&tensor, values);
    assert_memory_equal(values, expected, sizeof values);
}

/* Opens the bytes and both tensors. */
static status_code try_all(const char *from, size_t count, failure *failure) {
    char *exact = malloc(count + !count);
    torch_file *file;
    memcpy(exact, from, count);
    status_code status = torch_file_open_bytes(&file, exact, count, "it", failure);
    const char *const names[] = {"conv.weight", "conv.bias"};
    for (int k = 0; k < 2 && status == STATUS_OK; k++) {
        torch_tensor tensor;
        float values[6];
        const pickle_value *weights = pickle_get(torch_file_root(file), "network_weights");
        status = torch_tensor_open(file, pickle_get(weights, names[k]), names[k], &tensor, failure);
        if (status == STATUS_OK && tensor.count <= 6) torch_tensor_copy(&tensor, values);
    }
    torch_file_close(&file);
    free(exact);
    return status;
}

static void what_is_cut_is_refused_and_what_is_altered_is_noticed(void **state) {
    (void)state;
    failure failure = {0};
    assert_int_equal(try_all(bytes, size, &failure), STATUS_OK);
    for (size_t cut = 0; cut < size; cut++) assert_int_equal(try_all(bytes, cut, &failure), STATUS_CORRUPT);
    char *program = memmem(bytes, size, "\x80\x02}", 3), *value = memmem(bytes, size, EXAMPLE_WEIGHT, 24);
    assert_true(program && value);
    for (char *at = program; at < program + 200; at++) { /* checksums notice every byte of the pickle and of tensors */
        *at ^= 0x10;
        assert_int_equal(try_all(bytes, size, &failure), STATUS_CORRUPT);
        *at ^= 0x10;
    }
    *value ^= 1;
    assert_int_equal(try_all(bytes, size, &failure), STATUS_CORRUPT);
    *value ^= 1;
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 0x41;
        try_all(bytes, size, &failure);
        bytes[at] ^= 0x41;
    }
}

/* A checkpoint whose pickle is this one, and whose only storage, "0", has `elements` numbers. */
static status_code open_with(const char *program, size_t length, size_t elements, failure *failure) {
    static const float zeros[16];
    zip_writer writer;
    torch_file *file;
    torch_tensor tensor;
    zip_writer_open(&writer, path);
    zip_writer_add(&writer, "x/data.pkl", &(zip_span){program, length}, 1, 1);
    zip_writer_add(&writer, "x/data/0", &(zip_span){zeros, elements * sizeof *zeros}, 1, 64);
    assert_int_equal(zip_writer_close(&writer, failure), STATUS_OK);
    status_code status = torch_file_open(&file, path, failure);
    if (status == STATUS_OK) status = torch_tensor_open(file, torch_file_root(file), "it", &tensor, failure);
    torch_file_close(&file);
    return status;
}

#define TENSOR(offset, shape, stride, storage)                                                                         \
    "\x80\x02"                                                                                                         \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" storage "\nX\x01\x00\x00\x00"              \
    "0X\x03\x00\x00\x00"                                                                                               \
    "cpuK\x10tQ" offset shape stride "\x89}tR."

static void tensors_stay_inside_of_their_storages(void **state) {
    (void)state;
    failure failure = {0};
    const char inside[] =
        TENSOR("K\x04", "K\x03K\x02\x86", "K\x04K\x01\x86", "FloatStorage"); /* up to 4 + 8 + 1 = 13 */
    assert_int_equal(open_with(inside, sizeof inside - 1, 14, &failure), STATUS_OK);
    assert_int_equal(open_with(inside, sizeof inside - 1, 13, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "reaches out of its storage"));
    const char huge[] =
        TENSOR("K\x00", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x04\x86", "K\x04K\x01\x86", "FloatStorage");
    assert_int_equal(open_with(huge, sizeof huge - 1, 16, &failure), STATUS_CORRUPT);
    const char negative[] = TENSOR("J\xff\xff\xff\xff", "K\x01\x85", "K\x01\x85", "FloatStorage");
    assert_int_equal(open_with(negative, sizeof negative - 1, 16, &failure), STATUS_CORRUPT);
    const char negative_size[] = TENSOR("K\x00", "J\xff\xff\xff\xff\x85", "K\x01\x85", "FloatStorage");
    assert_int_equal(open_with(negative_size, sizeof negative_size - 1, 16, &failure), STATUS_CORRUPT);
    const char empty[] = TENSOR("K\x00", "K\x00\x85", "K\x01\x85", "FloatStorage");
    assert_int_equal(open_with(empty, sizeof empty - 1, 0, &failure), STATUS_OK);
    const char half[] = TENSOR("K\x00", "K\x01\x85", "K\x01\x85", "HalfStorage");
    assert_int_equal(open_with(half, sizeof half - 1, 16, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "32-bit"));
}

static void what_is_no_checkpoint_is_refused(void **state) {
    (void)state;
    failure failure = {0};
    torch_file *file;
    assert_int_equal(torch_file_open_bytes(&file, "\x80\x02}.", 4, "old", &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "before 1.6"));
    zip_writer writer;
    zip_writer_open(&writer, path);
    zip_writer_add(&writer, "readme", &(zip_span){"hello", 5}, 1, 1);
    assert_int_equal(zip_writer_close(&writer, &failure), STATUS_OK);
    assert_int_equal(torch_file_open(&file, path, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "no data.pkl"));
    assert_int_equal(torch_file_open(&file, "/nonexistent.pth", &failure), STATUS_CANNOT_READ);
    assert_null(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(transposed_tensors_are_copied_in_their_order),
        cmocka_unit_test(what_is_cut_is_refused_and_what_is_altered_is_noticed),
        cmocka_unit_test(tensors_stay_inside_of_their_storages),
        cmocka_unit_test(what_is_no_checkpoint_is_refused),
    };
    return cmocka_run_group_tests(tests, make_example, remove_folder);
}
