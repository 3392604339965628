/*
 * Images with one label each: what the classification trainer learns from and is tested on.
 *
 * The pixels are bytes, row after row, image after image (n, h, w, c), in memory or, for picture files that do not fit,
 * decoded whenever they are asked for. The rows of a table have `values` instead, one number per channel. `origins`
 * says where each example comes from: its index in the file or generator, which stays with it when others are left out.
 */
#ifndef HWS_IMAGES_LABELLED_IMAGES_H
#define HWS_IMAGES_LABELLED_IMAGES_H

#include "core/listener.h"
#include "core/path.h"
#include "images/example_column.h"
#include "picture/raster.h"

enum { LABELLED_IMAGES_CLASSES_MAX = 256, LABELLED_IMAGES_SIDE_MAX = 16384, LABELLED_IMAGES_CHANNELS_MAX = 4096 };

/* What is remembered of a picture's pixels, so that it need not be decoded again for it. */
typedef struct pixel_sums {
    uint64_t crc, sum, squares;
} pixel_sums;

typedef struct labelled_images {
    int64_t count;
    int height, width, channels;
    int classes;      /* labels are below it */
    uint8_t *pixels;  /* count x height x width x channels; owned, as is all that follows */
    uint8_t *labels;  /* count; NULL if the labels are not known */
    int64_t *origins; /* count */

    /* What may be known besides; NULL or 0 where it is not. */
    float *values;           /* count x channels, of a table: there are no pixels */
    char *folder;            /* of picture files, which `names` are relative to */
    char **names;            /* count; else an example is called by its origin */
    char **class_names;      /* classes; else a class is called by its number */
    example_column *columns; /* groups, patients and so on */
    int column_count;
    pixel_sums *sums;   /* count; of picture files */
    raster_greys greys; /* by which picture files of 16 bits are read */
} labelled_images;

typedef struct labelled_images_shape {
    int64_t count;
    int height, width, channels, classes;
} labelled_images_shape;

/* Memory for a set of this shape, with origins 0, 1, 2... Pixels and labels are the caller's to fill. */
status_code labelled_images_open(labelled_images *set, const labelled_images_shape *shape, failure *failure);

/* The same around pixels and labels (which may be NULL) that are there already, from memory_open: they become the
   set's, and are closed if this fails. */
status_code labelled_images_adopt(labelled_images *set, const labelled_images_shape *shape, uint8_t *pixels,
                                  uint8_t *labels, failure *failure);

/* Accepts what was never opened, if it is zero. Leaves zeros. */
void labelled_images_close(labelled_images *set);

/* Bytes of one image. */
static inline size_t labelled_images_stride(const labelled_images *set) {
    return (size_t)set->height * (size_t)set->width * (size_t)set->channels;
}

/* Of a set that has its pixels in memory. */
static inline const uint8_t *labelled_images_at(const labelled_images *set, int64_t index) {
    return set->pixels + (size_t)index * labelled_images_stride(set);
}

/* Whether every image must be decoded when it is wanted. */
static inline int labelled_images_is_lazy(const labelled_images *set) { return !set->pixels && !set->values; }

/* Where a picture is: below its set's folder, unless its name is an absolute path. */
status_code labelled_images_path(char path[PATH_SIZE], const char *folder, const char *name, failure *failure);

/* Copies the pixels of an image, or decodes its file. Not for tables. */
status_code labelled_images_copy(const labelled_images *set, int64_t index, uint8_t *pixels, failure *failure);

/* Decodes its file, wherever the pixels are. The facts, which may be NULL, are those of the file. */
status_code labelled_images_decode(const labelled_images *set, int64_t index, uint8_t *pixels, raster_facts *facts,
                                   failure *failure);

/* Writes an image as a PNG file; does nothing where there is nothing that could be shown: tables,
   other than 1 or 3 channels. */
status_code labelled_images_save(const labelled_images *set, int64_t index, const char *path, failure *failure);

/* The column of this name; NULL if there is none. */
const example_column *labelled_images_column(const labelled_images *set, const char *name);

/* Adds the names of all columns, for messages: "group, sex", or "none". */
void labelled_images_column_names(const labelled_images *set, text *names);

/* Adds the name of an example or class, its number where it has none. */
void labelled_images_name(const labelled_images *set, int64_t index, text *name);
void labelled_images_class_name(const labelled_images *set, int class_label, text *name);

/* The same as a field of a table, without a comma. */
void labelled_images_name_field(const labelled_images *set, int64_t index, text *csv);
void labelled_images_class_field(const labelled_images *set, int class_label, text *csv);

int64_t labelled_images_count_class(const labelled_images *set, int class_label);

/*
 * Keeps floor(fraction x count) examples of one class, chosen by the seed, and all of the others; the order
 * stays. With one seed a smaller fraction keeps a subset of what a larger one keeps. Fails, and changes nothing,
 * when there is no such class, the fraction is not in [0, 1], or nothing would be left, of all or, unless the
 * fraction is 0, of the class.
 */
status_code labelled_images_keep(labelled_images *set, int class_label, double fraction, uint64_t seed,
                                 failure *failure);

/* The same for a part that is named: a class by its name or number ("virus", "3"), or a group as COLUMN:VALUE. */
status_code labelled_images_keep_named(labelled_images *set, const char *part, double fraction, uint64_t seed,
                                       failure *failure);

/* Leaves the examples out for which `dropped` is not 0; the order of the others stays. */
void labelled_images_leave_out(labelled_images *set, const uint8_t *dropped);

typedef struct share_off {
    double share;
    uint64_t seed;
} share_off;

/*
 * Moves a share of each class, chosen by the seed, into another set: the nearest whole number of examples, but at
 * least one of every class that has two, and never the last one. Where there is a column `patient`, a patient's
 * examples move together (images/example_units.h). The listener, which may be NULL, hears of classes of which nothing
 * is moved. Fails, and changes nothing, when the share is not above 0 and below 1, no example could be moved, or
 * nothing of a class would be left.
 */
status_code labelled_images_split_off(labelled_images *set, const share_off *share, labelled_images *part,
                                      const listener *listener, failure *failure);

/* CRC-64 of shape, classes, labels, origins and pixels: a resumed run compares it to know that its data are the same.
   The same on every machine. */
uint64_t labelled_images_fingerprint(const labelled_images *set);

#endif
