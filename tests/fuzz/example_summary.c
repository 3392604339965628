/* A small summary.json with all that it can hold. */
#include "fuzz.h"
#include "testing.h"

static const char EXAMPLE[] =
    "{\"label_names\": {\"1\": \"WM\", \"(1, 2)\": \"both\"}, \"metric_per_case\": ["
    "{\"metrics\": {\"(1, 2)\": {\"Dice\": 0.5, \"FN\": 3, \"HD95\": 1.5}, \"1\": {\"Dice\": NaN}}, "
    "\"prediction_file\": \"/a/x.nii.gz\", \"reference_file\": \"/b/x.nii.gz\"}, "
    "{\"metrics\": {\"1\": {\"Dice\": null}, \"(1, 2)\": {\"Dice\": 1}}, \"prediction_file\": \"y.nii\"}]}";

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    (void)random;
    memcpy(bytes, EXAMPLE, sizeof EXAMPLE - 1);
    *front = sizeof EXAMPLE - 1;
    return sizeof EXAMPLE - 1;
}
