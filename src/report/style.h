/* How runs differ to the eye: by colour (classes of page.css), by dash and by marker. The three repeat after 8, 6 and 6
   runs, together after 24. */
#ifndef HWS_REPORT_STYLE_H
#define HWS_REPORT_STYLE_H

#include "core/text.h"

enum { STYLE_COLOURS = 8 };

/* The class of the colour: 0 to 7. */
int style_colour(int style);

/* The value of stroke-dasharray. */
const char *style_dash(int style);

/* A marker around x, y of some `size` units to each side, in the colour of its parent. `title`
   (escaped) may be NULL. */
void style_marker(text *page, int style, double x, double y, double size, const char *title);

/* A list of runs with their line and marker. */
void style_legend(text *page, const char *const *names, const int *styles, size_t count);

#endif
