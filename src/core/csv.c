#define _POSIX_C_SOURCE 200809L
#include "core/csv.h"

#include "core/array.h"
#include "core/whole_file.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const size_t LARGEST_FILE = (size_t)1 << 30;
static const char MARK[] = "\xEF\xBB\xBF"; /* of the byte order, at the front of a file */

typedef struct parser {
    csv *table;
    const char *name;
    char *at, *end;
    size_t line, fields, cell_capacity, line_capacity;
    csv_mode mode;
    failure *failure;
} parser;

static status_code refuse(const parser *p, size_t line, const char *what) {
    return fail(p->failure, STATUS_CORRUPT, "%s, line %zu: %s", p->name, line, what);
}

static int at_line_end(const parser *p) {
    return p->at == p->end || *p->at == '\n' || (*p->at == '\r' && (p->at + 1 == p->end || p->at[1] == '\n'));
}

/* Takes the quotes off in place: what is written never overtakes what is read. */
static status_code parse_quoted(parser *p, char **field, char **stop) {
    const size_t opened = p->line;
    char *to = *field = ++p->at;
    for (;; p->at++) {
        if (p->at == p->end) return refuse(p, opened, "a quoted field is never closed; add the missing quote");
        if (*p->at == '"') {
            if (p->at + 1 == p->end || p->at[1] != '"') break;
            p->at++;
        }
        if (*p->at == '\n') p->line++;
        *to++ = *p->at;
    }
    p->at++;
    *stop = to;
    if (!at_line_end(p) && *p->at != ',')
        return refuse(p, p->line, "text follows a closing quote; separate fields by ,");
    return STATUS_OK;
}

static status_code parse_plain(parser *p, char **field, char **stop) {
    *field = p->at;
    for (; !at_line_end(p) && *p->at != ','; p->at++)
        if (*p->at == '"') return refuse(p, p->line, "a quote inside a field; quote the whole field and double it");
    *stop = p->at;
    return STATUS_OK;
}

/* Moves past what ended the field. Says whether another field of the same line follows. */
static int skip_separator(parser *p) {
    if (p->at == p->end) return 0;
    if (*p->at == ',') return p->at++, 1;
    if (*p->at == '\r') p->at++;
    if (p->at < p->end) p->at++;
    p->line++;
    return 0;
}

static status_code parse_field(parser *p, int *more) {
    char *field = NULL, *stop = NULL;
    const int quoted = p->at < p->end && *p->at == '"';
    const status_code status = quoted ? parse_quoted(p, &field, &stop) : parse_plain(p, &field, &stop);
    if (status != STATUS_OK) return status;
    char **cells = array_grow(p->table->cells, p->fields, &p->cell_capacity, sizeof *cells);
    if (!cells) return fail_memory(p->failure, p->name);
    p->table->cells = cells;
    cells[p->fields++] = field;
    *more = skip_separator(p);
    *stop = 0; /* in the place of the separator or quote just read; behind the last field there is a byte to spare */
    return STATUS_OK;
}

const char *csv_other_separator(const csv *table) {
    if (table->columns != 1) return NULL;
    return strchr(table->cells[0], ';') ? "';'" : strchr(table->cells[0], '\t') ? "tabs" : NULL;
}

static status_code check_header(parser *p) {
    csv *table = p->table;
    table->columns = p->fields;
    if (table->columns > CSV_MAX_COLUMNS) return refuse(p, table->lines[0], "too many columns");
    for (size_t k = 0; k < table->columns; k++) {
        if (!*table->cells[k])
            return fail(p->failure, STATUS_CORRUPT, "%s, line %zu: column %zu has no name; give it one%s", p->name,
                        table->lines[0], k + 1,
                        k ? "" : ", or leave it out, as pandas does with its index if told index=False");
        if (csv_column(table, table->cells[k]) == (long)k) continue;
        return fail(p->failure, STATUS_CORRUPT, "%s, line %zu: two columns are called '%.100s'", p->name,
                    table->lines[0], table->cells[k]);
    }
    return STATUS_OK;
}

static status_code check_row(parser *p, size_t line, size_t before) {
    const size_t fields = p->fields - before, expected = p->table->columns;
    if (fields < expected && p->mode == CSV_LEAVE_OUT_SHORT_ROWS) {
        p->fields = before;
        p->table->left_out++;
        return STATUS_OK;
    }
    if (fields != expected) {
        const char *separator = csv_other_separator(p->table);
        return fail(p->failure, STATUS_CORRUPT, "%s, line %zu: %zu fields where the header has %zu%s%s%s", p->name,
                    line, fields, expected, separator ? "; is the file separated by " : "", separator ? separator : "",
                    separator ? "? Commas are wanted" : "");
    }
    p->table->lines[++p->table->rows] = line;
    return STATUS_OK;
}

static status_code parse_line(parser *p) {
    const size_t line = p->line, before = p->fields;
    if (at_line_end(p)) return (void)skip_separator(p), STATUS_OK;
    for (int more = 1; more;) {
        const status_code status = parse_field(p, &more);
        if (status != STATUS_OK) return status;
    }
    size_t *lines = array_grow(p->table->lines, p->table->rows + 1, &p->line_capacity, sizeof *lines);
    if (!lines) return fail_memory(p->failure, p->name);
    p->table->lines = lines;
    if (before) return check_row(p, line, before);
    p->table->lines[0] = line;
    return check_header(p);
}

/* Takes over `text`, which has a byte to spare behind its end. */
static status_code parse_text(csv *table, const char *name, char *text, size_t size, csv_mode mode, failure *failure) {
    *table = (csv){.text = text};
    text[size] = 0;
    parser p = {
        .table = table, .name = name, .at = text, .end = text + size, .line = 1, .mode = mode, .failure = failure};
    if (strncmp(text, MARK, sizeof MARK - 1) == 0) p.at += sizeof MARK - 1;
    status_code status = STATUS_OK;
    if (memchr(text, 0, size))
        status = fail(failure, STATUS_CORRUPT, "%s: holds zero bytes, so it is no CSV file", name);
    while (status == STATUS_OK && p.at < p.end) status = parse_line(&p);
    if (status == STATUS_OK && table->columns == 0)
        status = fail(failure, STATUS_CORRUPT, "%s: is empty; a line with the names of the columns was expected", name);
    if (status != STATUS_OK) csv_close(table);
    return status;
}

status_code csv_read(csv *table, const char *path, csv_mode mode, failure *failure) {
    *table = (csv){0};
    char *text;
    size_t size;
    const status_code status = whole_file_read(path, LARGEST_FILE, &text, &size, failure);
    return status == STATUS_OK ? parse_text(table, path, text, size, mode, failure) : status;
}

status_code csv_parse(csv *table, const char *name, const char *bytes, size_t size, csv_mode mode, failure *failure) {
    *table = (csv){0};
    char *text = size < SIZE_MAX ? malloc(size + 1) : NULL;
    if (!text) return fail_memory(failure, name);
    if (size) memcpy(text, bytes, size);
    return parse_text(table, name, text, size, mode, failure);
}

void csv_close(csv *table) {
    free(table->cells);
    free(table->lines);
    free(table->text);
    *table = (csv){0};
}

void csv_trim(csv *table) {
    for (size_t k = table->columns; k < (table->rows + 1) * table->columns; k++) {
        char *cell = table->cells[k] + strspn(table->cells[k], " \t");
        size_t length = strlen(cell);
        while (length && (cell[length - 1] == ' ' || cell[length - 1] == '\t')) length--;
        cell[length] = 0;
        table->cells[k] = cell;
    }
}

long csv_column(const csv *table, const char *name) { return csv_column_from(table, name, 0); }

long csv_column_from(const csv *table, const char *name, size_t first) {
    for (size_t k = 0; k < table->columns; k++) {
        const size_t column = (first + k) % table->columns;
        if (strcmp(table->cells[column], name) == 0) return (long)column;
    }
    return -1;
}

long csv_column_any_case(const csv *table, const char *name) {
    const long exact = csv_column(table, name);
    for (size_t k = 0; exact < 0 && k < table->columns; k++)
        if (strcasecmp(table->cells[k], name) == 0) return (long)k;
    return exact;
}

const char *csv_name(const csv *table, size_t column) { return table->cells[column]; }

const char *csv_cell(const csv *table, size_t row, size_t column) {
    return table->cells[(row + 1) * table->columns + column];
}

double csv_number(const csv *table, size_t row, size_t column) {
    const char *cell = csv_cell(table, row, column);
    char *end;
    const double value = strtod(cell, &end);
    return end == cell || *end ? (double)NAN : value;
}

status_code csv_require_number(const csv *table, const char *name, size_t row, size_t column, double *value,
                               failure *failure) {
    *value = csv_number(table, row, column);
    if (isfinite(*value)) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s, line %zu: %.100s is '%.100s', not a finite number", name,
                table->lines[row + 1], csv_name(table, column), csv_cell(table, row, column));
}

void csv_add_field(text *out, const char *field) {
    if (!strpbrk(field, ",\"\r\n") && strncmp(field, MARK, sizeof MARK - 1) != 0) {
        text_add(out, field);
        return;
    }
    text_add(out, "\"");
    for (; *field; field++) text_add_bytes(out, *field == '"' ? "\"\"" : field, *field == '"' ? 2 : 1);
    text_add(out, "\"");
}

void csv_add_text(text *out, text *field) {
    csv_add_field(out, text_string(field));
    out->failed |= field->failed;
    text_close(field);
}

void csv_add_number(text *out, double value) {
    if (isnan(value)) text_add(out, ",nan");
    else text_format(out, ",%.10g", value);
}
