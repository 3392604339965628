/* scores.csv: what hws predict says about pictures and the rows of tables, a line each. */
#ifndef HWS_PREDICT_SCORE_TABLE_H
#define HWS_PREDICT_SCORE_TABLE_H

#include "predict/class_threshold.h"
#include "predict/predict.h"
#include "run/config.h"

typedef struct score_table {
    const char *heading; /* of the first column: file, id, row */
    const char *what;    /* an example is: picture, row */
    int64_t count;
    const run_facts *facts; /* whose classes they are */
    const float *probabilities;
    void *context;
    void (*name)(void *context, int64_t example, text *name); /* adds what an example is called */
} score_table;

/* Refuses scores that would take the place of what they are about, or of a file that holds no scores: to
   be asked before the work. */
status_code score_table_check(const predict_request *request, failure *failure);

/* Writes request.output, or scores.csv in the folder that it names, and tells request.wrote. */
status_code score_table_write(const score_table *scores, const predict_request *request, failure *failure);

#endif
