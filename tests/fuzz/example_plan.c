/* A plan of one channel and two or three stages. */
#include "fuzz.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const int edge = 8 * (int)(1 + test_random(random) % 9), batch = (int)(1 + test_random(random) % 9);
    static const char *const KINDS[] = {"z-score", "ct", "rescale", "none"};
    const char *more =
        test_random(random) % 2 ? ",{\"features\": 16, \"kernel\": [3, 3, 3], \"stride\": [1, 2, 2]}" : "";
    *front = 300;
    return (size_t)snprintf(
        (char *)bytes, FUZZ_LARGEST,
        "{\"hws_plan\": 1, \"dataset\": \"d\", \"classes\": 2, \"spacing\": [1, 2.5, %.3f], \"median_size\": [9, 9, "
        "9.5],"
        "\"patch\": [%d, %d, 8], \"batch\": %d, \"channels\": [{\"name\": \"T2\", \"normalisation\": \"%s\","
        "\"masked\": false, \"mean\": 0, \"deviation\": 1, \"low\": 0, \"high\": 1}], \"stages\": ["
        "{\"features\": 8, \"kernel\": [3, 3, 3], \"stride\": [1, 1, 1]},"
        "{\"features\": 16, \"kernel\": [1, 3, 3], \"stride\": [2, 2, 2]}%s]}",
        test_unit(random), edge, edge, batch, KINDS[test_random(random) % 4], more);
}
