#include "report/case_viewer.h"

#include "evaluate/case_colours.h"
#include "picture/png.h"
#include "report/html.h"

#include <stdlib.h>

static void add_picture(text *page, const uint8_t *pixels, const slices *slices, png_colour colour) {
    text bytes = {0};
    const size_t height = (size_t)slices->height * (size_t)slices->count;
    text_add(page, "url(data:image/png;base64,");
    if (png_encode(&bytes, pixels, (size_t)slices->width, height, colour)) html_base64(page, bytes.bytes, bytes.size);
    else page->failed = 1;
    text_add(page, ")");
    text_close(&bytes);
}

/* `overlay` NULL: the image itself. */
static void add_slices(text *page, const case_volume *shown, const slices *slices, const overlay *overlay) {
    const size_t area = (size_t)slices->width * (size_t)slices->height, depth = overlay ? 4 : 1;
    uint8_t *pixels = malloc(area * (size_t)slices->count * depth);
    if (!pixels) {
        page->failed = 1;
        return;
    }
    for (size_t k = 0; k < area * (size_t)slices->count; k++) {
        const int row = (int)(k % area / (size_t)slices->width), column = (int)(k % (size_t)slices->width);
        const size_t at = slices_voxel(shown, slices, (int)(k / area), row, column);
        if (overlay) overlay_pixel(shown, *overlay, at, pixels + 4 * k);
        else pixels[k] = shown->grey[at];
    }
    add_picture(page, pixels, slices, overlay ? PNG_RGBA : PNG_GREY);
    free(pixels);
}

static void add_view(text *page, const case_viewer *viewer, const slices *slices, const overlay *overlay,
                     const char *words, const char *method) {
    text_add(page, "<figure><div class=\"view\" role=\"img\" aria-label=\"");
    html_escape(page, viewer->name);
    text_format(page, ": %s ", words);
    html_escape(page, method);
    text_add(page, "\" style=\"background-image:");
    if (overlay) {
        add_slices(page, viewer->shown, slices, overlay);
        text_add(page, ",");
    }
    text_format(page, "var(--image)\"></div><figcaption>%s%s", words, *method ? " " : "");
    html_escape(page, method);
    text_add(page, "</figcaption></figure>\n");
}

static void add_plane(text *page, const case_viewer *viewer, int axis) {
    const case_volume *shown = viewer->shown;
    const slices slices = case_volume_slices(shown, axis);
    const int telling = case_volume_telling(shown, &slices);
    const double aspect = slices.width * shown->spacing[slices.across] / (slices.height * shown->spacing[slices.down]);
    text_format(page,
                "<div class=\"plane\" style=\"--count:%d;--last:%d;--slice:%d;--aspect:%.4f;--image:", slices.count,
                slices.count > 1 ? slices.count - 1 : 1, telling, aspect);
    add_slices(page, shown, &slices, NULL);
    text_format(page, "\">\n<label>slice <output>%d</output> of %d along %c ", telling + 1, slices.count, "xyz"[axis]);
    text_format(page, "<input type=\"range\" min=\"0\" max=\"%d\" value=\"%d\"%s></label>\n<div class=\"views\">\n",
                slices.count - 1, telling, slices.count > 1 ? "" : " disabled");
    add_view(page, viewer, &slices, NULL, "image", "");
    add_view(page, viewer, &slices, &(overlay){OVERLAY_LABELS, 0}, "reference", "");
    for (int k = 0; k < shown->methods; k++) {
        add_view(page, viewer, &slices, &(overlay){OVERLAY_LABELS, k + 1}, "prediction", viewer->methods[k]);
        add_view(page, viewer, &slices, &(overlay){OVERLAY_ERRORS, k + 1}, "errors", viewer->methods[k]);
    }
    text_add(page, "</div>\n</div>\n");
}

static void add_swatch(text *page, const uint8_t colour[3], const char *words, const char *meaning) {
    text_format(page, "<li%s%s%s><i style=\"background:rgb(%d %d %d)\"></i>", meaning ? " title=\"" : "",
                meaning ? meaning : "", meaning ? "\"" : "", colour[0], colour[1], colour[2]);
    html_escape(page, words);
    text_add(page, "</li>");
}

void case_viewer_error_legend(text *page) {
    text_add(page, "<ul class=\"swatches\" aria-label=\"errors\">");
    for (int k = 0; k < CASE_ERRORS; k++) {
        text words = {0};
        text_format(&words, "%s: %s", case_error_at(k)->word, case_error_at(k)->meaning);
        add_swatch(page, case_error_at(k)->colour, text_string(&words), NULL);
        text_close(&words);
    }
    text_add(page, "</ul>\n");
}

void case_viewer_write(text *page, const case_viewer *viewer) {
    const case_volume *shown = viewer->shown;
    const int first = case_volume_widest(shown); /* the plane with the best resolution comes first */
    text_add(page, "<ul class=\"swatches\" aria-label=\"labels\">");
    for (int k = 0; k < shown->label_count; k++) add_swatch(page, case_label_colour(k), viewer->label_names[k], NULL);
    text_add(page, "</ul>\n");
    add_plane(page, viewer, first);
    text_add(page, "<div class=\"side\">\n");
    for (int axis = 2; axis >= 0; axis--)
        if (axis != first) add_plane(page, viewer, axis);
    text_add(page, "</div>\n");
    if (shown->step[0] * shown->step[1] * shown->step[2] > 1)
        text_format(page, "<p class=\"note\">The pictures show every voxel of %d x %d x %d.</p>\n", shown->step[0],
                    shown->step[1], shown->step[2]);
}
