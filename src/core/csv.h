/*
 * Tables in CSV files, read strictly, and the fields of such tables, written.
 *
 * The first line names the columns; every further line is a row with a cell for each of them. Fields are separated by
 * commas; a field in double quotes may hold commas, line ends and doubled quotes. Lines end with \n or \r\n, empty
 * lines are skipped, and so is a byte order mark. Refused, with the number of the line: columns without a name or with
 * a name that came before, rows with other than the header's number of fields, stray quotes, zero bytes.
 */
#ifndef HWS_CORE_CSV_H
#define HWS_CORE_CSV_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>

typedef struct csv {
    size_t rows, columns; /* without the header */
    size_t left_out;      /* with CSV_LEAVE_OUT_SHORT_ROWS: how many rows were too short */
    char **cells;         /* (rows + 1) * columns, the header first */
    size_t *lines;        /* the line on which each row begins, the header first */
    char *text;
} csv;

typedef enum csv_mode {
    CSV_STRICT,
    CSV_LEAVE_OUT_SHORT_ROWS /* for files that may be read while they are written: incomplete rows are left out */
} csv_mode;

enum { CSV_MAX_COLUMNS = 10000 };

/* Reads a file of at most 1 GB. On failure the table is empty. `table` need not be initialised. */
status_code csv_read(csv *table, const char *path, csv_mode mode, failure *failure);

/* The same from memory; `name` is what messages call it. */
status_code csv_parse(csv *table, const char *name, const char *bytes, size_t size, csv_mode mode, failure *failure);

/* Takes spaces and tabs off both ends of every cell; the names of the columns stay as they are. */
void csv_trim(csv *table);

/* Frees what a table holds and makes it empty. Accepts an empty table. */
void csv_close(csv *table);

/* What seems to separate the fields instead of commas: "';'" or "tabs", for messages; NULL: nothing. */
const char *csv_other_separator(const csv *table);

/* The position of the column with this name, or -1. The second looks at `first` and behind it before
   it looks in front of it. */
long csv_column(const csv *table, const char *name);
long csv_column_from(const csv *table, const char *name, size_t first);

/* The same; where no column has this name, the first whose name differs from it by case only. */
long csv_column_any_case(const csv *table, const char *name);

const char *csv_name(const csv *table, size_t column);
const char *csv_cell(const csv *table, size_t row, size_t column);

/* The cell as a number; NaN if it is empty, says nan, or is not a number as a whole. */
double csv_number(const csv *table, size_t row, size_t column);

/* The same, but anything other than a finite number is a failure that names the file, line and column. */
status_code csv_require_number(const csv *table, const char *name, size_t row, size_t column, double *value,
                               failure *failure);

/* Writes a field, in quotes if it must be: everything that is written to a CSV file as text goes through here. */
void csv_add_field(text *out, const char *field);

/* The same of a text, which is closed; if that has failed, so has `out`. */
void csv_add_text(text *out, text *field);

/* Writes a comma and a number in ten digits, or nan. */
void csv_add_number(text *out, double value);

#endif
