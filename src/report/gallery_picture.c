#include "report/gallery_picture.h"

#include "core/whole_file.h"
#include "picture/png.h"
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

enum { THUMBNAIL = 64, SHOWN_ALONE = 36, SHOWN_AMONG_OTHERS = 12 };
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

/* A case has no class that it could be taken for: its prediction is in words. */
static void add_words(text *page, const char *words) {
    if (!*words) return;
    text_add(page, "<span>");
    html_escape(page, words);
    text_add(page, "</span>");
}

void gallery_verdict(text *page, const run *run, const char *label, const char *prediction) {
    if (run->is_segmentation) return add_words(page, prediction);
    if (!*label && !*prediction) return;
    const int wrong = strcmp(label, prediction) != 0;
    text_format(page, "<b class=\"%s\">", wrong ? "wrong" : "right");
    html_escape(page, run_class_name(run, label));
    if (wrong && *prediction) {
        text_add(page, " <span aria-label=\"taken for\">\xE2\x86\x92</span> ");
        html_escape(page, run_class_name(run, prediction));
    }
    text_add(page, "</b>");
}

static int is_number(const char *example) { return example[strspn(example, "0123456789")] == 0; }

void gallery_identity(text *page, const char *open, const char *close, const char *example) {
    const int is_case = *close == 'b';
    text_format(page, "<%s>%s", open, !is_case && is_number(example) ? "#" : "");
    html_escape(page, is_case ? example : path_name(example));
    text_format(page, "</%s>", close);
}

/* ---- cards ------------------------------------------------------------------------------------------------------- */

static void add_cards(text *page, const run *run, const gallery_list *list, size_t from, size_t to) {
    /* Names of files need more room than numbers. */
    const char *size = run->is_segmentation ? " large" : is_number(run_cell(list->table, 0, "example")) ? "" : " named";
    text_format(page, "<ul class=\"gallery%s\">\n", size);
    for (size_t k = from; k < to; k++) list->add(page, run, list->rows ? list->rows[k] : k);
    text_add(page, "</ul>\n");
}

void gallery_cards(text *page, const runs *runs, const run *run, const gallery_list *list) {
    const size_t limit = runs->count > 1 ? SHOWN_AMONG_OTHERS : SHOWN_ALONE,
                 all = list->count < GALLERY_MOST ? list->count : GALLERY_MOST;
    const size_t shown = all < limit ? all : limit;
    if (shown) add_cards(page, run, list, 0, shown);
    if (all == shown) return;
    text_format(page, "<details><summary>%zu more</summary>\n", all - shown);
    add_cards(page, run, list, shown, all);
    text_add(page, "</details>\n");
}
