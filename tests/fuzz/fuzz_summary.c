/* Any bytes as a summary.json: refused, or read and able to be compared with itself. */
#include "evaluate/comparison.h"
#include "evaluate/summary.h"
#include "fuzz.h"

static void compare_with_itself(const char *bytes, size_t size, scores *scores) {
    static const char *const NAMES[] = {"A", "B"};
    struct scores both[2] = {*scores};
    strata strata;
    comparison comparison;
    const compared_methods methods = {2, both, NAMES};
    text lacking = {0}, out = {0}, dropped = {0};
    require(summary_parse("again", bytes, size, &both[1], NULL) == STATUS_OK);
    require(scores_align(&methods, 0, &dropped, NULL) == STATUS_OK);
    require(strata_open(&strata, NULL, NULL, &both[0], &lacking, NULL) == STATUS_OK);
    if (comparison_open(&comparison, &methods, &strata, METRIC_DICE, NULL) == STATUS_OK)
        for (int k = 0; k < 10; k++)
            require(comparison_write(&comparison, (comparison_layout)(k & 1), (table_format)(k / 2), &out, NULL) ==
                    STATUS_OK);
    comparison_close(&comparison);
    strata_close(&strata);
    text_close(&lacking);
    text_close(&out);
    scores_close(&both[1]);
    *scores = both[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > FUZZ_LARGEST) return 0;
    scores scores;
    failure failure;
    if (summary_parse("data", (const char *)data, size, &scores, &failure) == STATUS_OK)
        compare_with_itself((const char *)data, size, &scores);
    scores_close(&scores);
    return 0;
}
