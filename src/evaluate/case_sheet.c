#include "evaluate/case_sheet.h"

#include "evaluate/case_colours.h"
#include "picture/letters.h"
#include "picture/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 190, GAP = 6, VIEWS = 4, LINE = LETTER_HEIGHT + 8, SWATCH = 12 };
static const uint8_t PAPER[3] = {18, 18, 22}, INK[3] = {225, 225, 225};

/* Where everything lies, in pixels. */
typedef struct layout {
    int axes[3];                /* the planes in their order */
    int width[3], height[3];    /* of a cell of each */
    int column, top[3], legend; /* the width of all columns, where rows and the legend begin */
    size_t sheet_width, sheet_height;
} layout;

typedef struct drawing {
    const case_sheet *sheet;
    const layout *layout; /* NULL: nothing is drawn, only measured */
    raster_target target;
    size_t x, y; /* where the next words go */
} drawing;

/* ---- words that flow into lines ---- */

static void fill_box(const raster_target *target, size_t x, size_t y, const uint8_t colour[3]) {
    for (size_t row = y; row < y + SWATCH && row < target->height; row++)
        for (size_t column = x; column < x + SWATCH && column < target->width; column++)
            memcpy(target->pixels + 3 * (row * target->width + column), colour, 3);
}

static void end_line(drawing *d) {
    d->x = GAP;
    d->y += LINE;
}

/* `colour` NULL: without a box of it before. */
static void add_words(drawing *d, const uint8_t *colour, const char *words) {
    const size_t before = colour ? SWATCH + 4 : 0, width = before + letters_width(words);
    if (d->x > GAP && d->x + width > d->target.width) end_line(d);
    if (d->layout && colour) fill_box(&d->target, d->x, d->y, colour);
    if (d->layout) letters_draw(&d->target, d->x + before, d->y + (SWATCH - LETTER_HEIGHT) / 2, words);
    d->x += width + 3 * LETTER_ADVANCE;
}

static void add_title(drawing *d) {
    const case_sheet *sheet = d->sheet;
    char words[REGION_NAME_BYTES + 32];
    add_words(d, NULL, sheet->name);
    for (size_t k = 0; k < sheet->regions->count; k++) {
        if (isnan(sheet->dice[k])) snprintf(words, sizeof words, "%s: Dice -", sheet->regions->regions[k].name);
        else snprintf(words, sizeof words, "%s: Dice %.1f %%", sheet->regions->regions[k].name, 100 * sheet->dice[k]);
        add_words(d, NULL, words);
    }
    end_line(d);
}

static void add_legend(drawing *d) {
    const case_volume *shown = d->sheet->shown;
    char words[REGION_NAME_BYTES];
    for (int k = 0; k < shown->label_count; k++) {
        case_label_name(d->sheet->regions, shown->values[k], words);
        add_words(d, case_label_colour(k), words);
    }
    end_line(d);
    for (int k = 0; k < CASE_ERRORS; k++) add_words(d, case_error_at(k)->colour, case_error_at(k)->word);
    end_line(d);
}

/* ---- where everything lies ---- */

static size_t lines_of(const case_sheet *sheet, size_t width, void (*add)(drawing *d)) {
    drawing d = {.sheet = sheet, .target = {.width = width}, .x = GAP};
    add(&d);
    return d.y;
}

static void place_planes(const case_volume *shown, layout *l) {
    double longest = 0;
    l->axes[0] = case_volume_widest(shown);
    l->axes[1] = l->axes[0] == 2 ? 1 : 2;
    l->axes[2] = l->axes[0] == 0 ? 1 : 0;
    for (int axis = 0; axis < 3; axis++) longest = fmax(longest, shown->size[axis] * shown->spacing[axis]);
    for (int row = 0; row < 3; row++) {
        const slices s = case_volume_slices(shown, l->axes[row]);
        l->width[row] = (int)fmax(1, round(CELL * s.width * shown->spacing[s.across] / longest));
        l->height[row] = (int)fmax(1, round(CELL * s.height * shown->spacing[s.down] / longest));
        if (l->width[row] > l->column) l->column = l->width[row];
    }
}

static layout place(const case_sheet *sheet) {
    layout l = {0};
    place_planes(sheet->shown, &l);
    l.sheet_width = (size_t)(VIEWS * (l.column + GAP) + GAP);
    int y = GAP + (int)lines_of(sheet, l.sheet_width, add_title) + LINE; /* and a line that names the columns */
    for (int row = 0; row < 3; row++) {
        l.top[row] = y;
        y += l.height[row] + GAP;
    }
    l.legend = y + GAP;
    l.sheet_height = (size_t)l.legend + lines_of(sheet, l.sheet_width, add_legend) + GAP;
    return l;
}

/* ---- the planes ---- */

/* `view`: the image, the reference, the prediction, its errors. */
static void draw_pixel(const case_volume *shown, int view, size_t at, uint8_t *pixel) {
    uint8_t over[4] = {0};
    if (view) overlay_pixel(shown, (overlay){view == 3 ? OVERLAY_ERRORS : OVERLAY_LABELS, view > 1}, at, over);
    for (int c = 0; c < 3; c++) pixel[c] = (uint8_t)((over[c] * over[3] + shown->grey[at] * (255 - over[3])) / 255);
}

static void draw_plane(const drawing *d, int row) {
    const case_volume *shown = d->sheet->shown;
    const layout *l = d->layout;
    const slices s = case_volume_slices(shown, l->axes[row]);
    const int slice = case_volume_telling(shown, &s);
    for (int view = 0; view < VIEWS; view++)
        for (int y = 0; y < l->height[row]; y++)
            for (int x = 0; x < l->width[row]; x++) {
                const size_t left = (size_t)(GAP + view * (l->column + GAP) + x), top = (size_t)(l->top[row] + y);
                const size_t at =
                    slices_voxel(shown, &s, slice, y * s.height / l->height[row], x * s.width / l->width[row]);
                draw_pixel(shown, view, at, d->target.pixels + 3 * (top * l->sheet_width + left));
            }
}

static void draw(drawing *d) {
    static const char *const NAMES[VIEWS] = {"image", "reference", "prediction", "errors"};
    const layout *l = d->layout;
    for (size_t k = 0; k < l->sheet_width * l->sheet_height; k++) memcpy(d->target.pixels + 3 * k, PAPER, 3);
    d->x = d->y = GAP;
    add_title(d);
    for (int view = 0; view < VIEWS; view++)
        letters_draw(&d->target, (size_t)(GAP + view * (l->column + GAP)), (size_t)(l->top[0] - LINE + 3), NAMES[view]);
    for (int row = 0; row < 3; row++) draw_plane(d, row);
    d->x = GAP;
    d->y = (size_t)l->legend;
    add_legend(d);
}

status_code case_sheet_save(const case_sheet *sheet, const char *path, failure *failure) {
    const layout l = place(sheet);
    drawing d = {
        .sheet = sheet,
        .layout = &l,
        .target = {
            malloc(l.sheet_width * l.sheet_height * 3), l.sheet_width, l.sheet_height, {INK[0], INK[1], INK[2]}}};
    if (!d.target.pixels) return fail_memory(failure, "a picture");
    draw(&d);
    const status_code status = png_save(path, d.target.pixels, l.sheet_width, l.sheet_height, PNG_RGB, failure);
    free(d.target.pixels);
    return status;
}
