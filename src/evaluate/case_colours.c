#include "evaluate/case_colours.h"

#include <stdio.h>

const uint8_t *case_label_colour(int position) {
    /* Twelve colours that are told apart on grey (Okabe and Ito's first, then others). */
    static const uint8_t COLOURS[CASE_VOLUME_LABELS][3] = {
        {230, 159, 0}, {86, 180, 233}, {0, 200, 130},   {240, 228, 66},  {204, 121, 167}, {213, 94, 0},
        {0, 114, 255}, {160, 220, 40}, {255, 150, 150}, {150, 120, 255}, {0, 220, 220},   {200, 170, 120}};
    return COLOURS[position];
}

void case_label_name(const region_list *regions, int16_t value, char words[REGION_NAME_BYTES]) {
    const region alone = {.count = 1, .labels = {value}};
    const long found = regions_find(regions, &alone);
    if (found >= 0) snprintf(words, REGION_NAME_BYTES, "%s", regions->regions[found].name);
    else snprintf(words, REGION_NAME_BYTES, "label %d", value);
}

enum { MISSED, MADE_UP, MIXED_UP };
enum { FILLED = 150, WRONG = 220 }; /* how opaque overlays are, of 255 */

const case_error *case_error_at(int kind) {
    static const case_error ERRORS[CASE_ERRORS] = {
        {{255, 212, 0}, "missed", "a label of the reference where the prediction has none"},
        {{255, 59, 48}, "made up", "a label where the reference has none"},
        {{255, 79, 216}, "mixed up", "another label than the reference's"}};
    return &ERRORS[kind];
}

void overlay_pixel(const case_volume *shown, overlay overlay, size_t at, uint8_t pixel[4]) {
    const int label = shown->labels[overlay.map][at], reference = shown->labels[0][at];
    const uint8_t *colour = NULL;
    if (overlay.kind == OVERLAY_LABELS && label) colour = case_label_colour(label - 1);
    if (overlay.kind == OVERLAY_ERRORS && label != reference)
        colour = case_error_at(!label ? MISSED : !reference ? MADE_UP : MIXED_UP)->colour;
    for (int c = 0; c < 3; c++) pixel[c] = colour ? colour[c] : 0;
    pixel[3] = colour ? overlay.kind == OVERLAY_LABELS ? FILLED : WRONG : 0;
}
