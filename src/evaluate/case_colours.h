/* What the labels of a case and its errors look like, in pages and pictures alike. */
#ifndef HWS_EVALUATE_CASE_COLOURS_H
#define HWS_EVALUATE_CASE_COLOURS_H

#include "evaluate/case_volume.h"
#include "evaluate/regions.h"

/* Of a position in case_volume's values. */
const uint8_t *case_label_colour(int position);

/* What people call a value of the label maps: the region that is made of it alone, or its number. */
void case_label_name(const region_list *regions, int16_t value, char words[REGION_NAME_BYTES]);

enum { CASE_ERRORS = 3 };
typedef struct case_error {
    uint8_t colour[3];
    const char *word, *meaning;
} case_error;
const case_error *case_error_at(int kind);

/* What is laid over the image: the labels of a map, or where it is wrong. */
typedef enum overlay_kind { OVERLAY_LABELS, OVERLAY_ERRORS } overlay_kind;
typedef struct overlay {
    overlay_kind kind;
    int map; /* of case_volume's labels */
} overlay;

/* Red, green, blue and how opaque, of a voxel. */
void overlay_pixel(const case_volume *shown, overlay overlay, size_t at, uint8_t pixel[4]);

#endif
