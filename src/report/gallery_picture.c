#include "report/gallery_picture.h"

#include "core/whole_file.h"
#include "picture/png.h"
#include "report/html.h"

#include <stdlib.h>

enum { THUMBNAIL = 64 };
static const size_t LARGEST_PICTURE = (size_t)4 << 20;

/* Small ones are enlarged without smoothing, so that every pixel can be seen. */
void gallery_picture(text *page, const run *run, run_file pictures, const char *example) {
    char *bytes = NULL, path[PATH_SIZE];
    size_t size = 0;
    unsigned width, height;
    if (*example && run_picture_path(path, run->folder, pictures, example, NULL) == STATUS_OK &&
        whole_file_read(path, LARGEST_PICTURE, &bytes, &size, NULL) == STATUS_OK &&
        png_size(bytes, size, &width, &height)) {
        text_format(page, "<img class=\"%s\" alt=\"Example ", width <= THUMBNAIL ? "pixels" : "picture");
        html_escape(page, example);
        text_format(page, "\" width=\"%u\" height=\"%u\" src=\"data:image/png;base64,", width, height);
        html_base64(page, bytes, size);
        text_add(page, "\">");
    } else {
        text_add(page, "<span class=\"nopicture\">no picture</span>");
    }
    free(bytes);
}
