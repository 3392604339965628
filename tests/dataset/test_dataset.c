#define _XOPEN_SOURCE 700
#include "dataset_folder.h"

static void nnunets_layout_is_listed_by_case(void **state) {
    (void)state;
    start_two_cases();
    write_text("imagesTr/.hidden_0000.nii.gz", "");
    write_text("imagesTr/notes.txt", "");
    dataset set;
    assert_int_equal(dataset_open(&set, inside(""), NULL), STATUS_OK);
    assert_int_equal(set.layout, DATASET_NNUNET);
    assert_string_equal(set.folder, dataset_root());
    assert_string_equal(set.name, dataset_root());
    assert_string_equal(set.file_ending, ".nii.gz");
    assert_int_equal(set.channels, 2);
    assert_string_equal(set.channel_names[1], "T2");
    assert_int_equal(set.label_count, 3);
    assert_int_equal(set.values, 3);
    assert_int_equal(set.ignore, -1);
    assert_int_equal(set.promised, 2);
    assert_int_equal(set.train_count, 2);
    assert_string_equal(set.ids[0], "p");
    assert_string_equal(set.train[1].id, "q");
    assert_string_equal(set.train[1].images[1], inside("imagesTr/q_0001.nii.gz"));
    assert_string_equal(set.train[1].labels, inside("labelsTr/q.nii.gz"));
    assert_int_equal(set.test_count, 1);
    assert_null(set.test[0].labels);
    dataset_close(&set);
    dataset_close(&set);
}

static void a_case_is_loaded_with_all_channels(void **state) {
    (void)state;
    start_two_cases();
    dataset set;
    volume image;
    label_map labels;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(dataset_load(&set, &set.train[1], &image, &labels, NULL), STATUS_OK);
    assert_int_equal(image.channels, 2);
    for (int i = 0; i < 240; i++) assert_true(image.voxels[i] == (float)(1000 * (i / 120) + i % 120));
    assert_int_equal(labels.labels[0], 2);
    assert_int_equal(labels.labels[1], 0);
    volume_close(&image);
    label_map_close(&labels);
    assert_int_equal(dataset_load(&set, &set.test[0], &image, &labels, NULL), STATUS_OK);
    assert_null(labels.labels);
    volume_close(&image);
    dataset_close(&set);
}

static dataset described(const char *labels) {
    char json[400];
    dataset set;
    snprintf(json, sizeof json,
             "{\"channel_names\": {\"0\": \"T2\"}, \"labels\": {%s}, \"numTraining\": 1, \"file_ending\": \".nii\"%s}",
             labels, strchr(labels, '[') ? ", \"regions_class_order\": [1, 2]" : "");
    start_root(json);
    assert_int_equal(dataset_open_description(&set, inside(""), NULL), STATUS_OK);
    return set;
}

/* In whatever order; a name, a value or what is ignored makes a difference. */
static void labels_are_the_same_if_names_and_values_are(void **state) {
    (void)state;
    static const struct {
        const char *labels;
        int same;
    } OTHERS[] = {
        {"\"background\": 0, \"a\": 1, \"b\": 2, \"ignore\": 3", 1},
        {"\"b\": 2, \"a\": 1, \"background\": 0, \"ignore\": 3", 1},
        {"\"background\": 0, \"a\": 2, \"b\": 1, \"ignore\": 3", 0},
        {"\"background\": 0, \"a\": 1, \"c\": 2, \"ignore\": 3", 0},
        {"\"background\": 0, \"a\": 1, \"b\": 2", 0},
        {"\"background\": 0, \"a\": 1, \"b\": 2, \"c\": 3", 0},
        {"\"background\": 0, \"a\": [1, 2], \"b\": 2, \"ignore\": 3", 0},
    };
    dataset set = described(OTHERS[0].labels);
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) {
        dataset other = described(OTHERS[k].labels);
        assert_int_equal(dataset_same_labels(&set, &other), OTHERS[k].same);
        dataset_close(&other);
    }
    dataset_close(&set);
}

static void the_decathlons_layout_is_listed_too(void **state) {
    (void)state;
    const volume_grid grid = small_grid();
    start_root(
        "{\"name\": \"Task\", \"modality\": {\"0\": \"FLAIR\", \"1\": \"T1\"}, "
        "\"labels\": {\"0\": \"background\", \"1\": \"x\"}, \"numTraining\": 2, \"training\": ["
        "{\"image\": \"./imagesTr/z.nii.gz\", \"label\": \"./labelsTr/z.nii.gz\"},"
        "{\"image\": \"imagesTr/y.nii.gz\", \"label\": \"labelsTr/y.nii.gz\"}], \"test\": [\"./imagesTs/w.nii.gz\"]}");
    write_image("imagesTr/z.nii.gz", &grid, 2, 0);
    write_image("imagesTr/y_0000.nii.gz", &grid, 1, 0); /* as nnU-Net v1 had it */
    write_image("imagesTr/y_0001.nii.gz", &grid, 1, 1000);
    write_image("imagesTs/w.nii.gz", &grid, 2, 0);
    write_labels("labelsTr/z.nii.gz", &grid, 1);
    write_labels("labelsTr/y.nii.gz", &grid, 1);
    dataset set;
    dataset_report report;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(set.layout, DATASET_DECATHLON);
    assert_string_equal(set.name, "Task");
    assert_string_equal(set.labels[1].name, "x");
    assert_string_equal(set.train[0].id, "y");
    assert_int_equal(set.train[0].files, 2);
    assert_int_equal(set.train[1].files, 1);
    assert_int_equal(set.test_count, 1);
    assert_int_equal(dataset_check(&set, &(dataset_check_options){.threads = 2}, &report, NULL), STATUS_OK);
    dataset_report_close(&report);
    for (int k = 0; k < 2; k++) {
        volume image;
        assert_int_equal(dataset_load(&set, &set.train[k], &image, NULL, NULL), STATUS_OK);
        for (int i = 0; i < 240; i++) assert_true(image.voxels[i] == (float)(1000 * (i / 120) + i % 120));
        volume_close(&image);
    }
    dataset_close(&set);
}

static void files_may_be_listed_by_case(void **state) {
    (void)state;
    start_root("{\"channel_names\": {\"0\": \"CT\"}, \"labels\": {\"background\": 0, \"a\": 1}, \"numTraining\": 1, "
               "\"file_ending\": \".nii\", \"dataset\": {\"one\": {\"images\": [\"imagesTr/x.nii\"], \"label\": "
               "\"labelsTr/y.nii\"}}}");
    dataset set;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(set.train_count, 1);
    assert_string_equal(set.train[0].id, "one");
    assert_string_equal(set.train[0].images[0], inside("imagesTr/x.nii"));
    assert_string_equal(set.train[0].labels, inside("labelsTr/y.nii"));
    dataset_close(&set);
}

static void regions_and_ignored_voxels_are_understood(void **state) {
    (void)state;
    const volume_grid grid = small_grid();
    start_root(
        "{\"channel_names\": {\"0\": \"T1\"}, \"labels\": {\"background\": 0, \"whole\": [1, 2, 3], \"core\": [2, "
        "3], \"enhancing\": [3], \"ignore\": 4}, \"regions_class_order\": [1, 2, 3], \"numTraining\": 1, "
        "\"file_ending\": \".nii\"}");
    write_image("imagesTr/a_0000.nii", &grid, 1, 0);
    write_labels("labelsTr/a.nii", &grid, 4);
    dataset set;
    dataset_report report;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_true(set.has_regions);
    assert_int_equal(set.values, 4);
    assert_int_equal(set.ignore, 4);
    assert_int_equal(set.label_count, 4);
    assert_int_equal(set.labels[2].count, 2);
    assert_int_equal(set.labels[2].values[1], 3);
    assert_int_equal(set.order_count, 3);
    assert_int_equal(set.class_order[2], 3);
    assert_int_equal(dataset_check(&set, &(dataset_check_options){.threads = 1}, &report, NULL), STATUS_OK);
    assert_int_equal(report.count, 1); /* ignored voxels are no foreground */
    assert_lacks_nothing(report.findings[0].sentence, "a: the label map is empty");
    dataset_report_close(&report);
    dataset_close(&set);
}

static void values_with_gaps_are_loaded_as_classes(void **state) {
    (void)state;
    const volume_grid grid = small_grid();
    start_root("{\"channel_names\": {\"0\": \"T1\"}, \"labels\": {\"background\": 0, \"a\": 1, \"b\": 2, \"c\": 4, "
               "\"ignore\": 9}, \"numTraining\": 3, \"file_ending\": \".nii\"}");
    const int16_t values[] = {4, 9, 3};
    const char *const names[][2] = {{"imagesTr/a_0000.nii", "labelsTr/a.nii"},
                                    {"imagesTr/b_0000.nii", "labelsTr/b.nii"},
                                    {"imagesTr/c_0000.nii", "labelsTr/c.nii"}};
    for (int k = 0; k < 3; k++) {
        write_image(names[k][0], &grid, 1, 0);
        write_labels(names[k][1], &grid, values[k]);
    }
    dataset set;
    assert_int_equal(dataset_open(&set, dataset_root(), NULL), STATUS_OK);
    assert_int_equal(set.values, 4);
    assert_memory_equal(set.value, ((const int16_t[]){0, 1, 2, 4}), 4 * sizeof(int16_t));
    volume image;
    label_map labels;
    failure failure;
    assert_int_equal(dataset_load(&set, &set.train[0], &image, &labels, NULL), STATUS_OK);
    assert_int_equal(labels.labels[0], 3);
    volume_close(&image);
    label_map_close(&labels);
    assert_int_equal(dataset_load(&set, &set.train[1], &image, &labels, NULL), STATUS_OK);
    assert_int_equal(labels.labels[0], 4); /* to be ignored */
    volume_close(&image);
    label_map_close(&labels);
    assert_int_equal(dataset_load(&set, &set.train[2], &image, &labels, &failure), STATUS_CORRUPT);
    assert_lacks_nothing(failure.message, "3 (1 voxels)");
    dataset_close(&set);
}

#define CHANNELS "\"channel_names\": {\"0\": \"T1\"}, "
#define LABELS "\"labels\": {\"background\": 0, \"a\": 1}, "
#define ENDING "\"numTraining\": 1, \"file_ending\": \".nii.gz\""

static void wrong_descriptions_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"", "line 1: this is not JSON"},
        {"[]", "neither \"channel_names\""},
        {"{\"labels\": 1, \"labels\": 2}", "duplicate"},
        {"{\"channel_names\": {}, " LABELS ENDING "}", "\"channel_names\" must be"},
        {"{\"channel_names\": [\"T1\"], " LABELS ENDING "}", "\"channel_names\" must be"},
        {"{\"channel_names\": {\"1\": \"T1\"}, " LABELS ENDING "}", "'1' does not fit"},
        {"{\"channel_names\": {\"00\": \"T1\"}, " LABELS ENDING "}", "'00' does not fit"},
        {"{\"channel_names\": {\"0\": 1}, " LABELS ENDING "}", "'0' does not fit"},
        {"{" CHANNELS ENDING "}", "\"labels\" must name"},
        {"{" CHANNELS "\"labels\": {\"background\": 0}, " ENDING "}", "\"labels\" must name"},
        {"{" CHANNELS "\"labels\": {\"b\": 1, \"a\": 2}, " ENDING "}", "no label has the value 0"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": -1}, " ENDING "}", "the label 'a' must be"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": 1e9}, " ENDING "}", "the label 'a' must be"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": 100000}, " ENDING "}", "the label 'a' must be"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": []}, " ENDING "}", "the label 'a' must be"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": [1, 1]}, " ENDING "}", "names the value 1 twice"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": [0, 1]}, " ENDING "}", "holds 0"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": 1, \"b\": 1}, " ENDING "}", "'a' and 'b' are the same"},
        {"{" CHANNELS "\"labels\": {\"0\": \"background\", \"1\": \"a\"}, " ENDING "}", "the other way round"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"ignore\": 1}, " ENDING "}", "nothing but the background"},
        {"{" CHANNELS "\"labels\": {\"background\": 0, \"a\": 2, \"ignore\": 1}, " ENDING "}", "must be the highest"},
        {"{" CHANNELS LABELS "\"regions_class_order\": [1, 1], " ENDING "}", "a value for each of the 1 labels"},
        {"{" CHANNELS LABELS "\"regions_class_order\": [5], " ENDING "}", "must hold label values"},
        {"{" CHANNELS LABELS "\"file_ending\": \".png\"}", "other files than NIfTI"},
        {"{" CHANNELS LABELS "\"numTraining\": 1}", "\"file_ending\" must be"},
        {"{" CHANNELS LABELS "\"numTraining\": \"1\", \"file_ending\": \".nii\"}", "\"numTraining\" must be"},
        {"{" CHANNELS LABELS ENDING "}", "has no training cases"},
        {"{" CHANNELS LABELS ENDING ", \"dataset\": {\"../x\": {\"images\": [\"a.nii\"], \"label\": \"b.nii\"}}}",
         "'../x' cannot be the name"},
        {"{" CHANNELS LABELS ENDING ", \"dataset\": {\"x\": {\"images\": [], \"label\": \"b.nii\"}}}", "the case 'x'"},
        {"{\"modality\": {\"0\": \"T1\"}, \"labels\": {\"background\": 0, \"a\": 1}, \"training\": []}",
         "'background' does not fit"},
        {"{\"modality\": {\"0\": \"T1\"}, \"labels\": {\"0\": \"bg\", \"1\": \"a\"}}", "\"training\" must be a list"},
        {"{\"modality\": {\"0\": \"T1\"}, \"labels\": {\"0\": \"bg\", \"1\": \"a\"}, \"training\": [{}]}",
         "every entry of \"training\""},
        {"{\"modality\": {\"0\": \"T1\"}, \"labels\": {\"0\": \"bg\", \"1\": \"a\"}, \"training\": [{\"image\": "
         "\"x.png\", "
         "\"label\": \"x.png\"}]}",
         "'x.png' is not the name of a NIfTI file"},
        {"{\"modality\": {\"0\": \"T1\"}, \"labels\": {\"0\": \"bg\", \"1\": \"a\"}, \"training\": [{\"image\": "
         "\"a/x.nii\", "
         "\"label\": \"x.nii\"}, {\"image\": \"b/x.nii\", \"label\": \"x.nii\"}]}",
         "the case 'x' comes twice"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        dataset set;
        failure failure;
        start_root(wrong[k][0]);
        if (dataset_open(&set, dataset_root(), &failure) != STATUS_CORRUPT) fail_msg("accepted: %s", wrong[k][0]);
        assert_lacks_nothing(failure.message, wrong[k][1]);
        assert_lacks_nothing(failure.message, dataset_root());
        assert_null(set.folder);
    }
}

static void files_with_wrong_names_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"imagesTr/x.nii.gz", "x.nii.gz: images are called CASE_0000.nii.gz"},
        {"imagesTr/_0000.nii.gz", "images are called"},
        {"imagesTr/x_00a0.nii.gz", "images are called"},
        {"imagesTr/x_0002.nii.gz", "is channel 2, but dataset.json names 2: 0 to 1"},
        {"imagesTr/x_0000.nii", "ends in .nii, but dataset.json says .nii.gz"},
        {"labelsTr/x.nii", "ends in .nii, but dataset.json says .nii.gz"},
        {"imagesTs/x_0009.nii.gz", "is channel 9"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        dataset set;
        failure failure;
        start_two_cases();
        write_text(wrong[k][0], "");
        assert_int_equal(dataset_open(&set, dataset_root(), &failure), STATUS_CORRUPT);
        assert_lacks_nothing(failure.message, wrong[k][1]);
    }
}

static void folders_that_are_none_are_refused(void **state) {
    (void)state;
    dataset set;
    failure failure;
    remove_root();
    assert_int_equal(dataset_open(&set, dataset_root(), &failure), STATUS_CANNOT_READ);
    assert_lacks_nothing(failure.message, "is not a dataset: it has no dataset.json");
    start_two_cases();
    assert_int_equal(rename(inside("labelsTr"), inside("elsewhere")), 0);
    assert_int_equal(dataset_open(&set, dataset_root(), &failure), STATUS_CANNOT_READ);
    assert_lacks_nothing(failure.message, "labelsTr cannot be read");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nnunets_layout_is_listed_by_case),
        cmocka_unit_test(a_case_is_loaded_with_all_channels),
        cmocka_unit_test(labels_are_the_same_if_names_and_values_are),
        cmocka_unit_test(the_decathlons_layout_is_listed_too),
        cmocka_unit_test(files_may_be_listed_by_case),
        cmocka_unit_test(regions_and_ignored_voxels_are_understood),
        cmocka_unit_test(values_with_gaps_are_loaded_as_classes),
        cmocka_unit_test(wrong_descriptions_are_refused),
        cmocka_unit_test(files_with_wrong_names_are_refused),
        cmocka_unit_test(folders_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, remove_root_at_the_end);
}
