#include "predict/score_table.h"

#include "core/csv.h"
#include "core/path.h"
#include "core/replaceable.h"
#include "core/whole_file.h"

#include <string.h>

/* What stands behind the first heading, before those of the classes. */
#define PREDICTION ",prediction"

static int is_file(const char *output) { return path_ends_with(output, ".csv"); }

/* A file of scores, or one in the folder that is named. */
static status_code table_path(const char *output, char path[PATH_SIZE], failure *failure) {
    return is_file(output) ? path_format(path, failure, "%s", output) : path_join(path, output, "scores.csv", failure);
}

static int starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static int holds_scores(const char *beginning, const void *context) {
    (void)context;
    const char *second = strpbrk(beginning, ",\n");
    return second && (starts(second, PREDICTION ",p_") || starts(second, PREDICTION ",\"p_"));
}

status_code score_table_check(const predict_request *request, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = table_path(request->output, path, failure);
    if (status != STATUS_OK) return status;
    if (path_same(request->input, path))
        return fail(failure, STATUS_BAD_INPUT, "%.500s is the input: name another file for the scores", path);
    return replaceable_check(path, holds_scores, NULL, "scores", failure);
}

static void add_header(const score_table *s, text *csv) {
    text_format(csv, "%s" PREDICTION, s->heading);
    for (int k = 0; k < s->facts->class_count; k++) {
        text name = {0};
        text_format(&name, "p_%s", s->facts->class_names[k]);
        text_add(csv, ",");
        csv_add_text(csv, &name);
    }
    text_add(csv, "\n");
}

static void add_row(const score_table *s, int64_t i, class_threshold threshold, text *csv) {
    const float *p = s->probabilities + i * s->facts->class_count;
    text name = {0};
    s->name(s->context, i, &name);
    csv_add_text(csv, &name);
    text_add(csv, ",");
    csv_add_field(csv, s->facts->class_names[class_threshold_decide(threshold, p, s->facts->class_count)]);
    for (int k = 0; k < s->facts->class_count; k++) text_format(csv, ",%.9g", (double)p[k]);
    text_add(csv, "\n");
}

status_code score_table_write(const score_table *s, const predict_request *request, failure *failure) {
    char path[PATH_SIZE];
    text csv = {0};
    class_threshold threshold = {.positive = -1};
    status_code status = score_table_check(request, failure);
    if (status == STATUS_OK) status = class_threshold_parse(request->threshold, s->facts, &threshold, failure);
    if (status == STATUS_OK) status = table_path(request->output, path, failure);
    if (status == STATUS_OK && !is_file(request->output)) status = folder_make(request->output, failure);
    add_header(s, &csv);
    for (int64_t i = 0; i < s->count && status == STATUS_OK; i++) add_row(s, i, threshold, &csv);
    if (status == STATUS_OK) status = whole_file_write_text(path, &csv, failure);
    if (status == STATUS_OK && request->wrote) request->wrote(request->context, path, (size_t)s->count, s->what);
    text_close(&csv);
    return status;
}
