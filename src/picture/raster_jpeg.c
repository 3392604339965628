/* JPEG files: see raster.h. */
#include "picture/raster_inside.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

enum { SCANS_MAX = 500 /* a progressive file of a few kilobytes can hold thousands, each as slow as a picture */ };

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    int damaged;
    char complaint[JMSG_LENGTH_MAX];
} reading;

static void complain(j_common_ptr jpeg) {
    reading *r = jpeg->client_data;
    jpeg->err->format_message(jpeg, r->complaint);
    longjmp(r->back, 1);
}

/* The library goes on after damage, and makes up what is missing. We do not want to learn from that. */
static void note_damage(j_common_ptr jpeg, int level) {
    reading *r = jpeg->client_data;
    const int code = jpeg->err->msg_code;
    if (level >= 0 || r->damaged) return;
    if (code != JWRN_JPEG_EOF && code != JWRN_HIT_MARKER && code != JWRN_HUFF_BAD_CODE && code != JWRN_MUST_RESYNC)
        return;
    r->damaged = 1;
    jpeg->err->format_message(jpeg, r->complaint);
}

static void count_scans(j_common_ptr jpeg) {
    const struct jpeg_decompress_struct *d = (j_decompress_ptr)jpeg;
    if (d->input_scan_number > SCANS_MAX) ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

static void note(reading *r, raster_facts *facts) {
    const struct jpeg_decompress_struct *d = &r->jpeg;
    facts->width = (int)d->image_width;
    facts->height = (int)d->image_height;
    facts->channels = d->num_components == 1 ? 1 : 3;
    facts->bits = d->data_precision;
    for (jpeg_saved_marker_ptr m = d->marker_list; m; m = m->next)
        if (m->data_length > 6 && memcmp(m->data, "Exif\0", 6) == 0)
            facts->orientation = raster_exif_orientation(m->data + 6, m->data_length - 6);
}

static int read_header(reading *r, const encoded *file, raster_facts *facts) {
    struct jpeg_decompress_struct *d = &r->jpeg;
    if (setjmp(r->back)) return 0;
    jpeg_create_decompress(d);
    d->client_data = r;
    d->progress = &r->progress;
    jpeg_mem_src(d, file->bytes, (unsigned long)file->size);
    jpeg_save_markers(d, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(d, TRUE);
    note(r, facts);
    return 1;
}

/* Adobe's programs store CMYK inverted, and nobody else writes it: 255 is no ink. */
static void ink_to_rgb(const uint8_t *cmyk, size_t width, int inverted, uint8_t *rgb) {
    for (size_t x = 0; x < width; x++, cmyk += 4)
        for (int c = 0; c < 3; c++) {
            const unsigned ink = inverted ? 255u - cmyk[c] : cmyk[c], key = inverted ? cmyk[3] : 255u - cmyk[3];
            const unsigned product = ink * key + 128;
            *rgb++ = (uint8_t)(key - ((product + (product >> 8)) >> 8));
        }
}

static int read_rows(reading *r, raster *picture, JSAMPARRAY row) {
    struct jpeg_decompress_struct *d = &r->jpeg;
    const size_t stride = (size_t)picture->width * (size_t)picture->channels;
    if (setjmp(r->back)) return 0;
    while (d->output_scanline < d->output_height) {
        uint8_t *to = picture->pixels + (size_t)d->output_scanline * stride;
        JSAMPROW direct = to;
        jpeg_read_scanlines(d, d->out_color_space == JCS_CMYK ? row : &direct, 1);
        if (d->out_color_space == JCS_CMYK) ink_to_rgb(row[0], (size_t)picture->width, d->saw_Adobe_marker, to);
    }
    jpeg_finish_decompress(d);
    return 1;
}

static int begin(reading *r, JSAMPARRAY *row) {
    struct jpeg_decompress_struct *d = &r->jpeg;
    if (setjmp(r->back)) return 0;
    if (d->num_components == 1) d->out_color_space = JCS_GRAYSCALE;
    else d->out_color_space = d->num_components == 4 ? JCS_CMYK : JCS_RGB;
    jpeg_start_decompress(d);
    *row = d->mem->alloc_sarray((j_common_ptr)d, JPOOL_IMAGE, d->output_width * (JDIMENSION)d->output_components, 1);
    return 1;
}

static status_code read_pixels(reading *r, const raster_facts *facts, raster *picture, failure *failure) {
    JSAMPARRAY row = NULL;
    const status_code status = raster_open(picture, facts->height, facts->width, facts->channels, failure);
    if (status != STATUS_OK) return status;
    return begin(r, &row) && read_rows(r, picture, row) && !r->damaged ? STATUS_OK : STATUS_CORRUPT;
}

static status_code decode(reading *r, const encoded *file, raster_facts *facts, raster *picture, failure *failure) {
    status_code status = read_header(r, file, facts) ? STATUS_OK : STATUS_CORRUPT;
    if (status == STATUS_OK) status = raster_check_size(file, (uint64_t)facts->width, (uint64_t)facts->height, failure);
    if (status == STATUS_OK && picture) status = read_pixels(r, facts, picture, failure);
    if (status != STATUS_CORRUPT) return status;
    return fail(failure, STATUS_CORRUPT, "%.500s: is a broken JPEG file (%.200s); replace it or remove it", file->name,
                r->complaint);
}

status_code raster_decode_jpeg(const encoded *file, raster_facts *facts, raster *picture, failure *failure) {
    reading *r = calloc(1, sizeof *r);
    if (!r) return fail_memory(failure, "a picture");
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->jpeg.client_data = r;
    r->errors.error_exit = complain;
    r->errors.emit_message = note_damage;
    r->progress.progress_monitor = count_scans;
    const status_code status = decode(r, file, facts, picture, failure);
    jpeg_destroy_decompress(&r->jpeg);
    free(r);
    return status;
}
