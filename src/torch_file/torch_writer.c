#include "torch_file/torch_writer.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* of tensors, as in torch.save's files */

/* The archive's entries stand in a folder of this name. */
#define FOLDER "archive/"

static void put(torch_writer *writer, const void *bytes, size_t size) { text_add_bytes(&writer->program, bytes, size); }
static void opcode(torch_writer *writer, char code) { put(writer, &code, 1); }

static void put_least_first(torch_writer *writer, uint64_t value, int bytes) {
    unsigned char out[8];
    for (int k = 0; k < bytes; k++) out[k] = (unsigned char)(value >> (8 * k));
    put(writer, out, (size_t)bytes);
}

static void put_string(torch_writer *writer, const char *string) {
    opcode(writer, 'X');
    put_least_first(writer, strlen(string), 4);
    put(writer, string, strlen(string));
}

static void put_whole(torch_writer *writer, long long whole) {
    put(writer, "\x8a\x08", 2);
    put_least_first(writer, (uint64_t)whole, 8);
}

static void put_name(torch_writer *writer, const char *module_and_name) {
    opcode(writer, 'c');
    put(writer, module_and_name, strlen(module_and_name));
}

static void begin(torch_writer *writer, const char *key) {
    if (key) put_string(writer, key);
}

/* Puts the key and the value on top of the stack into the dict below them. */
static void end(torch_writer *writer, const char *key) {
    if (key) opcode(writer, 's');
}

void torch_writer_open(torch_writer *writer, const char *path) {
    *writer = (torch_writer){0};
    zip_writer_open(&writer->archive, path);
    put(writer, "\x80\x02", 2);
}

/* Without a key it is the outermost. */
void torch_begin_dict(torch_writer *writer, const char *key) {
    begin(writer, key);
    opcode(writer, '}');
    writer->depth++;
}

void torch_end_dict(torch_writer *writer) {
    if (--writer->depth) opcode(writer, 's');
}

void torch_add_none(torch_writer *writer, const char *key) {
    begin(writer, key);
    opcode(writer, 'N');
    end(writer, key);
}

void torch_add_string(torch_writer *writer, const char *key, const char *string) {
    begin(writer, key);
    put_string(writer, string);
    end(writer, key);
}

void torch_add_whole(torch_writer *writer, const char *key, long long whole) {
    begin(writer, key);
    put_whole(writer, whole);
    end(writer, key);
}

static void put_sizes(torch_writer *writer, size_t count, const size_t *sizes) {
    opcode(writer, '(');
    for (size_t k = 0; k < count; k++) put_whole(writer, (long long)sizes[k]);
    opcode(writer, 't');
}

void torch_add_tuple(torch_writer *writer, const char *key, const int *numbers, int count) {
    begin(writer, key);
    opcode(writer, '(');
    for (int k = 0; k < count; k++) put_whole(writer, numbers[k]);
    opcode(writer, 't');
    end(writer, key);
}

/* What torch.save writes: _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict()), the storage being
   outside of the pickle under a number. */
void torch_add_tensor_again(torch_writer *writer, const char *key, size_t rank, const size_t *shape, size_t storage) {
    char number[24];
    size_t stride[8], count = 1;
    for (size_t k = rank; k-- > 0;) {
        stride[k] = count;
        count *= shape[k];
    }
    snprintf(number, sizeof number, "%zu", storage);
    begin(writer, key);
    put_name(writer, "torch._utils\n_rebuild_tensor_v2\n");
    put(writer, "((", 2);
    put_string(writer, "storage");
    put_name(writer, "torch\nFloatStorage\n");
    put_string(writer, number);
    put_string(writer, "cpu");
    put_whole(writer, (long long)count);
    put(writer, "tQ", 2);
    put_whole(writer, 0);
    put_sizes(writer, rank, shape);
    put_sizes(writer, rank, stride);
    opcode(writer, '\x89');
    put_name(writer, "collections\nOrderedDict\n");
    put(writer, ")RtR", 4);
    end(writer, key);
}

size_t torch_add_tensor(torch_writer *writer, const char *key, size_t rank, const size_t *shape, const float *values) {
    char name[48];
    size_t count = 1;
    for (size_t k = 0; k < rank; k++) count *= shape[k];
    snprintf(name, sizeof name, FOLDER "data/%zu", writer->tensors);
    zip_writer_add(&writer->archive, name, &(zip_span){values, count * sizeof *values}, 1, ALIGNMENT);
    torch_add_tensor_again(writer, key, rank, shape, writer->tensors);
    return writer->tensors++;
}

void torch_writer_abandon(torch_writer *writer) {
    zip_writer_abandon(&writer->archive);
    text_close(&writer->program);
}

status_code torch_writer_close(torch_writer *writer, failure *failure) {
    opcode(writer, '.');
    if (writer->program.failed) {
        torch_writer_abandon(writer);
        return fail_memory(failure, writer->archive.file.path);
    }
    zip_writer_add(&writer->archive, FOLDER "data.pkl", &(zip_span){writer->program.bytes, writer->program.size}, 1,
                   ALIGNMENT);
    zip_writer_add(&writer->archive, FOLDER "version", &(zip_span){"3\n", 2}, 1, ALIGNMENT);
    text_close(&writer->program);
    return zip_writer_close(&writer->archive, failure);
}
