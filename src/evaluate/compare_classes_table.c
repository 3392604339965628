/* Compared classifiers as tables: for people, and as CSV and JSON for programs. */
#include "core/csv.h"
#include "core/json_writer.h"
#include "core/utf8.h"
#include "evaluate/compare_classes.h"

#include <math.h>
#include <stdio.h>

/* The numbers of a row for programs: six of each score, four of the test, and how many patients there are. */
enum { WORDS = 2, NUMBERS = 6 * CLASS_SCORES + 5 };

static int is_worst(const compared_stratum *one) { return one->column && !one->value; }

static void stratum_words(const compared_stratum *one, char *words, size_t size) {
    if (!one->column) snprintf(words, size, "all (%lld)", (long long)one->count);
    else if (is_worst(one)) snprintf(words, size, "worst %.*s", (int)utf8_whole(one->column, 60), one->column);
    else
        snprintf(words, size, "%.*s %.*s (%lld)", (int)utf8_whole(one->column, 40), one->column,
                 (int)utf8_whole(one->value, 50), one->value, (long long)one->count);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

/* AUROC as a number of three digits, the others in percent. */
static void score_words(class_score score, double value, int is_difference, char *words, size_t size) {
    const int auroc = score == CLASS_AUROC;
    const double shown = auroc ? value : 100 * value;
    if (isnan(value)) snprintf(words, size, "-");
    else if (is_difference) snprintf(words, size, auroc ? "%+.3f" : "%+.1f", shown);
    else snprintf(words, size, auroc ? "%.3f" : "%.1f", shown);
}

static void put_difference(table *t, size_t column, class_score score, double value, interval ci) {
    char words[3][24];
    score_words(score, value, 1, words[0], sizeof words[0]);
    score_words(score, ci.low, 1, words[1], sizeof words[1]);
    score_words(score, ci.high, 1, words[2], sizeof words[2]);
    if (isnan(ci.low)) table_put(t, column, "%s", words[0]);
    else table_put(t, column, "%s (%s to %s)", words[0], words[1], words[2]);
}

static void put_worst(table *t, const compared_class_row *row, size_t method) {
    char words[24];
    score_words(CLASS_ACCURACY, row->worst.value, 0, words, sizeof words);
    table_put(t, WORDS, "%s", words);
    if (method)
        put_difference(t, WORDS + CLASS_SCORES, CLASS_ACCURACY, row->worst.difference, row->worst.difference_ci);
}

static void put_scores(table *t, const compared_class_row *row, size_t method) {
    const class_difference *d = &row->difference;
    for (int s = 0; s < CLASS_SCORES; s++) {
        char words[24];
        score_words((class_score)s, row->scored.value[s], 0, words, sizeof words);
        table_put(t, WORDS + (size_t)s, "%s", words);
    }
    if (!method) return;
    put_difference(t, WORDS + CLASS_SCORES, CLASS_ACCURACY, d->value[CLASS_ACCURACY], d->ci[CLASS_ACCURACY]);
    put_difference(t, WORDS + CLASS_SCORES + 1, CLASS_AUROC, d->value[CLASS_AUROC], d->ci[CLASS_AUROC]);
    table_put_p(t, WORDS + CLASS_SCORES + 2, d->p);
    table_put_p(t, WORDS + CLASS_SCORES + 3, row->holm);
}

/* Whether patients have several of the examples: then they are what is resampled and tested. */
static int by_patient(const compared_classes *c) {
    const class_scored *all = &c->strata[0].rows[0].scored;
    return all->patients < all->count;
}

static void add_notes(const compared_classes *c, text *out) {
    text_format(out,
                "Differences are to %s on the same examples; 95%% CI: bootstrap, both methods on the same resamples",
                c->names[0]);
    if (by_patient(c))
        text_format(
            out,
            ", resampling %lld patients;\np: exact and two-sided, by exchanging the methods' answers patient by "
            "patient; Holm: corrected for all tests of this\ntable. The worst group may be another for each "
            "method.\n",
            (long long)c->strata[0].rows[0].scored.patients);
    else
        text_add(out, "; McNemar: exact and\ntwo-sided; Holm: corrected for all tests of this table. The worst group "
                      "may be another for each method.\n");
}

#define HEADINGS "group|method|accuracy|balanced|AUROC|ECE|accuracy, difference (95% CI)|AUROC, difference (95% CI)|"

static status_code write_table(const compared_classes *c, table_format format, text *out, failure *failure) {
    table t;
    table_open(&t, "Classifiers side by side: shares in %, differences to the first in percentage points", WORDS,
               by_patient(c) ? HEADINGS "p by patient|Holm p" : HEADINGS "McNemar p|Holm p");
    for (size_t k = 0; k < c->stratum_count; k++)
        for (size_t m = 0; m < c->count; m++) {
            char words[TABLE_CELL_BYTES];
            const compared_stratum *one = &c->strata[k];
            stratum_words(one, words, sizeof words);
            table_add_row(&t, m == 0);
            table_put(&t, 0, "%s", words);
            table_put(&t, 1, "%s", c->names[m]);
            (is_worst(one) ? put_worst : put_scores)(&t, &one->rows[m], m);
        }
    const status_code status = table_write(&t, format, out, failure);
    table_close(&t);
    if (format == TABLE_TEXT) add_notes(c, out);
    return status;
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

/* The numbers of row k: its scores with intervals, then the differences, then the test. */
static void row_numbers(const compared_classes *c, size_t k, double numbers[NUMBERS]) {
    const compared_stratum *one = &c->strata[k / c->count];
    const size_t method = k % c->count;
    const compared_class_row *row = &one->rows[method];
    const int worst = is_worst(one);
    int n = 0;
    for (int s = 0; s < CLASS_SCORES; s++) {
        const int known = !worst || s == CLASS_ACCURACY;
        const interval ci = worst ? row->worst.ci : row->scored.ci[s],
                       change = worst ? row->worst.difference_ci : row->difference.ci[s];
        const double change_of = worst ? row->worst.difference : row->difference.value[s];
        const double all[6] = {
            worst ? row->worst.value : row->scored.value[s], ci.low, ci.high, change_of, change.low, change.high};
        for (int k = 0; k < 6; k++) numbers[n++] = known && (k < 3 || method) ? all[k] : (double)NAN;
    }
    const int tested = method && !worst;
    numbers[n++] = tested ? (double)row->difference.only_first : (double)NAN;
    numbers[n++] = tested ? (double)row->difference.only_second : (double)NAN;
    numbers[n++] = tested ? row->difference.p : (double)NAN;
    numbers[n++] = row->holm;
    numbers[n++] = worst || !c->patients.of ? (double)NAN : (double)row->scored.patients;
}

static void number_name(int index, char *name, size_t size) {
    static const char *const SUFFIXES[] = {"", "_low", "_high", "_difference", "_difference_low", "_difference_high"};
    static const char *const TEST[] = {"right_by_first_only", "right_by_this_only", "mcnemar_p", "holm_p", "patients"};
    const int scores = 6 * CLASS_SCORES;
    if (index < scores) snprintf(name, size, "%s%s", class_score_name((class_score)(index / 6)), SUFFIXES[index % 6]);
    else snprintf(name, size, "%s", TEST[index - scores]);
}

static void write_csv(const compared_classes *c, text *out) {
    char name[64];
    text_add(out, "column,value,examples,method");
    for (int n = 0; n < NUMBERS; n++) {
        number_name(n, name, sizeof name);
        text_format(out, ",%s", name);
    }
    text_add(out, "\n");
    for (size_t k = 0; k < c->stratum_count * c->count; k++) {
        const compared_stratum *one = &c->strata[k / c->count];
        double numbers[NUMBERS];
        csv_add_field(out, one->column ? one->column : "");
        text_add(out, ",");
        csv_add_field(out, one->value ? one->value : one->column ? "" : "all");
        text_format(out, ",%lld,", (long long)one->count);
        csv_add_field(out, c->names[k % c->count]);
        row_numbers(c, k, numbers);
        for (int n = 0; n < NUMBERS; n++) csv_add_number(out, numbers[n]);
        text_add(out, "\n");
    }
}

static void write_json(const compared_classes *c, text *out) {
    json_writer json = json_writer_start(out);
    json_begin_object(&json, NULL);
    json_begin_list(&json, "rows");
    for (size_t k = 0; k < c->stratum_count * c->count; k++) {
        const compared_stratum *one = &c->strata[k / c->count];
        double numbers[NUMBERS];
        char name[64];
        json_begin_object(&json, NULL);
        json_add_string(&json, "column", one->column);
        json_add_string(&json, "value", one->value);
        json_add_bool(&json, "is_worst_group", is_worst(one));
        json_add_integer(&json, "examples", one->count);
        json_add_string(&json, "method", c->names[k % c->count]);
        row_numbers(c, k, numbers);
        for (int n = 0; n < NUMBERS; n++) {
            number_name(n, name, sizeof name);
            json_add_number(&json, name, numbers[n]);
        }
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
}

status_code compared_classes_write(const compared_classes *c, table_format format, text *out, failure *failure) {
    status_code status = STATUS_OK;
    if (format == TABLE_CSV) write_csv(c, out);
    else if (format == TABLE_JSON) write_json(c, out);
    else status = write_table(c, format, out, failure);
    return status == STATUS_OK && out->failed ? fail_memory(failure, "a comparison") : status;
}
