/*
 * One answer for each patient: the mean of the probabilities of its examples.
 *
 * Whoever has several pictures of a patient wants to know what the patient has. Patients whose examples are of several
 * classes have no such answer, and are left out; an example of nobody is a patient of its own.
 */
#ifndef HWS_EVALUATE_CLASS_PATIENTS_H
#define HWS_EVALUATE_CLASS_PATIENTS_H

#include "evaluate/class_scores.h"

typedef struct class_patients {
    int64_t count, mixed; /* patients with an answer, and those that are left out */
    int64_t *first;       /* [count]: the first example of each */
    int64_t *examples;    /* [count]: how many it has */
    uint8_t *labels;
    float *probabilities; /* [count][classes] */
} class_patients;

/* Of predictions whose patients are known. Close them, also after a failure. */
status_code class_patients_open(class_patients *patients, const class_predictions *predictions, failure *failure);
void class_patients_close(class_patients *patients);

status_code class_patients_score(const class_patients *patients, int classes, class_scored *scored, failure *failure);

#endif
