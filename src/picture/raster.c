#include "picture/raster.h"

#include "core/memory.h"
#include "core/whole_file.h"
#include "picture/raster_inside.h"

#include <stdlib.h>
#include <string.h>

static const size_t LARGEST_FILE = (size_t)1 << 30;

status_code raster_open(raster *p, int height, int width, int channels, failure *failure) {
    *p = (raster){.height = height, .width = width, .channels = channels};
    p->pixels = memory_open((size_t)height * (size_t)width * (size_t)channels);
    return p->pixels ? STATUS_OK : fail_memory(failure, "a picture");
}

void raster_close(raster *p) {
    memory_close(p->pixels);
    *p = (raster){0};
}

status_code raster_check_size(const encoded *file, uint64_t width, uint64_t height, failure *failure) {
    if (width && height && width <= RASTER_PIXELS_MAX && height <= RASTER_PIXELS_MAX &&
        width * height <= RASTER_PIXELS_MAX)
        return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s: is a picture of %llu x %llu pixels; at most %d million are read: make it smaller, or cut it",
                file->name, (unsigned long long)width, (unsigned long long)height, RASTER_PIXELS_MAX / 1000000);
}

/* ---- which decoder ----------------------------------------------------------------------------------------------- */

typedef struct file_kind {
    const char *name, *magic;
    size_t at, size;
} file_kind;

/* What people put into folders of pictures, to be named when it is refused. */
static const file_kind OTHERS[] = {
    {"a GIF", "GIF8", 0, 4},          {"a BMP", "BM", 0, 2},         {"a TIFF", "II*\0", 0, 4},
    {"a TIFF", "MM\0*", 0, 4},        {"a WebP", "WEBP", 8, 4},      {"a HEIC or AVIF", "ftyp", 4, 4},
    {"a DICOM", "DICM", 128, 4},      {"a JPEG 2000", "jP  ", 4, 4}, {"a gzip", "\x1f\x8b", 0, 2},
    {"a zip or npz", "PK\3\4", 0, 4}, {"a PDF", "%PDF", 0, 4},       {"an HTML", "<", 0, 1},
};

static int begins(const encoded *file, const char *magic, size_t at, size_t size) {
    return file->size >= at + size && memcmp(file->bytes + at, magic, size) == 0;
}

static status_code refuse(const encoded *file, failure *failure) {
    if (!file->size)
        return fail(failure, STATUS_CORRUPT, "%.500s: is empty; replace the file or remove it", file->name);
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++)
        if (begins(file, OTHERS[k].magic, OTHERS[k].at, OTHERS[k].size))
            return fail(failure, STATUS_CORRUPT, "%.500s: is %s file; convert it to PNG or JPEG, or remove it",
                        file->name, OTHERS[k].name);
    return fail(failure, STATUS_CORRUPT, "%.500s: is neither a PNG nor a JPEG file; replace it or remove it",
                file->name);
}

static status_code decode(const encoded *file, raster_facts *facts, raster *picture, failure *failure) {
    *facts = (raster_facts){.orientation = 1};
    if (begins(file, "\x89PNG\r\n\x1a\n", 0, 8)) return raster_decode_png(file, facts, picture, failure);
    if (begins(file, "\xff\xd8\xff", 0, 3)) return raster_decode_jpeg(file, facts, picture, failure);
    return refuse(file, failure);
}

/* Orientations from 5 on lie on their side. */
static void turn_facts(raster_facts *facts) {
    const int height = facts->height;
    if (facts->orientation < 5) return;
    facts->height = facts->width;
    facts->width = height;
}

/* A grey at `*at`, which moves behind it; -1 if there is none. */
static int take_grey(const char **at) {
    char *end;
    if (**at < '0' || **at > '9') return -1;
    const long grey = strtol(*at, &end, 10);
    *at = end;
    return grey > RASTER_GREY_MOST ? -1 : (int)grey;
}

status_code raster_greys_parse(raster_greys *greys, const char *words, failure *failure) {
    const char *at = words;
    *greys = (raster_greys){0};
    if (!*words) return STATUS_OK;
    const int low = take_grey(&at), comma = *at == ',';
    at += comma;
    const int high = take_grey(&at);
    if (low >= 0 && comma && low < high && !*at) {
        *greys = (raster_greys){low, high};
        return STATUS_OK;
    }
    return fail(failure, STATUS_BAD_INPUT,
                "the greys '%.100s' are not LOW,HIGH, two whole numbers from 0 to %d of which the second is larger",
                words, RASTER_GREY_MOST);
}

/* Bytes have greys of another kind: what they would be in 16 bits nobody has said. */
static status_code check_depth(const encoded *file, const raster_facts *facts, failure *failure) {
    if (!file->greys.high || facts->bits > 8) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s: has %d bits, but greys from %d to %d are asked for, of pictures of 16 bits", file->name,
                facts->bits, file->greys.low, file->greys.high);
}

status_code raster_decode(raster *picture, const encoded *file, raster_facts *told, failure *failure) {
    raster_facts facts;
    *picture = (raster){0};
    status_code status = decode(file, &facts, picture, failure);
    if (status == STATUS_OK) status = check_depth(file, &facts, failure);
    if (status == STATUS_OK) status = raster_orient(picture, facts.orientation, failure);
    if (status != STATUS_OK) raster_close(picture);
    turn_facts(&facts);
    if (told) *told = facts;
    return status;
}

status_code raster_look(raster_facts *facts, const encoded *file, failure *failure) {
    const status_code status = decode(file, facts, NULL, failure);
    turn_facts(facts);
    return status;
}

status_code raster_read_greys(raster *picture, const char *path, raster_greys greys, raster_facts *facts,
                              failure *failure) {
    char *bytes;
    size_t size;
    *picture = (raster){0};
    status_code status = whole_file_read(path, LARGEST_FILE, &bytes, &size, failure);
    if (status != STATUS_OK) return status;
    const encoded file = {(const uint8_t *)bytes, size, path, greys};
    status = raster_decode(picture, &file, facts, failure);
    free(bytes);
    return status;
}

status_code raster_look_file(raster_facts *facts, const char *path, failure *failure) {
    char *bytes;
    size_t size;
    *facts = (raster_facts){0};
    status_code status = whole_file_read(path, LARGEST_FILE, &bytes, &size, failure);
    if (status != STATUS_OK) return status;
    status = raster_look(facts, &(encoded){(const uint8_t *)bytes, size, path, {0}}, failure);
    free(bytes);
    return status;
}

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static uint8_t grey_of(const uint8_t *rgb) {
    return (uint8_t)((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}

status_code raster_convert(raster *p, int channels, failure *failure) {
    if (channels != 1 && channels != 3)
        return fail(failure, STATUS_BAD_INPUT, "a picture cannot have %d channels: 1 or 3 are possible", channels);
    if (p->channels == channels) return STATUS_OK;
    const size_t count = (size_t)p->height * (size_t)p->width;
    raster other;
    const status_code status = raster_open(&other, p->height, p->width, channels, failure);
    for (size_t k = 0; k < count && status == STATUS_OK; k++) {
        if (channels == 1) other.pixels[k] = grey_of(p->pixels + 3 * k);
        else memset(other.pixels + 3 * k, p->pixels[k], 3);
    }
    if (status != STATUS_OK) return status;
    raster_close(p);
    *p = other;
    return STATUS_OK;
}

/* ---- orientation ------------------------------------------------------------------------------------------------- */

/* Where the pixel (y, x) of the upright picture is in the one that was stored: bit 0 mirrors, and so on (EXIF 2.3). */
static size_t stored_at(const raster *p, int orientation, int y, int x) {
    const int sideways = orientation >= 5;
    int v = sideways ? x : y, u = sideways ? y : x; /* row and column, before mirroring */
    const int from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const int from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    if (from_right) u = p->width - 1 - u;
    if (from_bottom) v = p->height - 1 - v;
    return ((size_t)v * (size_t)p->width + (size_t)u) * (size_t)p->channels;
}

status_code raster_orient(raster *p, int orientation, failure *failure) {
    if (orientation <= 1 || orientation > 8) return STATUS_OK;
    const int sideways = orientation >= 5;
    raster upright;
    const status_code status =
        raster_open(&upright, sideways ? p->width : p->height, sideways ? p->height : p->width, p->channels, failure);
    if (status != STATUS_OK) return status;
    uint8_t *to = upright.pixels;
    for (int y = 0; y < upright.height; y++)
        for (int x = 0; x < upright.width; x++, to += p->channels)
            memcpy(to, p->pixels + stored_at(p, orientation, y, x), (size_t)p->channels);
    raster_close(p);
    *p = upright;
    return STATUS_OK;
}

typedef struct tiff {
    const uint8_t *bytes;
    size_t size;
    int big; /* endian */
} tiff;

static uint32_t number_at(const tiff *t, size_t at, size_t bytes) {
    uint32_t number = 0;
    if (at > t->size || bytes > t->size - at) return 0;
    for (size_t k = 0; k < bytes; k++) {
        const size_t place = t->big ? bytes - 1 - k : k;
        number |= (uint32_t)t->bytes[at + k] << 8 * place;
    }
    return number;
}

int raster_exif_orientation(const uint8_t *bytes, size_t size) {
    enum { ORIENTATION = 0x0112, SHORT = 3, ENTRY = 12 };
    if (size < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0)) return 1;
    const tiff t = {bytes, size, bytes[0] == 'M'};
    const size_t first = number_at(&t, 4, 4);
    const uint32_t entries = number_at(&t, first, 2);
    for (uint32_t k = 0; k < entries; k++) {
        const size_t at = first + 2 + (size_t)k * ENTRY;
        if (number_at(&t, at, 2) != ORIENTATION || number_at(&t, at + 2, 2) != SHORT) continue;
        const uint32_t value = number_at(&t, at + 8, 2);
        return value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}
