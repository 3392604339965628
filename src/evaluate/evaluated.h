/*
 * Evaluations that lie somewhere: what hws compare and hws report are given by name.
 *
 * A name is a summary.json by hws evaluate or nnU-Net v2, a folder that has one (an evaluation's, a run's, nnU-Net's
 * validation folder), or a folder whose `validation` has one, as nnU-Net's fold_0. The dataset is the folder with a
 * dataset.json that is named, or else above the references that the summary names, or else the summary's own or one of
 * the three above it, where nnU-Net keeps a copy.
 */
#ifndef HWS_EVALUATE_EVALUATED_H
#define HWS_EVALUATE_EVALUATED_H

#include "core/path.h"
#include "dataset/case_groups.h"
#include "evaluate/scores.h"

typedef struct evaluated {
    char summary[PATH_SIZE]; /* the file */
    char folder[PATH_SIZE];  /* that it lies in */
    char dataset[PATH_SIZE]; /* empty: not known */
    scores scores;           /* labels without names of their own have those of the dataset */
} evaluated;

/* Whether a name is one of these; a run that was not evaluated is not. */
int evaluated_is_there(const char *name);

/* `dataset` may be NULL. Close it, also after a failure. */
status_code evaluated_open(evaluated *evaluated, const char *name, const char *dataset, failure *failure);
void evaluated_close(evaluated *evaluated);

/* What people call it: the name of its folder, or of a run's. */
void evaluated_call(const evaluated *evaluated, char *words, size_t capacity);

/* DATASET/groups.csv; 0: there is none. */
int evaluated_groups(const evaluated *evaluated, char path[PATH_SIZE]);

/* The groups that it was evaluated by, as its cases.csv has them; the table is empty if there are none. Close
   them, also after a failure. */
status_code evaluated_own_groups(const evaluated *evaluated, case_groups *groups, failure *failure);

/* The files of a case, also when the evaluation was moved to this machine: where the summary says, or else beside the
   summary and in the dataset's labelsTr and imagesTr. 0: it is not there. */
int evaluated_prediction(const evaluated *evaluated, const scored_case *one, char path[PATH_SIZE]);
int evaluated_reference(const evaluated *evaluated, const scored_case *one, char path[PATH_SIZE]);
int evaluated_image(const evaluated *evaluated, const scored_case *one, const char *images, char path[PATH_SIZE]);

#endif
