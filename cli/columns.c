#include "columns.h"
#include "cli.h"

#include "core/csv.h"
#include "core/utf8.h"

static const char GAP[] = "...";
enum {
    GAP_LETTERS = sizeof GAP - 1,
    HEAD = (CLI_CELL_MAX - GAP_LETTERS) / 2,
    TAIL = CLI_CELL_MAX - GAP_LETTERS - HEAD
};

static int shown_letters(const char *cell) {
    const size_t letters = utf8_letters(cell);
    return letters < CLI_CELL_MAX ? (int)letters : CLI_CELL_MAX;
}

void cli_widen(int *widths, const char *const *cells, int count) {
    for (int k = 0; k < count; k++)
        if (widths[k] < shown_letters(cells[k])) widths[k] = shown_letters(cells[k]);
}

/* Names of files differ at their ends, and folders at their beginnings: both stay. */
static void add_cut(text *line, const char *cell) {
    const size_t letters = utf8_letters(cell);
    if (letters <= CLI_CELL_MAX) return text_add(line, cell);
    text_add_bytes(line, cell, utf8_first(cell, HEAD));
    text_add(line, GAP);
    text_add(line, cell + utf8_first(cell, letters - TAIL));
}

void cli_print_row(const int *widths, const char *const *cells, int count) {
    text line = {0};
    for (int k = 0; k < count; k++) {
        if (k) text_add(&line, widths ? " " : ",");
        if (!widths) csv_add_field(&line, cells[k]);
        else text_format(&line, "%*s", widths[k] - shown_letters(cells[k]), ""), add_cut(&line, cells[k]);
    }
    cli_print(&line);
}
