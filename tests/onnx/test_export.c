/* ONNX models, read back by a reader of their own: the wire format is sound, every node finds its inputs, weights are
   the network's to the bit. That the logits are ours in onnxruntime is shown by peer/onnx. */
#include "onnx_reader.h"
#include "small_model.h"

static void models_are_sound_and_hold_the_weights(void **state) {
    (void)state;
    static const char *const NAMES[] = {"plain", "plain2d", "plain2d-last", "residual", "residual2d"};
    static const char *const SHAPES[] = {"batch x 2 x 8 x 16 x 24", "batch x 2 x 16 x 32", "batch x 2 x 8 x 16",
                                         "batch x 2 x 8 x 16 x 24", "batch x 2 x 16 x 32"};
    static const int RESIDUAL[] = {0, 0, 0, 1, 1}, ACROSS[] = {-1, 0, 2, -1, 0};
    for (int k = 0; k < 5; k++) {
        char file[32];
        const plan plan = small_plan(RESIDUAL[k], ACROSS[k]);
        snprintf(file, sizeof file, "%s.onnx", NAMES[k]);
        small_model_write(&plan, work_path(NAMES[k]), 7);
        const onnx_export_outcome outcome = export(NAMES[k], file);
        assert_string_equal(outcome.shape, SHAPES[k]);
        assert_string_equal(outcome.input, "patch");
        check_model(NAMES[k], file, 2);
    }
}

static void metadata_tell_what_to_do(void **state) {
    (void)state;
    char *bytes;
    plan plan = small_plan(0, -1);
    plan.unmirrored[2] = 1;
    use_regions(&plan);
    small_model_write(&plan, work_path("regions"), 3);
    export("regions", "regions.onnx");
    const span model = load("regions.onnx", &bytes);
    metadata(model, "task", "segmentation");
    metadata(model, "labels", "[\"whole\", \"core\", \"centre\"]");
    metadata(model, "output", "sigmoid");
    metadata(model, "values", "[1, 2, 6]");
    metadata(model, "spacing", "[1, 2, 3.5]");
    metadata(model, "patch", "[8, 16, 24]");
    metadata(model, "mirrored_axes", "[0, 1]");
    free(bytes);
}

static void what_cannot_be_done_is_refused(void **state) {
    (void)state;
    onnx_export_outcome outcome;
    failure failure = {0};
    const plan plan = small_plan(0, -1);
    small_model_write(&plan, work_path("good"), 3);
    assert_int_equal(onnx_export(&(onnx_export_request){.run = work_path("none"), .output = work_path("x.onnx")},
                                 &outcome, &failure),
                     STATUS_BAD_INPUT);
    assert_int_equal(
        onnx_export(&(onnx_export_request){.run = work_path("good"), .output = work_path("no/folder.onnx")}, &outcome,
                    &failure),
        STATUS_CANNOT_WRITE);
    assert_false(path_exists(work_path("x.onnx")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_sound_and_hold_the_weights),
        cmocka_unit_test(metadata_tell_what_to_do),
        cmocka_unit_test(what_cannot_be_done_is_refused),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
