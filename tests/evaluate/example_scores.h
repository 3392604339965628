/* Scores to test with: Dice of some cases and two regions, 1 and "both" = (1, 2). */
#ifndef HWS_TESTS_EXAMPLE_SCORES_H
#define HWS_TESTS_EXAMPLE_SCORES_H

#include "evaluate/scores.h"
#include "testing.h"

/* dice: [case][2]. The cases are called case_0, case_1, ... */
static inline void open_scores(scores *result, size_t cases, const double *dice) {
    region_list regions = {0};
    assert_int_equal(regions_add_named(&regions, "1=1,both=1+2", NULL), STATUS_OK);
    assert_int_equal(scores_open(result, cases, &regions, NULL), STATUS_OK);
    regions_close(&regions);
    result->measured[METRIC_DICE] = result->measured[METRIC_TP] = 1;
    for (size_t k = 0; k < cases; k++) {
        char name[32], path[64];
        snprintf(name, sizeof name, "case_%zu", k);
        snprintf(path, sizeof path, "some/\"folder\"/case_%zu.nii.gz", k);
        assert_int_equal(scores_name(result, k, name, path, path, NULL), STATUS_OK);
        for (size_t region = 0; region < 2; region++) {
            scores_at(result, k, region)[METRIC_DICE] = dice[2 * k + region];
            scores_at(result, k, region)[METRIC_TP] = (double)(10 * k + region);
        }
    }
}

#endif
