#define _POSIX_C_SOURCE 200809L
#include "dataset/findings.h"

#include "core/array.h"
#include "ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

void findings_add(findings *found, const char *id, int fatal, const char *sentence) {
    dataset_finding *list = array_grow(found->list, found->count, &found->capacity, sizeof *list);
    if (list) found->list = list;
    char *copy = list ? strdup(sentence) : NULL;
    found->out_of_memory |= !copy;
    if (!copy) return;
    found->list[found->count++] = (dataset_finding){id, fatal, copy};
    found->problems += fatal != 0;
}

void findings_allow(findings *found) {
    for (size_t k = 0; k < found->count; k++) found->list[k].fatal = 0;
    found->problems = 0;
}

/* ---- between ranks ----------------------------------------------------------------------------------------------- */

/* What stands before each sentence when they travel. */
typedef struct heading {
    size_t item, length;
    int fatal;
} heading;

static size_t packed_size(const findings *found, size_t count) {
    size_t size = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < found[k].count; j++) size += sizeof(heading) + strlen(found[k].list[j].sentence);
    return size;
}

static void pack(const findings *found, size_t count, char *to) {
    for (size_t k = 0; k < count; k++)
        for (size_t j = 0; j < found[k].count; j++) {
            const dataset_finding *one = &found[k].list[j];
            const heading heading = {k, strlen(one->sentence), one->fatal};
            memcpy(to, &heading, sizeof heading);
            memcpy(to + sizeof heading, one->sentence, heading.length);
            to += sizeof heading + heading.length;
        }
}

static void unpack(findings *found, const dataset *set, const char *from, const char *end) {
    while (from < end) {
        heading heading;
        memcpy(&heading, from, sizeof heading);
        from += sizeof heading;
        const size_t item = heading.item, tests = item < set->train_count ? 0 : item - set->train_count;
        char *sentence = strndup(from, heading.length);
        found[item].out_of_memory |= !sentence;
        if (sentence)
            findings_add(&found[item], item < set->train_count ? set->train[item].id : set->test[tests].id,
                         heading.fatal, sentence);
        free(sentence);
        from += heading.length;
    }
}

static void forget(findings *found, size_t count) {
    for (size_t k = 0; k < count; k++) {
        for (size_t j = 0; j < found[k].count; j++) free(found[k].list[j].sentence);
        found[k].count = found[k].problems = 0;
    }
}

status_code findings_share(findings *found, const dataset *set, failure *failure) {
    const ranks *r = ranks_here();
    const size_t count = set->train_count + set->test_count;
    size_t sizes[RANKS_MAX], before = 0, all = 0;
    int out_of_memory = 0;
    if (r->count == 1) return STATUS_OK;
    for (size_t k = 0; k < count; k++) out_of_memory |= found[k].out_of_memory;
    sizes[r->rank] = packed_size(found, count);
    ranks_gather_each(r, sizes, sizeof *sizes);
    for (int k = 0; k < r->count; k++) {
        if (k == r->rank) before = all;
        all += sizes[k];
    }
    char *packed = malloc(all + 1);
    status_code status = packed && !out_of_memory ? STATUS_OK : fail_memory(failure, "checking a dataset");
    status = ranks_agree(r, status, failure);
    if (status == STATUS_OK) {
        pack(found, count, packed + before);
        ranks_gather(r, packed, sizes);
        forget(found, count);
        unpack(found, set, packed, packed + all);
    }
    free(packed);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

status_code findings_gather(findings *found, size_t count, dataset_report *report, failure *failure) {
    size_t total = 0, next = 0;
    int out_of_memory = 0;
    for (size_t k = 0; k < count; k++) {
        total += found[k].count;
        out_of_memory |= found[k].out_of_memory;
    }
    report->findings = out_of_memory ? NULL : calloc(total + 1, sizeof *report->findings);
    if (!report->findings) return fail_memory(failure, "checking a dataset");
    for (size_t k = 0; k < count; k++) {
        for (size_t j = 0; j < found[k].count; j++) {
            report->findings[next++] = found[k].list[j];
            report->problems += found[k].list[j].fatal != 0;
        }
        found[k].count = 0; /* the report owns them now */
    }
    report->count = total;
    return STATUS_OK;
}

void findings_close(findings *found, size_t count) {
    if (found) forget(found, count);
    for (size_t k = 0; found && k < count; k++) free(found[k].list);
    free(found);
}
