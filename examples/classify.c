/*
 * Classification of pictures in a C program of your own: a run's folder (or several, averaged) and PNG or JPEG files in, a line
 * of probabilities for each out, as hws predict writes them.
 *
 *     classify RUN[,RUN...] IMAGE...
 */
#include <hws_predict.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_MAX = 16 };

static int split(char *list, const char **runs) {
    int count = 0;
    for (char *at = strtok(list, ","); at && count < RUNS_MAX; at = strtok(NULL, ",")) runs[count++] = at;
    return count;
}

static void print_header(const hws_predict_classifier *classifier) {
    printf("file,prediction");
    for (int k = 0; k < hws_predict_classifier_classes(classifier); k++)
        printf(",p_%s", hws_predict_classifier_class_name(classifier, k));
    printf("\n");
}

static void print_row(const hws_predict_classifier *classifier, const char *file, const float *p) {
    const int classes = hws_predict_classifier_classes(classifier);
    int best = 0;
    for (int k = 1; k < classes; k++)
        if (p[k] > p[best]) best = k;
    printf("%s,%s", file, hws_predict_classifier_class_name(classifier, best));
    for (int k = 0; k < classes; k++) printf(",%.9g", (double)p[k]);
    printf("\n");
}

int main(int count, char **arguments) {
    const char *runs[RUNS_MAX];
    hws_predict_classifier *classifier = NULL;
    hws_predict_error error;
    if (count < 3) {
        fputs("usage: classify RUN[,RUN...] IMAGE...\n", stderr);
        return 2;
    }
    const int run_count = split(arguments[1], runs);
    hws_predict_status status = hws_predict_classifier_open(&classifier, runs, run_count, 0, &error);
    const size_t classes = (size_t)hws_predict_classifier_classes(classifier);
    float *p = malloc((classes + 1) * sizeof *p);
    if (status == HWS_PREDICT_OK) print_header(classifier);
    for (int k = 2; k < count && p && status == HWS_PREDICT_OK; k++) {
        status = hws_predict_classify_file(classifier, arguments[k], p, &error);
        if (status == HWS_PREDICT_OK) print_row(classifier, arguments[k], p);
    }
    if (status != HWS_PREDICT_OK) fprintf(stderr, "classify: %s\n", error.message);
    free(p);
    hws_predict_classifier_close(&classifier);
    return status != HWS_PREDICT_OK;
}
