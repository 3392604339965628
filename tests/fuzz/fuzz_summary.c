/* Any bytes as a summary.json: refused, or read and able to be compared with itself. */
#include "evaluate/comparison.h"
#include "evaluate/summary.h"
#include "fuzz.h"

static void compare_with_itself(const char *bytes, size_t size, scores *a) {
    scores b;
    strata strata;
    comparison comparison;
    const compared_methods methods = {{a, &b}, {"A", "B"}};
    text lacking = {0}, out = {0};
    require(summary_parse("again", bytes, size, &b, NULL) == STATUS_OK);
    require(scores_align(a, &b, 0, NULL) == STATUS_OK);
    require(strata_open(&strata, NULL, NULL, a, &lacking, NULL) == STATUS_OK);
    if (comparison_open(&comparison, &methods, &strata, METRIC_DICE, NULL) == STATUS_OK)
        for (int k = 0; k < 8; k++)
            require(comparison_write(&comparison, (comparison_layout)(k & 1), (table_format)(k / 2), &out, NULL) ==
                    STATUS_OK);
    comparison_close(&comparison);
    strata_close(&strata);
    text_close(&lacking);
    text_close(&out);
    scores_close(&b);
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
