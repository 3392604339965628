#include "train/gallery.h"

#include "core/clock.h"
#include "core/csv.h"
#include "core/path.h"
#include "picture/png.h"

#include <stdlib.h>
#include <string.h>

static status_code picture_of(const trainer *t, const gallery *g, int64_t example, char path[PATH_SIZE],
                              failure *failure) {
    text name = {0};
    t->task->name(t->task->context, example, &name);
    const status_code status = name.failed
                                   ? fail_memory(failure, "a name")
                                   : run_picture_path(path, t->folder, g->pictures, text_string(&name), failure);
    text_close(&name);
    return status;
}

/* Who has told it to stop does not wait for pictures, and a budget of time waits for nothing. */
static int may_draw(const trainer *t, const gallery *g) {
    return clock_seconds() < g->until && (!listener_stops(t->listener) || clock_seconds() < t->draw_until);
}

static status_code name_pictures(const trainer *t, gallery *g, const task_exhibit *exhibits, int count,
                                 failure *failure) {
    for (int k = 0; k < count; k++) {
        const status_code status = picture_of(t, g, exhibits[k].example, exhibits[k].path, failure);
        if (status != STATUS_OK) return status;
        text_format(&g->drawn, "%s/", path_name(exhibits[k].path));
        g->missing += !g->draws && !path_exists(exhibits[k].path);
    }
    return STATUS_OK;
}

/* As many as the network looks at together, but few enough to be stopped between them. */
int gallery_batch(const trainer *t) {
    enum { MOST = 16 };
    const int together = learner_micro_batch(t->learner);
    return together < MOST ? together : MOST;
}

static status_code show_batch(trainer *t, gallery *g, const task_exhibit *exhibits, int count, failure *failure) {
    if (g->draws && !may_draw(t, g)) return STATUS_OK;
    const status_code status = name_pictures(t, g, exhibits, count, failure);
    if (status != STATUS_OK || !g->draws) return status;
    return t->task->show(t->task->context, t->learner, exhibits, count, failure);
}

status_code gallery_show(trainer *t, gallery *g, const int64_t *examples, int64_t count, task_verdict *verdicts,
                         failure *failure) {
    const int most = gallery_batch(t);
    task_exhibit *exhibits = malloc((size_t)most * sizeof *exhibits);
    char(*paths)[PATH_SIZE] = malloc((size_t)most * sizeof *paths);
    status_code status = exhibits && paths ? STATUS_OK : fail_memory(failure, run_file_name(g->pictures));
    for (int64_t done = 0; done < count && status == STATUS_OK; done += most) {
        const int some = (int)(count - done < most ? count - done : most);
        for (int k = 0; k < some; k++) exhibits[k] = (task_exhibit){examples[done + k], paths[k], &verdicts[done + k]};
        if (g->draws) listener_progress(t->listener, g->drawing, (size_t)done, (size_t)count);
        status = show_batch(t, g, exhibits, some, failure);
    }
    free(paths);
    free(exhibits);
    return status;
}

static void close(gallery *g) {
    text_close(&g->csv);
    text_close(&g->drawn);
}

static status_code fill_in(trainer *t, gallery *g, gallery_fill *fill, failure *failure) {
    text_add(&g->drawn, "/");
    const status_code status = fill(t, g, failure);
    if (status == STATUS_OK && (g->csv.failed || g->drawn.failed)) return fail_memory(failure, run_file_name(g->table));
    return status;
}

/* Everything but what the network says, which it alone can tell. */
static int same_rows(const csv *a, const csv *b) {
    if (a->rows != b->rows || a->columns != b->columns) return 0;
    for (size_t column = 0; column < a->columns; column++) {
        const char *name = csv_name(a, column);
        if (strcmp(name, csv_name(b, column)) != 0) return 0;
        if (strcmp(name, "label") == 0 || strcmp(name, "prediction") == 0 || strcmp(name, "margin") == 0) continue;
        for (size_t row = 0; row < a->rows; row++)
            if (strcmp(csv_cell(a, row, column), csv_cell(b, row, column)) != 0) return 0;
    }
    return 1;
}

static int is_current(const trainer *t, const gallery *g) {
    char path[PATH_SIZE];
    csv there = {0}, expected = {0};
    const int same = !g->missing && run_path(path, t->folder, g->table, 0) == STATUS_OK &&
                     csv_read(&there, path, CSV_STRICT, 0) == STATUS_OK &&
                     csv_parse(&expected, "the table", text_string(&g->csv), g->csv.size, CSV_STRICT, 0) == STATUS_OK &&
                     same_rows(&there, &expected);
    csv_close(&there);
    csv_close(&expected);
    return same;
}

static void remove_others(const trainer *t, const gallery *g) {
    char pictures[PATH_SIZE];
    if (run_path(pictures, t->folder, g->pictures, 0) == STATUS_OK) png_remove_others(pictures, text_string(&g->drawn));
}

status_code gallery_write(trainer *t, gallery g, gallery_fill *fill, failure *failure) {
    char pictures[PATH_SIZE];
    g.draws = 1;
    status_code status = run_path(pictures, t->folder, g.pictures, failure);
    if (status == STATUS_OK) status = folder_make(pictures, failure);
    if (status == STATUS_OK) status = fill_in(t, &g, fill, failure);
    if (status == STATUS_OK) status = run_write(t->folder, g.table, &g.csv, failure);
    if (status == STATUS_OK) remove_others(t, &g);
    close(&g);
    return status;
}

status_code gallery_complete(trainer *t, gallery g, gallery_fill *fill, failure *failure) {
    gallery compared = g;
    const status_code status = fill_in(t, &compared, fill, failure);
    const int current = status == STATUS_OK && is_current(t, &compared);
    if (current) remove_others(t, &compared);
    close(&compared); /* cppcheck-suppress autovarInvalidDeallocation ; this close is that of a gallery */
    return status != STATUS_OK || current ? status : gallery_write(t, g, fill, failure);
}
