#include "evaluate/class_gallery.h"

#include "core/arg_max.h"
#include "core/csv.h"
#include "core/path.h"
#include "run/run_folder.h"

#include <math.h>
#include <stdlib.h>

enum { HARDEST_ALONE = 12, HARDEST_OF_GROUP = 6, GROUPS_SHOWN = 12, DOUBTFUL = 12 };

typedef struct ranked {
    double key;
    int64_t example;
} ranked;

/* The largest key first. */
static int by_key(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return x->example < y->example ? -1 : x->example > y->example;
}

static const float *row_of(const class_gallery *g, int64_t i) { return g->probabilities + i * g->set->classes; }

static double margin_of(const class_gallery *g, int64_t i) {
    const float *row = row_of(g, i);
    const int best = arg_max(row, g->set->classes);
    double second = 0;
    for (int k = 0; k < g->set->classes; k++)
        if (k != best) second = fmax(second, (double)row[k]);
    return (double)row[best] - second;
}

static status_code add_example(const class_gallery *g, const char *kind, const char *value, int64_t i, text *csv,
                               failure *failure) {
    text name = {0};
    char path[PATH_SIZE];
    labelled_images_name(g->set, i, &name);
    text_format(csv, "%s,", kind);
    csv_add_field(csv, value ? g->column : "");
    text_add(csv, ",");
    csv_add_field(csv, value ? value : "");
    text_add(csv, ",");
    csv_add_field(csv, text_string(&name));
    text_add(csv, ",");
    labelled_images_class_field(g->set, g->set->labels[i], csv);
    text_add(csv, ",");
    labelled_images_class_field(g->set, arg_max(row_of(g, i), g->set->classes), csv);
    text_format(csv, ",%.9g,%.7g\n", g->losses[i], margin_of(g, i));
    status_code status = name.failed ? fail_memory(failure, "a name")
                                     : run_picture_path(path, g->out, RUN_WORST_PICTURES, text_string(&name), failure);
    if (status == STATUS_OK) status = labelled_images_save(g->set, i, path, failure);
    text_close(&name);
    return status;
}

/* The hardest of a group, or of all; `order` has all examples, the hardest first. */
static status_code add_hardest(const class_gallery *g, const ranked *order, int value, text *csv, failure *failure) {
    const example_column *column = g->column ? labelled_images_column(g->set, g->column) : NULL;
    status_code status = STATUS_OK;
    int left = column ? HARDEST_OF_GROUP : HARDEST_ALONE;
    for (int64_t k = 0; k < g->set->count && left && status == STATUS_OK; k++) {
        const int64_t i = order[k].example;
        if (column && column->of[i] != value) continue;
        status = add_example(g, "hardest", column ? column->values[value] : NULL, i, csv, failure);
        left--;
    }
    return status;
}

static status_code add_all(const class_gallery *g, ranked *order, text *csv, failure *failure) {
    const example_column *column = g->column ? labelled_images_column(g->set, g->column) : NULL;
    const int groups = column ? column->value_count : 1;
    status_code status = STATUS_OK;
    for (int64_t i = 0; i < g->set->count; i++) order[i] = (ranked){g->losses[i], i};
    qsort(order, (size_t)g->set->count, sizeof *order, by_key);
    for (int v = 0; v < groups && v < GROUPS_SHOWN && status == STATUS_OK; v++)
        status = add_hardest(g, order, v, csv, failure);
    for (int64_t i = 0; i < g->set->count; i++) order[i] = (ranked){-margin_of(g, i), i};
    qsort(order, (size_t)g->set->count, sizeof *order, by_key);
    for (int64_t k = 0; k < g->set->count && k < DOUBTFUL && status == STATUS_OK; k++)
        status = add_example(g, "doubtful", NULL, order[k].example, csv, failure);
    return status;
}

status_code class_gallery_write(const class_gallery *g, failure *failure) {
    char pictures[PATH_SIZE];
    text csv = {0};
    ranked *order = malloc(((size_t)g->set->count + 1) * sizeof *order);
    status_code status = order ? STATUS_OK : fail_memory(failure, "the hardest examples");
    if (status == STATUS_OK) status = run_path(pictures, g->out, RUN_WORST_PICTURES, failure);
    if (status == STATUS_OK) status = folder_make(pictures, failure);
    text_add(&csv, "kind,column,value,example,label,prediction,loss,margin\n");
    if (status == STATUS_OK) status = add_all(g, order, &csv, failure);
    if (status == STATUS_OK) status = run_write(g->out, RUN_WORST, &csv, failure);
    text_close(&csv);
    free(order);
    return status;
}
