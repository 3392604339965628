#include "run/objective.h"

#include <stddef.h>

const char *objective_name(int kind) {
    static const char *const NAMES[] = {"erm", "dro", "reweight", "ohem", "group-dro", "jtt", "cvar-batch"};
    return kind >= OBJECTIVE_ERM && kind <= OBJECTIVE_CVAR_BATCH ? NAMES[kind] : NULL;
}

int objective_draws_by_group(objective_kind kind) { return kind == OBJECTIVE_REWEIGHT || kind == OBJECTIVE_GROUP_DRO; }
