/*
 * A table of text, and how it looks on a terminal, in CSV, Markdown and LaTeX.
 *
 * The first columns hold words and are set flush left, the others numbers, flush right.
 */
#ifndef HWS_EVALUATE_TABLE_H
#define HWS_EVALUATE_TABLE_H

#include "core/failure.h"
#include "core/printf_like.h"
#include "core/text.h"

#include <stddef.h>

typedef enum table_format { TABLE_TEXT, TABLE_CSV, TABLE_MARKDOWN, TABLE_LATEX, TABLE_JSON } table_format;

enum { TABLE_CELL_BYTES = 128 };

typedef struct table_cell {
    char words[TABLE_CELL_BYTES]; /* longer ones are cut */
    int bold;                     /* the best of its kind; on a terminal a star follows */
} table_cell;

typedef struct table {
    char title[256];
    size_t columns, word_columns; /* the first of which hold words */
    size_t rows;
    table_cell *cells;    /* (rows + 1) * columns; the header first */
    unsigned char *ruled; /* whether a line is drawn above each row */
    int failed;           /* an allocation failed: table_write says so */
} table;

/* A table with its header only. `headings` are separated by `|`. Cells are written to by table_put. */
void table_open(table *table, const char *title, size_t word_columns, const char *headings);
void table_close(table *table);

/* A new, empty row; with a line above it or not. */
void table_add_row(table *table, int ruled);

/* Sets a cell of the last row. */
void table_put(table *table, size_t column, const char *format, ...) PRINTF_LIKE(3, 4);

/* Sets a cell of the last row to a p-value; NaN is a dash. */
void table_put_p(table *table, size_t column, double p);

/* The cell of a row, header not counted. */
table_cell *table_at(table *table, size_t row, size_t column);

/* "text", "csv", "md", "latex" or "json"; returns 0 for another word. */
int table_format_parse(const char *word, table_format *format);

/* Adds the table to a text, in any format but JSON. LaTeX needs the package booktabs. */
status_code table_write(const table *table, table_format format, text *out, failure *failure);

#endif
