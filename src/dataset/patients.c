#include "dataset/patients.h"

#include "dataset/value_numbers.h"

#include <stdlib.h>
#include <string.h>

void patients_close(patients *p) {
    free(p->of);
    text_close(&p->nobody);
}

static const char *patient_of(const case_groups *groups, const char *id) {
    const long row = case_groups_find(groups, id);
    return row < 0 ? "" : csv_cell(&groups->table, (size_t)row, (size_t)case_groups_patients(groups));
}

status_code patients_open(patients *p, const case_groups *groups, const dataset *set, failure *failure) {
    size_t *numbers = malloc((set->train_count + 1) * sizeof *numbers), nobodys = 0, used = 0;
    *p = (patients){.of = malloc((set->train_count + 1) * sizeof *p->of)};
    for (size_t k = 0; k < set->train_count; k++) {
        if (*patient_of(groups, set->train[k].id)) continue;
        text_format(&p->nobody, "\n%zu", k); /* a line end is at the front of no name */
        text_add_bytes(&p->nobody, "", 1);
        nobodys++;
    }
    status_code status = numbers && p->of && !p->nobody.failed ? STATUS_OK : fail_memory(failure, "the patients");
    for (size_t k = 0; k < set->train_count && status == STATUS_OK; k++) {
        p->of[k] = patient_of(groups, set->train[k].id);
        if (*p->of[k]) continue;
        p->of[k] = text_string(&p->nobody) + used;
        used += strlen(p->of[k]) + 1;
    }
    if (status == STATUS_OK) status = value_numbers(p->of, set->train_count, numbers, &p->blocks, failure);
    p->named = p->blocks - nobodys;
    free(numbers);
    return status;
}
