/*
 * What a run learnt: the work of hws evaluate RUN.
 *
 *     run_evaluation result;
 *     status = evaluate_run(&result, &(evaluate_run_request){.run = "runs/dro"}, NULL, &failure);
 *     run_evaluation_close(&result);
 */
#ifndef HWS_EVALUATE_EVALUATE_RUN_H
#define HWS_EVALUATE_EVALUATE_RUN_H

#include "evaluate/class_patients.h"
#include "evaluate/class_rates.h"
#include "evaluate/evaluate.h"
#include "evaluate/operating_point.h"
#include "images/labelled_images.h"
#include "run/run_folder.h"

/* Which set of a classifier's data. Of the run's own training set it is what the run kept. */
typedef enum scored_part { SCORE_TEST, SCORE_TRAINING, SCORE_VALIDATION } scored_part;

typedef struct evaluate_run_request {
    const char *run; /* its folder */
    /* Segmentation: runs of other folds of the same dataset, whose validation cases count, too;
       then `out` is needed. */
    const char *const *others;
    int other_count;
    run_weights weights;
    int threads;     /* 0: one per processor */
    const char *out; /* the folder for files. NULL: the run's, but a classifier writes none about other data, its
                        training set or its latest weights */

    const char *by; /* columns of groups, "sex,site". NULL: of a classifier the run's --group, else all */

    /* Classification. */
    const char *data; /* as hws train takes it; NULL: the run's */
    scored_part part;
    const char *at; /* "sensitivity=0.95" or "specificity=0.9": choose a threshold for this on the validation part */
    const char *positive; /* the class that it is for; NULL: of two classes the second */

    /* Segmentation. */
    int no_mirror;           /* do not average over mirror images */
    int overwrite;           /* predict again what is there */
    int find_postprocessing; /* 1: and write it where the evaluation goes */
    int hd95, surface;       /* distances too */
    double nsd;              /* and NSD at this tolerance, in mm; 0: do not */
    const char *empty;       /* "nan" or "1"; NULL: nan */
    const char *regions;     /* "WT=1+2+3,ET=3", instead of the dataset's labels; NULL: these */
    const char *groups;      /* a groups.csv; NULL: the dataset's */
} evaluate_run_request;

typedef struct class_result {
    int64_t count, correct;
    double accuracy, loss; /* means; NaN without images */
} class_result;

/* Examples that belong together. */
typedef struct class_stratum {
    char *column, *value; /* NULL: all examples */
    class_scored scored;
    operating_scores operating; /* where a threshold was asked for */
} class_stratum;

/* A threshold that was asked for: `rule.positive` is -1 where none was. */
typedef struct operating_result {
    operating_goal goal;
    operating_rule rule;
    operating_scores chosen_on; /* the validation part */
} operating_result;

typedef struct class_results {
    int classes;
    int are_rows; /* of a table; else images */
    int worst;    /* the class with the lowest accuracy, the first of equals; -1: there are no images */
    class_result each[LABELLED_IMAGES_CLASSES_MAX + 1]; /* one per class, then that of all */
    class_rates rates[LABELLED_IMAGES_CLASSES_MAX + 1]; /* as class_rates_of has them */
    char **class_names;                                 /* classes; NULL: their numbers */
    int64_t *confusion;                                 /* [label][prediction] */
    int knows_patients;                                 /* the data have a column of patients */
    class_patients patients; /* where some of them have several examples: an answer for each */
    class_scored by_patient; /* and how good these are */
    class_stratum *strata;   /* all examples, then each group of each column */
    size_t stratum_count;
    operating_result operating;
    size_t worst_group; /* the stratum with the lowest accuracy of those of all columns, from 1 on; 0: there is none */
} class_results;

typedef struct run_evaluation {
    int is_segmentation;
    class_results classes; /* of a classification */
    evaluation cases;      /* of a segmentation */
} run_evaluation;

/*
 * Classification: rates (class_rates.h) and loss by class, the scores of class_scores.h by group, and the confusion
 * matrix; in files examples.csv, classes.csv, strata.csv, confusion.csv and reliability.csv and roc.csv, with a
 * threshold also operating_point.csv, and patients.csv where patients have several examples. Segmentation: predicts the
 * validation cases of the run's fold into its folder, keeps those that are newer than the weights, and evaluates them
 * by the groups of the dataset's groups.csv (evaluate.h). After STATUS_STOPPED the same call goes on with the cases
 * that are left. The listener may be NULL. Close the result, also after a failure.
 */
status_code evaluate_run(run_evaluation *result, const evaluate_run_request *request, const listener *listener,
                         failure *failure);
void run_evaluation_close(run_evaluation *result);

/* Its two halves, of which evaluate_run chooses. */
status_code evaluate_classification(class_results *scores, const evaluate_run_request *request,
                                    const listener *listener, failure *failure);
status_code evaluate_segmentation(evaluation *evaluation, const evaluate_run_request *request, const listener *listener,
                                  failure *failure);

#endif
