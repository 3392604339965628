/* Both layouts of dataset.json. */
#include "fuzz.h"
#include "testing.h"

static const char *const EXAMPLES[] = {
    "{\"channel_names\": {\"0\": \"T2\"}, \"labels\": {\"background\": 0, \"x\": 1, \"y\": [1, 2], \"ignore\": 3}, "
    "\"regions_class_order\": [1, 2], \"numTraining\": 2, \"file_ending\": \".nii.gz\"}",
    "{\"channel_names\": {\"0\": \"T2\", \"1\": \"T1\"}, \"labels\": {\"background\": 0, \"x\": 1}, \"file_ending\": "
    "\".nii\", \"dataset\": {\"c\": {\"images\": [\"c.nii\", \"/d.nii\"], \"label\": \"./e.nii\"}}}",
    "{\"name\": \"n\", \"modality\": {\"0\": \"MRI\"}, \"labels\": {\"0\": \"background\", \"1\": \"x\"}, "
    "\"training\": "
    "[{\"image\": \"./imagesTr/a.nii.gz\", \"label\": \"./labelsTr/a.nii.gz\"}, {\"image\": \"z.nii\", \"label\": "
    "\"b.nii\"}], \"test\": [\"t.nii\", {\"image\": \"u.nii\"}, [\"v.nii\"]]}",
};

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    const char *example = EXAMPLES[test_random(random) % 3];
    *front = strlen(example);
    memcpy(bytes, example, *front);
    return *front;
}
