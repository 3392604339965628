#include "run/objective.h"

#include <string.h>

status_code objective_parse(const char *text, objective_kind *kind, failure *failure) {
    static const char *const NAMES[] = {"erm", "dro", "reweight", "ohem"};
    for (int k = 0; k < 4; k++)
        if (strcmp(text, NAMES[k]) == 0) {
            *kind = (objective_kind)k;
            return STATUS_OK;
        }
    return fail(failure, STATUS_BAD_INPUT, "there is no objective '%.100s'; dro, erm, reweight and ohem are known",
                text);
}
