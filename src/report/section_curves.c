/* Learning curves, as in the paper's Figure 2: on new examples above, on the training examples below. */
#include "report/class_metric.h"
#include "report/html.h"
#include "report/panel.h"

#include <math.h>
#include <stdio.h>

enum { MOST_BANDS = 3 }; /* more bands than this hide each other; the spread then gets a panel of its own */

static int overall_panel(text *page, const runs *runs, const class_metric *metric) {
    const int dice = runs->all[0].is_segmentation;
    const panel panel = {
        .title = dice ? "Patch validation Dice" : "Accuracy on test examples",
        .explanation = dice ? "How well prediction and reference overlap on one patch of each validation case, on "
                              "average over all labels: a quick look while training, not the full evaluation."
                            : "The share of all test examples that are classified correctly.",
        .column = metric->column,
        .unit = UNIT_PERCENT,
        .floor = 0,
        .ceiling = 1};
    return panel_write(page, runs, &panel);
}

static int focus_panel(text *page, const runs *runs, const class_metric *metric) {
    double kept;
    const char *focus = class_metric_focus(metric, runs, &kept);
    if (!focus) return 0;
    char title[160], words[400], column[METRIC_COLUMN], share[NUMBER_SIZE];
    class_metric_column(metric, focus, column);
    number_share(kept, share);
    snprintf(title, sizeof title, "%s of the %s %s \xE2\x80\x9C%.60s\xE2\x80\x9D", metric->Name,
             kept < 1 ? "rare" : "worst", class_metric_word(metric, focus),
             class_metric_class_name(metric, runs, focus));
    if (kept < 1)
        snprintf(words, sizeof words, "Only %s of this %s were kept for training, but the test has all of them.", share,
                 class_metric_word(metric, focus));
    else snprintf(words, sizeof words, "The %s with the lowest value of any run at its end.", metric->class_word);
    const panel panel = {
        .title = title, .explanation = words, .column = column, .unit = UNIT_PERCENT, .floor = 0, .ceiling = 1};
    return panel_write(page, runs, &panel);
}

static int test_panels(text *page, const runs *runs, const class_metric *metric) {
    const int dice = runs->all[0].is_segmentation;
    const panel loss = {.title = dice ? "Loss on validation cases" : "Loss on test examples",
                        .explanation = runs_without_held_out(runs)
                                           ? "The mean loss on the validation cases; lower is better."
                                           : "The mean loss on examples that were not trained on; lower is better.",
                        .column = dice ? "val_loss" : "test_loss",
                        .floor = 0,
                        .ceiling = (double)NAN};
    int any = overall_panel(page, runs, metric);
    any |= focus_panel(page, runs, metric);
    any |= panel_write(page, runs, &loss);
    return any;
}

static int train_loss_panels(text *page, const runs *runs) {
    const int bands = runs->count <= MOST_BANDS;
    const panel mean = {.title = "Loss on training examples",
                        .explanation = bands ? "The mean loss over the training examples; the band is one standard "
                                               "deviation to each side."
                                             : "The mean loss over the training examples; lower is better.",
                        .column = "train_loss_mean",
                        .spread = bands ? "train_loss_std" : NULL,
                        .floor = 0,
                        .ceiling = (double)NAN};
    const panel gradient = {.title = "Norm of the gradient of the robust loss",
                            .explanation = "Over the whole training set, measured at the end of each epoch: it goes to "
                                           "zero where training converges.",
                            .column = "grad_norm",
                            .logarithmic = 1,
                            .floor = (double)NAN,
                            .ceiling = (double)NAN};
    const panel spread = {.title = "Spread of the training losses",
                          .explanation = "The standard deviation of the losses: small when no example is left behind.",
                          .column = "train_loss_std",
                          .floor = 0,
                          .ceiling = (double)NAN};
    int any = panel_write(page, runs, &mean);
    any |= panel_write(page, runs, &gradient);
    if (!bands) any |= panel_write(page, runs, &spread);
    return any;
}

static int train_panels(text *page, const runs *runs) {
    const panel robust = {.title = "Robust loss",
                          .explanation =
                              "What DRO minimises: the loss when hard examples count more, at each run's own "
                              "\xCE\xB2.",
                          .column = "robust_loss",
                          .floor = 0,
                          .ceiling = (double)NAN};
    const panel accuracy = {.title = "Accuracy on training examples",
                            .explanation = "The share of the training examples that are classified correctly.",
                            .column = "train_accuracy",
                            .unit = UNIT_PERCENT,
                            .floor = 0,
                            .ceiling = 1};
    int any = train_loss_panels(page, runs);
    any |= panel_write(page, runs, &robust);
    any |= panel_write(page, runs, &accuracy);
    return any;
}

#define CURVES_ON(examples)                                                                                            \
    "How each run got better over its epochs (an epoch is one pass\xE2\x80\x99 worth of training examples). First "    \
    "on " examples ", then on the training examples themselves."

/* Which examples the first curves are measured on. */
static const char *introduction(const runs *runs) {
    const size_t count = runs_without_held_out(runs);
    if (count == 0) return CURVES_ON("examples that were kept apart from training");
    if (count == runs->count) return CURVES_ON("the validation cases, which were trained on, too");
    return CURVES_ON("the validation cases, which some of the runs were trained on, too");
}

void curves_section(text *page, const runs *runs) {
    class_metric metric;
    if (!class_metric_open(&metric, runs)) {
        page->failed = 1;
        return;
    }
    section_open(page, runs, "Learning curves", introduction(runs), 1);
    for (size_t r = 0; r < runs->count; r++) section_note(page, runs, &runs->all[r], &runs->all[r].history);
    text_add(page, "<div class=\"panels\">\n");
    const int any = test_panels(page, runs, &metric) | train_panels(page, runs);
    text_add(page, "</div>\n");
    if (!any) text_add(page, "<p class=\"note\">No epoch has been recorded yet.</p>\n");
    section_close(page);
    class_metric_close(&metric);
}
