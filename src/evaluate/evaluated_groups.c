/* Groups from an evaluation's own cases.csv, which has a row for each case and label: case,
   label, key, groups, metrics. */
#include "evaluate/evaluated.h"
#include "run/run_folder.h"

#include <stdlib.h>
#include <string.h>

/* Behind the last column of groups. */
static size_t groups_end(const csv *cases) {
    size_t end = 3;
    while (end < cases->columns && metric_by_name(csv_name(cases, end)) == METRICS) end++;
    return end;
}

static int is_known(const csv *cases) {
    return cases->columns > 3 && strcmp(csv_name(cases, 0), "case") == 0 && strcmp(csv_name(cases, 1), "label") == 0 &&
           strcmp(csv_name(cases, 2), "key") == 0 && groups_end(cases) > 3;
}

/* A row per label: that of the first label says all. */
static int is_first_of_case(const csv *cases, size_t row) {
    return row == 0 || strcmp(csv_cell(cases, row, 0), csv_cell(cases, row - 1, 0)) != 0;
}

static void add_line(text *out, const csv *cases, const char *(*cell)(const csv *, size_t, size_t), size_t row) {
    csv_add_field(out, cell(cases, row, 0));
    for (size_t column = 3; column < groups_end(cases); column++) {
        text_add(out, ",");
        csv_add_field(out, cell(cases, row, column));
    }
    text_add(out, "\n");
}

static const char *heading(const csv *cases, size_t row, size_t column) {
    (void)row;
    return csv_name(cases, column);
}

status_code evaluated_own_groups(const evaluated *evaluated, case_groups *groups, failure *failure) {
    char path[PATH_SIZE];
    csv cases = {0};
    text out = {0};
    *groups = (case_groups){0};
    status_code status = run_path(path, evaluated->folder, RUN_CASES, failure);
    if (status != STATUS_OK || !path_exists(path)) return status;
    status = csv_read(&cases, path, CSV_STRICT, failure);
    if (status == STATUS_OK && is_known(&cases)) {
        add_line(&out, &cases, heading, 0);
        for (size_t row = 0; row < cases.rows; row++)
            if (is_first_of_case(&cases, row)) add_line(&out, &cases, csv_cell, row);
        status = out.failed ? fail_memory(failure, path)
                            : case_groups_parse(groups, path, text_string(&out), out.size, failure);
    }
    csv_close(&cases);
    text_close(&out);
    return status;
}
