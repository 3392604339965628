#include "evaluate/class_files.h"

#include "core/arg_max.h"
#include "core/csv.h"
#include "evaluate/class_gallery.h"
#include "evaluate/classified.h"
#include "evaluate/roc.h"

#include <stdio.h>

static void add_class_headings(const class_files *f, text *csv) {
    for (int k = 0; k < f->scores->classes; k++) {
        text name = {0};
        text_add(&name, "p_");
        labelled_images_class_name(f->set, k, &name);
        text_add(csv, ",");
        csv_add_text(csv, &name);
    }
}

static void add_header(const class_files *f, text *csv) {
    text_add(csv, "example,label,prediction,loss");
    add_class_headings(f, csv);
    for (int k = 0; k < f->set->column_count; k++) {
        const char *column = f->set->columns[k].name;
        const int renamed = classified_is_renamed(column, f->set->class_names, f->scores->classes);
        text name = {0};
        text_format(&name, "%s%s", renamed ? CLASSIFIED_DATA : "", column);
        text_add(csv, ",");
        csv_add_text(csv, &name);
    }
    text_add(csv, "\n");
}

static void add_example(const class_files *f, int64_t i, text *csv) {
    labelled_images_name_field(f->set, i, csv);
    text_add(csv, ",");
    labelled_images_class_field(f->set, f->set->labels[i], csv);
    text_add(csv, ",");
    labelled_images_class_field(f->set, f->predicted[i], csv);
    text_format(csv, ",%.9g", f->losses[i]);
    for (int k = 0; k < f->scores->classes; k++)
        text_format(csv, ",%.9g", (double)f->predictions.probabilities[i * f->scores->classes + k]);
    for (int k = 0; k < f->set->column_count; k++) {
        const example_column *column = &f->set->columns[k];
        text_add(csv, ",");
        if (column->of[i] >= 0) csv_add_field(csv, column->values[column->of[i]]);
    }
    text_add(csv, "\n");
}

static status_code write_out(const class_files *f, run_file file, text *csv, failure *failure) {
    const status_code status = run_write(f->out, file, csv, failure);
    text_close(csv);
    return status;
}

static status_code write_examples(const class_files *f, failure *failure) {
    text csv = {0};
    add_header(f, &csv);
    for (int64_t i = 0; i < f->set->count; i++) add_example(f, i, &csv);
    return write_out(f, RUN_EXAMPLES, &csv, failure);
}

static status_code write_classes(const class_files *f, failure *failure) {
    text csv = {0};
    text_add(&csv, "class,images,accuracy,loss");
    for (int r = 0; r < CLASS_RATES; r++) {
        const char *name = class_rate_name((class_rate)r);
        text_format(&csv, ",%s,%s_low,%s_high", name, name, name);
    }
    text_add(&csv, "\n");
    for (int k = 0; k <= f->scores->classes; k++) {
        const class_rates *rates = &f->scores->rates[k];
        const class_result *one = &f->scores->each[k];
        if (k < f->scores->classes) labelled_images_class_field(f->set, k, &csv);
        else text_add(&csv, "all");
        text_format(&csv, ",%lld,", (long long)one->count);
        if (one->count) text_format(&csv, "%.9g,%.9g", one->accuracy, one->loss);
        else text_add(&csv, ",");
        for (int r = 0; r < CLASS_RATES; r++) {
            csv_add_number(&csv, rates->value[r]);
            csv_add_number(&csv, rates->ci[r].low);
            csv_add_number(&csv, rates->ci[r].high);
        }
        text_add(&csv, "\n");
    }
    return write_out(f, RUN_CLASSES, &csv, failure);
}

static status_code write_strata(const class_files *f, failure *failure) {
    text csv = {0};
    text_add(&csv, "column,value,examples");
    for (int s = 0; s < CLASS_SCORES; s++) {
        const char *name = class_score_name((class_score)s);
        text_format(&csv, ",%s,%s_low,%s_high", name, name, name);
    }
    text_add(&csv, ",iteration,patients\n");
    for (size_t k = 0; k < f->scores->stratum_count; k++) {
        const class_stratum *one = &f->scores->strata[k];
        csv_add_field(&csv, one->column ? one->column : "");
        text_add(&csv, ",");
        csv_add_field(&csv, one->value ? one->value : "all");
        text_format(&csv, ",%lld", (long long)one->scored.count);
        for (int s = 0; s < CLASS_SCORES; s++) {
            csv_add_number(&csv, one->scored.value[s]);
            csv_add_number(&csv, one->scored.ci[s].low);
            csv_add_number(&csv, one->scored.ci[s].high);
        }
        text_add(&csv, ",");
        if (f->iterations >= 0) text_format(&csv, "%.0f", f->iterations);
        text_add(&csv, ",");
        if (f->scores->knows_patients) text_format(&csv, "%lld", (long long)one->scored.patients);
        text_add(&csv, "\n");
    }
    return write_out(f, RUN_STRATA, &csv, failure);
}

static status_code write_confusion(const class_files *f, failure *failure) {
    text csv = {0};
    const int classes = f->scores->classes;
    text_add(&csv, "label");
    for (int k = 0; k < classes; k++) {
        text_add(&csv, ",");
        labelled_images_class_field(f->set, k, &csv);
    }
    text_add(&csv, "\n");
    for (int k = 0; k < classes; k++) {
        labelled_images_class_field(f->set, k, &csv);
        for (int p = 0; p < classes; p++) text_format(&csv, ",%lld", (long long)f->scores->confusion[k * classes + p]);
        text_add(&csv, "\n");
    }
    return write_out(f, RUN_CONFUSION, &csv, failure);
}

static status_code write_reliability(const class_files *f, failure *failure) {
    class_bin bins[CLASS_BINS];
    text csv = {0};
    const class_predictions p = f->predictions;
    class_scores_bins(&p, bins);
    text_add(&csv, "confidence_from,confidence_to,examples,confidence,accuracy\n");
    for (int b = 0; b < CLASS_BINS; b++) {
        text_format(&csv, "%.9g,%.9g,%.0f", (double)b / CLASS_BINS, (double)(b + 1) / CLASS_BINS, bins[b].count);
        csv_add_number(&csv, bins[b].confidence / bins[b].count);
        csv_add_number(&csv, bins[b].hits / bins[b].count);
        text_add(&csv, "\n");
    }
    return write_out(f, RUN_RELIABILITY, &csv, failure);
}

/* A patient is called by its name; an example of nobody by its own. */
static void add_patient_name(const class_files *f, int64_t example, text *csv) {
    const example_column *column = f->patients;
    if (column->of[example] >= 0) csv_add_field(csv, column->values[column->of[example]]);
    else labelled_images_name_field(f->set, example, csv);
}

static void add_patient(const class_files *f, int64_t k, text *csv) {
    const class_patients *patients = &f->scores->patients;
    const int classes = f->scores->classes;
    const float *p = patients->probabilities + k * classes;
    add_patient_name(f, patients->first[k], csv);
    text_format(csv, ",%lld,", (long long)patients->examples[k]);
    labelled_images_class_field(f->set, patients->labels[k], csv);
    text_add(csv, ",");
    labelled_images_class_field(f->set, arg_max(p, classes), csv);
    for (int c = 0; c < classes; c++) text_format(csv, ",%.9g", (double)p[c]);
    text_add(csv, "\n");
}

/* What is not written any more would be of an earlier evaluation, with other weights. */
static status_code drop(const class_files *f, run_file file, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = run_path(path, f->out, file, failure);
    if (status == STATUS_OK) remove(path);
    return status;
}

static status_code write_patients(const class_files *f, failure *failure) {
    text csv = {0};
    if (!f->scores->patients.labels) return drop(f, RUN_PATIENTS, failure);
    text_add(&csv, "patient,examples,label,prediction");
    add_class_headings(f, &csv);
    text_add(&csv, "\n");
    for (int64_t k = 0; k < f->scores->patients.count; k++) add_patient(f, k, &csv);
    return write_out(f, RUN_PATIENTS, &csv, failure);
}

/* Of two classes the curve of the first is that of the second, turned. */
static status_code write_roc(const class_files *f, failure *failure) {
    const class_predictions p = f->predictions;
    roc_point points[ROC_POINTS];
    text csv = {0};
    status_code status = STATUS_OK;
    text_add(&csv, "class,threshold,sensitivity,specificity\n");
    for (int c = p.classes == 2; c < p.classes && status == STATUS_OK; c++) {
        size_t count = 0;
        status = roc_of(&p, c, points, &count, failure);
        for (size_t k = 0; k < count && status == STATUS_OK; k++) {
            labelled_images_class_field(f->set, c, &csv);
            text_format(&csv, ",%.9g,%.9g,%.9g\n", points[k].threshold, points[k].sensitivity, points[k].specificity);
        }
    }
    if (status == STATUS_OK) return write_out(f, RUN_ROC, &csv, failure);
    text_close(&csv);
    return status;
}

static void add_operating(const class_files *f, const char *part, const class_stratum *one,
                          const operating_scores *scores, text *csv) {
    const operating_result *o = &f->scores->operating;
    labelled_images_class_field(f->set, o->rule.positive, csv);
    text_format(csv, ",%.9g,%s=%.9g,%s,", o->rule.threshold, o->goal.is_sensitivity ? "sensitivity" : "specificity",
                o->goal.share, part);
    csv_add_field(csv, one && one->column ? one->column : "");
    text_add(csv, ",");
    csv_add_field(csv, one && one->value ? one->value : "all");
    text_format(csv, ",%lld,%lld", (long long)scores->positives, (long long)scores->negatives);
    const double numbers[] = {scores->sensitivity, scores->sensitivity_ci.low, scores->sensitivity_ci.high,
                              scores->specificity, scores->specificity_ci.low, scores->specificity_ci.high};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) csv_add_number(csv, numbers[k]);
    text_add(csv, "\n");
}

static status_code write_operating(const class_files *f, failure *failure) {
    const class_results *s = f->scores;
    text csv = {0};
    if (s->operating.rule.positive < 0) return drop(f, RUN_OPERATING, failure);
    text_add(&csv, "class,threshold,goal,part,column,value,positives,negatives,sensitivity,sensitivity_low,"
                   "sensitivity_high,specificity,specificity_low,specificity_high\n");
    add_operating(f, "val", NULL, &s->operating.chosen_on, &csv);
    for (size_t k = 0; k < s->stratum_count; k++)
        add_operating(f, "test", &s->strata[k], &s->strata[k].operating, &csv);
    return write_out(f, RUN_OPERATING, &csv, failure);
}

status_code class_files_write(const class_files *f, failure *failure) {
    status_code status = folder_make(f->out, failure);
    if (status == STATUS_OK) status = write_examples(f, failure);
    if (status == STATUS_OK) status = write_classes(f, failure);
    if (status == STATUS_OK) status = write_strata(f, failure);
    if (status == STATUS_OK) status = write_confusion(f, failure);
    if (status == STATUS_OK) status = write_reliability(f, failure);
    if (status == STATUS_OK) status = write_patients(f, failure);
    if (status == STATUS_OK) status = write_roc(f, failure);
    if (status == STATUS_OK) status = write_operating(f, failure);
    const class_gallery gallery = {f->set, f->predictions.probabilities, f->losses, f->gallery_column, f->out};
    return status == STATUS_OK ? class_gallery_write(&gallery, failure) : status;
}
