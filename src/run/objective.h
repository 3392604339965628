/* What a run minimises (train/batches.h tells how each draws its batches). */
#ifndef HWS_RUN_OBJECTIVE_H
#define HWS_RUN_OBJECTIVE_H

#include "core/failure.h"

typedef enum objective_kind { OBJECTIVE_ERM, OBJECTIVE_DRO, OBJECTIVE_REWEIGHT, OBJECTIVE_OHEM } objective_kind;

/* "erm", "dro", "reweight" and "ohem". */
status_code objective_parse(const char *text, objective_kind *kind, failure *failure);

#endif
