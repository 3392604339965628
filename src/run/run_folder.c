#define _DEFAULT_SOURCE /* flock */
#include "run/run_folder.h"

#include "core/crc64.h"
#include "core/utf8.h"
#include "core/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

const char *run_file_name(run_file file) {
    static const char *const NAMES[] = {
#define RUN_FILE_NAME(code, name) name,
        RUN_FILES(RUN_FILE_NAME)
#undef RUN_FILE_NAME
    };
    return NAMES[file];
}

status_code run_path(char path[PATH_SIZE], const char *folder, run_file file, failure *failure) {
    return path_join(path, folder, run_file_name(file), failure);
}

enum { PICTURE_NAME_MAX = 180 };

static int stands_in_names(const char *name, size_t at) {
    const unsigned char byte = (unsigned char)name[at];
    return byte >= 0x20 && byte != 0x7f && !strchr("/\\%", byte) && (byte != '.' || at > 0);
}

static void shorten(text *name, const char *example) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, example, strlen(example));
    name->size = utf8_whole(name->bytes, PICTURE_NAME_MAX);
    text_format(name, "%%-%016" PRIx64, crc64_value(&crc));
}

status_code run_picture_path(char path[PATH_SIZE], const char *folder, run_file pictures, const char *example,
                             failure *failure) {
    text name = {0};
    for (size_t k = 0; example[k]; k++)
        if (stands_in_names(example, k)) text_add_bytes(&name, example + k, 1);
        else text_format(&name, "%%%02X", (unsigned)(unsigned char)example[k]);
    if (!name.failed && name.size > PICTURE_NAME_MAX) shorten(&name, example);
    const status_code status =
        name.failed ? fail_memory(failure, "a picture's name")
                    : path_format(path, failure, "%s/%s/%s.png", folder, run_file_name(pictures), text_string(&name));
    text_close(&name);
    return status;
}

int run_has(const char *folder, run_file file) {
    char path[PATH_SIZE];
    return run_path(path, folder, file, 0) == STATUS_OK && path_exists(path);
}

int run_exists(const char *folder) { return run_has(folder, RUN_CONFIG); }

int run_is_ours(const char *folder) {
    enum { CONFIG_MAX = 1 << 24 };
    char path[PATH_SIZE], *bytes = NULL;
    size_t size;
    if (run_has(folder, RUN_EXAMPLES) && run_has(folder, RUN_STRATA) && run_has(folder, RUN_WORST)) return 1;
    if (!run_exists(folder) || run_path(path, folder, RUN_CONFIG, NULL) != STATUS_OK) return 0;
    const int ours =
        whole_file_read(path, CONFIG_MAX, &bytes, &size, NULL) == STATUS_OK && strstr(bytes, "\"hws_version\"");
    free(bytes);
    return ours;
}

status_code run_require(const char *folder, failure *failure) {
    if (run_exists(folder)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s: is not a run's folder: it has no %s; name a folder that hws train --out has written", folder,
                run_file_name(RUN_CONFIG));
}

status_code run_lock(const char *folder, int *lock, failure *failure) {
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0) return fail(failure, STATUS_CANNOT_READ, "%.500s: cannot be opened: %s", folder, strerror(errno));
    /* A file system that knows no locks is not an error. */
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return STATUS_OK;
    close(*lock);
    *lock = -1;
    return fail(failure, STATUS_FAILED, "%.500s: another process trains in this folder; wait for it or stop it",
                folder);
}

status_code run_write(const char *folder, run_file file, const text *text, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = run_path(path, folder, file, failure);
    return status == STATUS_OK ? whole_file_write_text(path, text, failure) : status;
}

status_code run_weights_parse(const char *name, run_weights *weights, failure *failure) {
    const int last = strcmp(name, "latest") == 0 || strcmp(name, "final") == 0;
    *weights = last ? RUN_WEIGHTS_LATEST : RUN_WEIGHTS_BEST;
    if (*weights == RUN_WEIGHTS_LATEST || strcmp(name, "best") == 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--weights %.100s is neither best nor latest (or final)", name);
}

run_file run_weights_file(run_weights weights) { return weights == RUN_WEIGHTS_LATEST ? RUN_LATEST : RUN_BEST; }

run_file run_validation_file(run_weights weights, int mirror) {
    if (weights == RUN_WEIGHTS_LATEST) return mirror ? RUN_VALIDATION_LATEST : RUN_VALIDATION_LATEST_UNMIRRORED;
    return mirror ? RUN_VALIDATION : RUN_VALIDATION_UNMIRRORED;
}
