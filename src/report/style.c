#include "report/style.h"

#include "report/html.h"

int style_colour(int style) { return style % STYLE_COLOURS; }

const char *style_dash(int style) {
    static const char *const DASHES[] = {"none", "7 3", "2 2.5", "9 3 2 3", "13 4", "5 2 1.5 2 1.5 2"};
    return DASHES[style % 6];
}

static void shape(text *page, int style, double x, double y, double r) {
    switch (style % 6) {
    case 0: text_format(page, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x, y, r); break;
    case 1: /* a square of about the circle's area */
        text_format(page, "<path d=\"M%.1f %.1fh%.1fv%.1fh%.1fz\"", x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r,
                    -1.76 * r);
        break;
    case 2:
        text_format(page, "<path d=\"M%.1f %.1fL%.1f %.1fH%.1fz\"", x, y - 1.2 * r, x + 1.15 * r, y + 0.85 * r,
                    x - 1.15 * r);
        break;
    case 3:
        text_format(page, "<path d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1fz\"", x, y - 1.3 * r, x + 1.3 * r, y, x,
                    y + 1.3 * r, x - 1.3 * r, y);
        break;
    case 4:
        text_format(page, "<path d=\"M%.1f %.1fL%.1f %.1fH%.1fz\"", x, y + 1.2 * r, x + 1.15 * r, y - 0.85 * r,
                    x - 1.15 * r);
        break;
    default: /* a plus */
        text_format(page, "<path d=\"M%.1f %.1fh%.1fv%.1fh%.1fv%.1fh%.1fv%.1fh%.1fv%.1fh%.1fv%.1fh%.1fz\"", x - r / 2.5,
                    y - 1.25 * r, 0.8 * r, 0.85 * r, 0.85 * r, 0.8 * r, -0.85 * r, 0.85 * r, -0.8 * r, -0.85 * r,
                    -0.85 * r, -0.8 * r, 0.85 * r);
    }
}

void style_marker(text *page, int style, double x, double y, double size, const char *title) {
    shape(page, style, x, y, size);
    text_add(page, " class=\"mark\">");
    if (title) text_format(page, "<title>%s</title>", title);
    text_add(page, style % 6 == 0 ? "</circle>" : "</path>");
}

void style_legend(text *page, const char *const *names, const int *styles, size_t count) {
    text_add(page, "<ul class=\"legend\" aria-label=\"Runs\">");
    for (size_t k = 0; k < count; k++) {
        text_format(page,
                    "<li><svg class=\"s%d\" viewBox=\"0 0 34 12\" width=\"34\" height=\"12\" aria-hidden=\"true\">"
                    "<path class=\"line\" stroke-dasharray=\"%s\" d=\"M1 6H33\"/>",
                    style_colour(styles[k]), style_dash(styles[k]));
        style_marker(page, styles[k], 17, 6, 3.4, NULL);
        text_add(page, "</svg>");
        html_escape(page, names[k]);
        text_add(page, "</li>");
    }
    text_add(page, "</ul>\n");
}
