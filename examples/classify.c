/*
 * Classification of pictures in a C program of your own: a run's folder (or several, averaged) and PNG or JPEG files
 * in, a line of probabilities for each out, as hws predict writes them.
 *
 *     classify RUN[,RUN...] IMAGE...
 */
#include <hws_predict.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The runs of a list, which is cut into them; NULL if there is no memory. */
static const char **split(char *list, int *count) {
    size_t most = 1;
    for (const char *at = list; *at; at++) most += *at == ',';
    const char **runs = malloc(most * sizeof *runs);
    *count = 0;
    if (!runs) return NULL;
    for (char *at = strtok(list, ","); at; at = strtok(NULL, ",")) runs[(*count)++] = at;
    return runs;
}

/* A field of a CSV file, in quotes where it needs them. */
static void print_field(const char *before, const char *text) {
    if (!text[strcspn(text, ",\"\r\n")]) {
        printf("%s%s", before, text);
        return;
    }
    printf("\"%s", before);
    for (; *text; text++) {
        if (*text == '"') putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_header(const hws_predict_classifier *classifier) {
    printf("file,prediction");
    for (int k = 0; k < hws_predict_classifier_classes(classifier); k++) {
        printf(",");
        print_field("p_", hws_predict_classifier_class_name(classifier, k));
    }
    printf("\n");
}

static void print_row(const hws_predict_classifier *classifier, const char *file, const float *p) {
    const int classes = hws_predict_classifier_classes(classifier);
    int best = 0;
    for (int k = 1; k < classes; k++)
        if (p[k] > p[best]) best = k;
    print_field("", file);
    printf(",");
    print_field("", hws_predict_classifier_class_name(classifier, best));
    for (int k = 0; k < classes; k++) printf(",%.9g", (double)p[k]);
    printf("\n");
}

static int fail(const char *message) {
    fprintf(stderr, "classify: %s\n", message);
    return 1;
}

/* Prints a row for each file. Returns the exit code. */
static int classify(hws_predict_classifier *classifier, char **files, int count) {
    float *p = malloc((size_t)hws_predict_classifier_classes(classifier) * sizeof *p);
    if (!p) return fail("out of memory");
    hws_predict_status status = HWS_PREDICT_OK;
    hws_predict_error error;
    print_header(classifier);
    for (int k = 0; k < count && status == HWS_PREDICT_OK; k++) {
        status = hws_predict_classify_file(classifier, files[k], p, &error);
        if (status == HWS_PREDICT_OK) print_row(classifier, files[k], p);
    }
    free(p);
    if (status != HWS_PREDICT_OK) return fail(error.message);
    /* Only now is it certain that the rows were written: a full disk shows when the last of them leave the buffer. */
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) return fail(errno ? strerror(errno) : "the table could not be written");
    return 0;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fputs("usage: classify RUN[,RUN...] IMAGE...\n", stderr);
        return 2;
    }
    int run_count;
    const char **runs = split(arguments[1], &run_count);
    if (!runs) return fail("out of memory");
    hws_predict_classifier *classifier = NULL;
    hws_predict_error error;
    const hws_predict_status status = hws_predict_classifier_open(&classifier, runs, run_count, 0, &error);
    const int code = status == HWS_PREDICT_OK ? classify(classifier, arguments + 2, count - 2) : fail(error.message);
    hws_predict_classifier_close(&classifier);
    free(runs);
    return code;
}
