/* What a run minimises (train/batches.h tells how each draws its batches). */
#ifndef HWS_RUN_OBJECTIVE_H
#define HWS_RUN_OBJECTIVE_H

typedef enum objective_kind {
    OBJECTIVE_ERM,
    OBJECTIVE_DRO,
    OBJECTIVE_REWEIGHT,
    OBJECTIVE_OHEM,
    OBJECTIVE_GROUP_DRO,
    OBJECTIVE_JTT,
    OBJECTIVE_CVAR_BATCH
} objective_kind;

/* What --objective calls it; NULL for no objective. */
const char *objective_name(int kind);

/* Whether batches are drawn by groups, of which each example must then have one. */
int objective_draws_by_group(objective_kind kind);

#endif
