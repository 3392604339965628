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

#endif
