/* What the forms of hws evaluate share. */
#ifndef HWS_CLI_EVALUATE_H
#define HWS_CLI_EVALUATE_H

#include "evaluate/case_files.h"
#include "run/run_folder.h"

typedef struct evaluate_settings {
    const case_files *listed; /* instead of predictions and references; NULL: these */
    const char *predictions, *references, *labels, *regions, *groups, *by, *images, *out;
    long long ignore;  /* 0: no label */
    long long threads; /* 0: one per processor */
    int hd95, surface, common, quiet, no_table;
} evaluate_settings;

/* Scores folders of label maps, prints the table, writes the files; prints what is wrong and returns an exit code. */
int evaluate_folders(const evaluate_settings *settings);

/* A run that segments: predicts the validation cases of its fold into RUN/validation and scores them. */
typedef struct evaluate_volumes_settings {
    const char *run;
    run_weights weights;
    int threads, no_mirror, overwrite, hd95, surface, quiet;
    const char *out; /* NULL: the run's folder, where the report finds it */
} evaluate_volumes_settings;

int evaluate_volumes(const evaluate_volumes_settings *settings);

#endif
