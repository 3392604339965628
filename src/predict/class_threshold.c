#include "predict/class_threshold.h"

#include "core/arg_max.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>

static int is_called(const char *name, const char *words, size_t length) {
    return strlen(name) == length && strncmp(name, words, length) == 0;
}

static status_code refuse(const char *words, const run_facts *facts, failure *failure) {
    text known = {0};
    const int count = facts->class_names ? facts->class_count : 0;
    for (int k = 0; k < count; k++) text_format(&known, "%s%s", k ? ", " : "", facts->class_names[k]);
    const status_code status =
        fail(failure, STATUS_BAD_INPUT,
             "--threshold %.100s: write CLASS=P, one of %.500s and a probability of 0 to 1, such as %.60s=0.3", words,
             text_string(&known), count ? facts->class_names[count - 1] : "CLASS");
    text_close(&known);
    return status;
}

status_code class_threshold_parse(const char *words, const run_facts *facts, class_threshold *threshold,
                                  failure *failure) {
    *threshold = (class_threshold){.positive = -1};
    if (!words) return STATUS_OK;
    const char *equals = strrchr(words, '=');
    char *end = NULL;
    for (int k = 0; equals && facts->class_names && k < facts->class_count; k++)
        if (is_called(facts->class_names[k], words, (size_t)(equals - words))) threshold->positive = k;
    if (equals) threshold->at = strtof(equals + 1, &end);
    const int good = threshold->positive >= 0 && equals[1] && !*end && threshold->at >= 0 && threshold->at <= 1;
    return good ? STATUS_OK : refuse(words, facts, failure);
}

int class_threshold_decide(class_threshold threshold, const float *probabilities, int classes) {
    const int best = arg_max(probabilities, classes), positive = threshold.positive;
    if (positive < 0) return best;
    if (probabilities[positive] >= threshold.at) return positive;
    int other = positive ? 0 : 1;
    for (int k = other + 1; k < classes; k++)
        if (k != positive && probabilities[k] > probabilities[other]) other = k;
    return other;
}
