#include "evaluate/table.h"

#include "core/csv.h"
#include "core/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_headings(const char *headings) {
    size_t count = 1;
    for (; *headings; headings++) count += *headings == '|';
    return count;
}

static int grow(table *table) {
    table_cell *cells = realloc(table->cells, (table->rows + 2) * table->columns * sizeof *cells);
    if (cells) table->cells = cells;
    unsigned char *ruled = realloc(table->ruled, table->rows + 2);
    if (ruled) table->ruled = ruled;
    if (cells && ruled) return 1;
    table->failed = 1;
    return 0;
}

void table_open(table *table, const char *title, size_t word_columns, const char *headings) {
    *table = (struct table){.columns = count_headings(headings), .word_columns = word_columns};
    snprintf(table->title, sizeof table->title, "%s", title);
    if (!grow(table)) return;
    memset(table->cells, 0, table->columns * sizeof *table->cells);
    for (size_t column = 0; column < table->columns; column++) {
        const size_t length = strcspn(headings, "|");
        snprintf(table->cells[column].words, TABLE_CELL_BYTES, "%.*s", (int)length, headings);
        headings += length + 1;
    }
}

void table_close(table *table) {
    free(table->cells);
    free(table->ruled);
    *table = (struct table){0};
}

void table_add_row(table *table, int ruled) {
    if (table->failed || !grow(table)) return;
    table->rows++;
    memset(table->cells + table->rows * table->columns, 0, table->columns * sizeof *table->cells);
    table->ruled[table->rows] = (unsigned char)ruled;
}

table_cell *table_at(table *table, size_t row, size_t column) {
    return &table->cells[(row + 1) * table->columns + column];
}

void table_put(table *table, size_t column, const char *format, ...) {
    if (table->failed) return;
    va_list arguments;
    va_start(arguments, format);
    char *words = table_at(table, table->rows - 1, column)->words;
    utf8_mend(words, TABLE_CELL_BYTES, (size_t)vsnprintf(words, TABLE_CELL_BYTES, format, arguments));
    va_end(arguments);
}

void table_put_p(table *table, size_t column, double p) {
    if (isnan(p)) table_put(table, column, "-");
    else table_put(table, column, p >= 0.001 ? "%.3f" : "%.1e", p);
}

int table_format_parse(const char *word, table_format *format) {
    static const char *const words[] = {"text", "csv", "md", "latex", "json"};
    for (int k = 0; k < 5; k++) {
        if (strcmp(word, words[k]) != 0) continue;
        *format = (table_format)k;
        return 1;
    }
    return 0;
}

static const table_cell *cell_of(const table *table, size_t line, size_t column) {
    return &table->cells[line * table->columns + column];
}

static size_t column_width(const table *table, size_t column) {
    size_t widest = 0;
    for (size_t line = 0; line <= table->rows; line++) {
        const size_t width = utf8_letters(cell_of(table, line, column)->words);
        if (width > widest) widest = width;
    }
    return widest;
}

static int has_bold(const table *table, size_t column) {
    for (size_t line = 0; line <= table->rows; line++)
        if (cell_of(table, line, column)->bold) return 1;
    return 0;
}

static void add_spaces(text *out, size_t count) {
    while (count-- > 0) text_add(out, " ");
}

/* The star stands behind the number, where the others have a space, so that digits stay below digits. */
static void add_text_cell(const table *table, size_t line, size_t column, size_t width, int starred, text *out) {
    const table_cell *cell = cell_of(table, line, column);
    const char *star = cell->bold ? "*" : starred ? " " : "";
    const size_t used = utf8_letters(cell->words) + strlen(star);
    const size_t padding = width > used ? width - used : 0;
    if (column >= table->word_columns) add_spaces(out, padding);
    text_format(out, "%s%s", cell->words, star);
    if (column < table->word_columns && column + 1 < table->columns) add_spaces(out, padding);
}

static void add_text_line(const table *table, size_t line, text *out) {
    text words = {0};
    for (size_t column = 0; column < table->columns; column++) {
        const int starred = has_bold(table, column);
        if (column) text_add(&words, "  ");
        add_text_cell(table, line, column, column_width(table, column) + (size_t)starred, starred, &words);
    }
    size_t length = words.size;
    while (length > 0 && words.bytes[length - 1] == ' ') length--;
    text_add_bytes(out, text_string(&words), length);
    text_add(out, "\n");
    out->failed |= words.failed;
    text_close(&words);
}

static void write_text(const table *table, text *out) {
    size_t total = 0;
    if (*table->title) text_format(out, "%s\n", table->title);
    for (size_t column = 0; column < table->columns; column++)
        total += column_width(table, column) + (size_t)has_bold(table, column) + (column ? 2 : 0);
    for (size_t line = 0; line <= table->rows; line++) {
        if (line == 1 || (line > 1 && table->ruled[line])) {
            for (size_t k = 0; k < total; k++) text_add(out, "-");
            text_add(out, "\n");
        }
        add_text_line(table, line, out);
    }
}

static void write_csv(const table *table, text *out) {
    for (size_t line = 0; line <= table->rows; line++) {
        for (size_t column = 0; column < table->columns; column++) {
            if (column) text_add(out, ",");
            csv_add_field(out, cell_of(table, line, column)->words);
        }
        text_add(out, "\n");
    }
}

static void add_markdown(text *out, const char *words) {
    for (; *words; words++) {
        if (strchr("|\\`*_<>", *words)) text_add(out, "\\");
        text_add_bytes(out, words, 1);
    }
}

static void write_markdown(const table *table, text *out) {
    if (*table->title) {
        text_add(out, "**");
        add_markdown(out, table->title);
        text_add(out, "**\n\n");
    }
    for (size_t line = 0; line <= table->rows; line++) {
        for (size_t column = 0; column < table->columns; column++) {
            const table_cell *cell = cell_of(table, line, column);
            text_add(out, cell->bold ? "| **" : "| ");
            add_markdown(out, cell->words);
            text_add(out, cell->bold ? "** " : " ");
        }
        text_add(out, "|\n");
        for (size_t column = 0; line == 0 && column < table->columns; column++)
            text_format(out, "|%s%s",
                        column < table->word_columns ? "---" : "---:", column + 1 == table->columns ? "|\n" : "");
    }
}

static void add_latex(text *out, const char *words) {
    for (; *words; words++) {
        if (*words == '\\') text_add(out, "\\textbackslash{}");
        else if (*words == '~' || *words == '^') text_format(out, "\\%c{}", *words);
        else if (strchr("&%$#_{}", *words)) text_format(out, "\\%c", *words);
        else text_add_bytes(out, words, 1);
    }
}

static void write_latex(const table *table, text *out) {
    text_add(out, "\\begin{table}\n  \\centering\n  \\caption{");
    add_latex(out, table->title);
    text_add(out, "}\n  \\begin{tabular}{");
    for (size_t column = 0; column < table->columns; column++) text_add(out, column < table->word_columns ? "l" : "r");
    text_add(out, "}\n    \\toprule\n");
    for (size_t line = 0; line <= table->rows; line++) {
        if (line == 1 || (line > 1 && table->ruled[line])) text_add(out, "    \\midrule\n");
        for (size_t column = 0; column < table->columns; column++) {
            const table_cell *cell = cell_of(table, line, column);
            text_add(out, column ? " & " : "    ");
            text_add(out, cell->bold ? "\\textbf{" : "");
            add_latex(out, cell->words);
            text_add(out, cell->bold ? "}" : "");
        }
        text_add(out, " \\\\\n");
    }
    text_add(out, "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n");
}

status_code table_write(const table *table, table_format format, text *out, failure *failure) {
    if (table->failed) return fail_memory(failure, "a table");
    switch (format) {
    case TABLE_TEXT: write_text(table, out); break;
    case TABLE_CSV: write_csv(table, out); break;
    case TABLE_MARKDOWN: write_markdown(table, out); break;
    case TABLE_LATEX: write_latex(table, out); break;
    case TABLE_JSON: return fail(failure, STATUS_BAD_INPUT, "this table is not written as JSON");
    }
    return out->failed ? fail_memory(failure, "a table") : STATUS_OK;
}
