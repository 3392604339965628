#include "report/run_results.h"

#include "core/natural_order.h"

#include "core/text.h"
#include "evaluate/evaluated.h"
#include "evaluate/stratified.h"
#include "run/config.h"
#include "run/run_folder.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETTINGS = 2000, LONGEST_VALUE = 400 };

static char *copy(const char *string) {
    char *bytes = malloc(strlen(string) + 1);
    return bytes ? strcpy(bytes, string) : NULL;
}

static void add_value(text *value, const json_t *json) {
    if (json_is_string(json)) text_add(value, json_string_value(json));
    else if (json_is_integer(json)) text_format(value, "%lld", (long long)json_integer_value(json));
    else if (json_is_real(json)) text_format(value, "%.10g", json_real_value(json));
    else if (json_is_boolean(json)) text_add(value, json_is_true(json) ? "yes" : "no");
    else if (json_is_null(json)) text_add(value, "none");
    else text_add(value, json_is_array(json) ? "[\xE2\x80\xA6]" : "{\xE2\x80\xA6}");
}

static void add_list(text *value, const json_t *list) {
    size_t index;
    json_t *item;
    json_array_foreach(list, index, item) {
        if (value->size > LONGEST_VALUE) return text_add(value, ", \xE2\x80\xA6");
        if (index) text_add(value, ", ");
        add_value(value, item);
    }
}

static int add_setting(run *run, const char *object, const char *key, const json_t *json) {
    if (run->setting_count == MOST_SETTINGS) return 1;
    if (!run->settings && !(run->settings = calloc(MOST_SETTINGS, sizeof *run->settings))) return 0;
    text name = {0}, value = {0};
    text_format(&name, "%s%s%s", object, *object ? "." : "", key);
    text_add(&value, "");
    if (json_is_array(json)) add_list(&value, json);
    else add_value(&value, json);
    run->settings[run->setting_count++] = (run_setting){name.bytes, value.bytes};
    return !name.failed && !value.failed;
}

static int add_settings(run *run, json_t *config) {
    const char *key, *inner;
    json_t *value, *entry;
    int good = 1;
    json_object_foreach(config, key, value) {
        if (json_is_object(value)) {
            json_object_foreach(value, inner, entry) good = good && add_setting(run, key, inner, entry);
        } else {
            good = good && add_setting(run, "", key, value);
        }
    }
    return good;
}

static int add_classes(run *run, const json_t *config) {
    const json_t *classes = json_object_get(config, "classes");
    const size_t count = json_array_size(classes);
    if (!count) return 1;
    if (!(run->classes = calloc(count, sizeof *run->classes))) return 0;
    for (; run->class_count < count; run->class_count++) {
        text name = {0};
        text_add(&name, "");
        add_value(&name, json_array_get(classes, run->class_count));
        if (!(run->classes[run->class_count] = name.bytes)) return 0;
    }
    return 1;
}

static status_code read_config(run *run, failure *failure) {
    json_t *config;
    const status_code status = run_config_entries(run->folder, &config, failure);
    if (status != STATUS_OK) return status;
    const int good = add_settings(run, config) && add_classes(run, config);
    json_decref(config);
    return good ? STATUS_OK : fail_memory(failure, run->folder);
}

/* Damage is told on the page, not by a failure: the other tables may still be worth reading. What is there but cannot
   be read now is no damage. */
static status_code read_table(const run *run, run_file file, run_table *table, failure *failure) {
    char path[PATH_SIZE] = "";
    struct failure why = {0};
    status_code status = run_path(path, run->folder, file, &why);
    if (status == STATUS_OK && !path_exists(path))
        status = fail(&why, STATUS_CANNOT_READ, "%s is missing", run_file_name(file));
    if (status == STATUS_OK) status = csv_read(&table->data, path, CSV_LEAVE_OUT_SHORT_ROWS, &why);
    if (status == STATUS_OK && table->data.rows == 0)
        status = fail(&why, STATUS_CORRUPT, "%s has no rows", run_file_name(file));
    if (status == STATUS_OUT_OF_MEMORY || (status == STATUS_CANNOT_READ && path_exists(path)))
        return fail(failure, status, "%s", why.message);
    if (status != STATUS_OK) snprintf(table->problem, sizeof table->problem, "%.500s", why.message);
    return STATUS_OK;
}

static status_code read_tables(run *run, failure *failure) {
    const struct {
        run_file file;
        run_table *table;
    } tables[] = {{RUN_HISTORY, &run->history},
                  {RUN_DISTRIBUTION, &run->distribution},
                  {RUN_LOSSES, &run->losses},
                  {RUN_HARDEST, &run->hardest},
                  {RUN_TRIAGE, &run->triage},
                  {RUN_CASES, &run->cases},
                  {RUN_GROUPS, &run->groups},
                  {RUN_WORST, &run->worst},
                  {RUN_STRATA, &run->strata},
                  {RUN_CONFUSION, &run->confusion},
                  {RUN_RELIABILITY, &run->reliability},
                  {RUN_CLASSES, &run->rates},
                  {RUN_ROC, &run->roc}};
    status_code status = STATUS_OK;
    for (size_t k = 0; k < sizeof tables / sizeof *tables && status == STATUS_OK; k++)
        status = read_table(run, tables[k].file, tables[k].table, failure);
    return status;
}

status_code run_open(run *run, const char *folder, failure *failure) {
    *run = (struct run){.folder = copy(folder)};
    status_code status = run->folder ? read_config(run, failure) : fail_memory(failure, folder);
    if (status == STATUS_OK) status = read_tables(run, failure);
    if (status != STATUS_OK) return run_close(run), status;
    const char *task = run_setting_text(run, "task");
    run->is_segmentation = task && strcmp(task, "segmentation") == 0;
    return STATUS_OK;
}

/* As hws evaluate would have written cases.csv. */
static void make_cases(run *run, const evaluated *evaluated) {
    case_groups groups = {0};
    char path[PATH_SIZE];
    text written = {0};
    failure why = {0};
    const int grouped = evaluated_groups(evaluated, path) && case_groups_read(&groups, path, &why) == STATUS_OK;
    status_code status = scores_write_csv(&evaluated->scores, grouped ? &groups : NULL, &written, &why);
    if (status == STATUS_OK)
        status = csv_parse(&run->cases.data, "the summary", written.bytes, written.size, CSV_STRICT, &why);
    snprintf(run->cases.problem, sizeof run->cases.problem, "%.500s", status == STATUS_OK ? "" : why.message);
    text_close(&written);
    case_groups_close(&groups);
}

status_code run_open_evaluation(run *run, const char *name, failure *failure) {
    evaluated evaluated;
    *run = (struct run){.is_segmentation = 1, .is_evaluation = 1};
    status_code status = evaluated_open(&evaluated, name, NULL, failure);
    if (status == STATUS_OK && !(run->folder = copy(evaluated.folder))) status = fail_memory(failure, name);
    if (status == STATUS_OK) status = read_table(run, RUN_CASES, &run->cases, failure);
    if (status == STATUS_OK) status = read_table(run, RUN_GROUPS, &run->groups, failure);
    if (status == STATUS_OK) status = read_table(run, RUN_WORST, &run->worst, failure);
    if (status == STATUS_OK) {
        if (run->cases.data.rows == 0) make_cases(run, &evaluated);
        char words[200];
        evaluated_call(&evaluated, words, sizeof words);
        if (!(run->name = copy(words))) status = fail_memory(failure, name);
    }
    evaluated_close(&evaluated);
    if (status != STATUS_OK) run_close(run);
    return status;
}

status_code run_use_groups(run *run, const char *path, failure *failure) {
    csv_close(&run->groups.data);
    run->groups.problem[0] = 0;
    return csv_read(&run->groups.data, path, CSV_STRICT, failure);
}

void run_close(run *run) {
    for (size_t k = 0; k < run->setting_count; k++) {
        free(run->settings[k].key);
        free(run->settings[k].value);
    }
    for (size_t k = 0; k < run->class_count; k++) free(run->classes[k]);
    free(run->settings);
    free(run->classes);
    free(run->folder);
    free(run->name);
    run_table *tables[] = {&run->history,     &run->distribution, &run->losses, &run->hardest, &run->triage,
                           &run->cases,       &run->groups,       &run->worst,  &run->strata,  &run->confusion,
                           &run->reliability, &run->rates,        &run->roc};
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) csv_close(&tables[k]->data);
    *run = (struct run){0};
}

const char *run_setting_text(const run *run, const char *key) {
    for (size_t k = 0; k < run->setting_count; k++)
        if (strcmp(run->settings[k].key, key) == 0) return run->settings[k].value;
    return NULL;
}

double run_setting_number(const run *run, const char *key) {
    const char *value = run_setting_text(run, key);
    char *end;
    if (!value) return (double)NAN;
    const double number = strtod(value, &end);
    return end == value || *end ? (double)NAN : number;
}

int run_has_objective(const run *run, const char *name) {
    const char *objective = run_setting_text(run, "objective");
    return objective && strcmp(objective, name) == 0;
}

int run_draws_by_loss(const run *run) { return !run_setting_text(run, "objective") || run_has_objective(run, "dro"); }

int run_has_class(const run *run, const char *name) {
    for (size_t k = 0; k < run->class_count; k++)
        if (strcmp(run->classes[k], name) == 0) return 1;
    return 0;
}

/* Classes may be called by numbers: what is a name already is no number of another. */
const char *run_class_name(const run *run, const char *class_key) {
    return run_has_class(run, class_key) ? class_key : run_class_at(run, class_key);
}

const char *run_class_at(const run *run, const char *class_key) {
    char *end;
    const unsigned long index = strtoul(class_key, &end, 10);
    const int is_number = *class_key >= '0' && *class_key <= '9' && !*end;
    return is_number && index < run->class_count ? run->classes[index] : class_key;
}

int run_trains_on_all(const run *run) { return run->is_segmentation && run_setting_number(run, "fold") < 0; }

double run_kept(const run *run, const char *class_key) {
    char key[200];
    snprintf(key, sizeof key, "keep.%s", class_key);
    double kept = run_setting_number(run, key);
    if (isnan(kept)) {
        snprintf(key, sizeof key, "keep.%s", run_class_name(run, class_key));
        kept = run_setting_number(run, key);
    }
    return isfinite(kept) && kept >= 0 && kept <= 1 ? kept : 1;
}

/* No measurement is that large: charts would only show it. */
static double sane(double value) { return fabs(value) < 1e30 ? value : (double)NAN; }

const char *run_cell(const run_table *table, size_t row, const char *column) {
    const long k = csv_column(&table->data, column);
    return k < 0 ? "" : csv_cell(&table->data, row, (size_t)k);
}

double run_number(const run_table *table, size_t row, const char *column) {
    const long k = csv_column(&table->data, column);
    return k < 0 ? (double)NAN : sane(csv_number(&table->data, row, (size_t)k));
}

double run_last(const run_table *table, const char *column) {
    for (size_t row = table->data.rows; row-- > 0;) {
        const double value = run_number(table, row, column);
        if (isfinite(value)) return value;
    }
    return (double)NAN;
}

typedef struct loss_row {
    double loss;
    size_t row;
} loss_row;

static int harder_first(const void *a, const void *b) {
    const loss_row *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

size_t *run_hardest(const run *run, size_t *count) {
    const size_t rows = run->losses.data.rows;
    loss_row *losses = malloc((rows + 1) * sizeof *losses);
    size_t *hardest = malloc((rows + 1) * sizeof *hardest);
    *count = 0;
    for (size_t row = 0; losses && row < rows; row++) {
        const double loss = run_number(&run->losses, row, "stale_loss");
        if (isfinite(loss)) losses[(*count)++] = (loss_row){loss, row};
    }
    if (losses) qsort(losses, *count, sizeof *losses, harder_first);
    for (size_t k = 0; losses && hardest && k < *count; k++) hardest[k] = losses[k].row;
    if (!losses) free(hardest), hardest = NULL;
    free(losses);
    return hardest;
}

static int by_value(const void *a, const void *b) {
    return natural_compare(*(const char *const *)a, *(const char *const *)b);
}

const char **run_values(const run_table *table, const char *column, size_t *count) {
    const long at = csv_column(&table->data, column);
    const char **values = at < 0 ? NULL : malloc((table->data.rows + 1) * sizeof *values);
    size_t all = 0;
    *count = 0;
    for (size_t row = 0; values && row < table->data.rows; row++)
        if (*csv_cell(&table->data, row, (size_t)at)) values[all++] = csv_cell(&table->data, row, (size_t)at);
    if (values) qsort(values, all, sizeof *values, by_value);
    for (size_t k = 0; k < all; k++)
        if (!*count || strcmp(values[*count - 1], values[k]) != 0) values[(*count)++] = values[k];
    return values;
}
