/*
 * A run's folder: what is in it and what it is called (docs/formats.md, "A run's folder").
 *
 * Nobody else knows the names. The files of an evaluation may also stand in a folder of their own; they have the same
 * names there.
 */
#ifndef HWS_RUN_RUN_FOLDER_H
#define HWS_RUN_RUN_FOLDER_H

#include "core/failure.h"
#include "core/path.h"
#include "core/text.h"

#define RUN_FILES(X)                                                                                                   \
    X(RUN_CONFIG, "config.json")                  /* what the run was told, and facts about it */                      \
    X(RUN_PLAN, "plans.json")                     /* segmentation: the plan that it was trained with */                \
    X(RUN_FOLD, "fold.json")                      /* segmentation: the cases of its fold */                            \
    X(RUN_HISTORY, "history.csv")                 /* a row per epoch */                                                \
    X(RUN_DISTRIBUTION, "distribution.csv")       /* quantiles of losses and of p per epoch */                         \
    X(RUN_LOSSES, "losses.csv")                   /* the last loss of every example */                                 \
    X(RUN_HARDEST, "hardest.csv")                 /* the examples with the largest losses */                           \
    X(RUN_HARDEST_PICTURES, "hardest")            /* a folder with a picture of each */                                \
    X(RUN_TRIAGE, "triage.csv")                   /* all examples by the doubt in their labels */                      \
    X(RUN_TRIAGE_PICTURES, "triage")              /* a folder with a picture of each of the first */                   \
    X(RUN_FEATURES, "features.csv")               /* how a table became numbers */                                     \
    X(RUN_MISLABELLED, "mislabelled.csv")         /* which labels were made wrong for study */                         \
    X(RUN_LOG, "train.log")                       /* what hws train told */                                            \
    X(RUN_TENSORBOARD, "tensorboard")             /* a folder with event files */                                      \
    X(RUN_LATEST, "latest.safetensors")           /* the checkpoint */                                                 \
    X(RUN_PREVIOUS, "previous.safetensors")       /* the checkpoint before it */                                       \
    X(RUN_BEST, "best.safetensors")               /* the weights of the best epoch */                                  \
    X(RUN_FIRST, "first.safetensors")             /* jtt with --from: the weights that both trainings begin with */    \
    X(RUN_POSTPROCESSING, "postprocessing.json")  /* segmentation: what hws predict does to label maps */              \
    X(RUN_VALIDATION, "validation")               /* segmentation: predictions for the validation cases */             \
    X(RUN_VALIDATION_LATEST, "validation-latest") /* the same by the latest weights */                                 \
    X(RUN_VALIDATION_UNMIRRORED, "validation-unmirrored") /* the same without mirror images, by the best weights */    \
    X(RUN_VALIDATION_LATEST_UNMIRRORED, "validation-latest-unmirrored")                                                \
    X(RUN_EXAMPLES, "examples.csv")         /* classification: predictions, a row per example */                       \
    X(RUN_CLASSES, "classes.csv")           /* classification: accuracy by class */                                    \
    X(RUN_STRATA, "strata.csv")             /* classification: scores by group */                                      \
    X(RUN_CONFUSION, "confusion.csv")       /* classification: labels against predictions */                           \
    X(RUN_RELIABILITY, "reliability.csv")   /* classification: confidence against accuracy */                          \
    X(RUN_PATIENTS, "patients.csv")         /* classification: an answer for each patient */                           \
    X(RUN_ROC, "roc.csv")                   /* classification: what each threshold gives */                            \
    X(RUN_OPERATING, "operating_point.csv") /* classification: a threshold, and what it gives */                       \
    X(RUN_SUMMARY, "summary.json")          /* scores, in nnU-Net's form */                                            \
    X(RUN_CASES, "cases.csv")               /* scores, a row per case and label */                                     \
    X(RUN_TABLE_TEXT, "table.txt")          /* scores by group */                                                      \
    X(RUN_TABLE_CSV, "table.csv")                                                                                      \
    X(RUN_TABLE_MARKDOWN, "table.md")                                                                                  \
    X(RUN_TABLE_LATEX, "table.tex")                                                                                    \
    X(RUN_COMPARISON_TEXT, "comparison.txt") /* several evaluations side by side */                                    \
    X(RUN_COMPARISON_CSV, "comparison.csv")                                                                            \
    X(RUN_COMPARISON_MARKDOWN, "comparison.md")                                                                        \
    X(RUN_COMPARISON_LATEX, "comparison.tex")                                                                          \
    X(RUN_COMPARISON_JSON, "comparison.json")                                                                          \
    X(RUN_WORST, "worst.csv")      /* the cases with the lowest scores */                                              \
    X(RUN_WORST_PICTURES, "worst") /* a folder with a picture of each */                                               \
    X(RUN_GROUPS, "groups.csv")    /* groups that the report shows the cases by; put there by the user */              \
    X(RUN_REPORT, "report.html")   /* the page of hws report */

typedef enum run_file {
#define RUN_FILE_CODE(code, name) code,
    RUN_FILES(RUN_FILE_CODE)
#undef RUN_FILE_CODE
        RUN_FILE_COUNT
} run_file;

const char *run_file_name(run_file file);

status_code run_path(char path[PATH_SIZE], const char *folder, run_file file, failure *failure);

/* Whether the folder has this file, and whether it holds a run at all: whether it has RUN_CONFIG. */
int run_has(const char *folder, run_file file);
int run_exists(const char *folder);

/* Whether hws has written the folder: a run, whose RUN_CONFIG is not another program's, or the
   files of an evaluation. */
int run_is_ours(const char *folder);

/* The same, as a failure that says so. */
status_code run_require(const char *folder, failure *failure);

/*
 * The picture of an example in one of the folders of pictures: EXAMPLE.png. What cannot stand in a file's name, and
 * '%', is written as % and two hexadecimal digits, and a long name is cut and ends with its CRC-64; so different
 * examples have different pictures, whatever they are called.
 */
status_code run_picture_path(char path[PATH_SIZE], const char *folder, run_file pictures, const char *example,
                             failure *failure);

/* Takes the folder for this process: fails when another one trains in it. *lock is a descriptor to close. */
status_code run_lock(const char *folder, int *lock, failure *failure);

/* The file appears whole or not at all. */
status_code run_write(const char *folder, run_file file, const text *text, failure *failure);

/* Which of a run's weights to use. */
typedef enum run_weights { RUN_WEIGHTS_BEST, RUN_WEIGHTS_LATEST } run_weights;

/* "best" and "latest"; "final", as nnU-Net calls it, is "latest", too. */
status_code run_weights_parse(const char *name, run_weights *weights, failure *failure);
run_file run_weights_file(run_weights weights);
/* Where predictions of the validation cases belong: other weights and unmirrored windows give other label
   maps, and each has its place. */
run_file run_validation_file(run_weights weights, int mirror);

#endif
