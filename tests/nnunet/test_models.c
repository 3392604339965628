/* Models of nnU-Net: what is exported and imported again is the same to the bit, and what
   cannot be served is refused. */
#define _GNU_SOURCE /* memmem */
#include "core/whole_file.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "nnunet/nnunet.h"
#include "small_model.h"
#include "torch_file/torch_writer.h"
#include "work_folder.h"

static void must(status_code status, const failure *failure) {
    if (status != STATUS_OK) fail_msg("%s", failure->message);
}

/* ---- models of ours ---------------------------------------------------------------------------------------------- */

static void write_model(const plan *plan, const char *name, uint64_t seed) {
    small_model_write(plan, work_path(name), seed);
}

static void export(const char *const *names, int count, const char *to) {
    const char *runs[4];
    failure failure = {0};
    for (int k = 0; k < count; k++) runs[k] = work_path(names[k]);
    must(nnunet_export(&(nnunet_export_request){.runs = runs, .run_count = count, .output = work_path(to)}, NULL,
                       &failure),
         &failure);
}

static status_code import(const char *from, const char *to, const char *folds, failure *failure) {
    nnunet_import_outcome *outcome = malloc(sizeof *outcome);
    const nnunet_import_request request = {work_path(from), work_path(to), folds, "final"};
    const status_code status = nnunet_import(&request, NULL, outcome, failure);
    free(outcome);
    return status;
}

/* ---- there and back ---------------------------------------------------------------------------------------------- */

static void same_weights(const char *a, const char *b) {
    safetensors *one, *other;
    char path[PATH_SIZE];
    failure failure = {0};
    snprintf(path, sizeof path, "%.4000s/best.safetensors", work_path(a));
    must(safetensors_open(&one, path, &failure), &failure);
    snprintf(path, sizeof path, "%.4000s/best.safetensors", work_path(b));
    must(safetensors_open(&other, path, &failure), &failure);
    for (size_t k = 0; k < safetensors_count(one); k++) {
        const safetensor *x = safetensors_at(one, k), *y = safetensors_find(other, x->name);
        assert_non_null(y);
        assert_int_equal(x->size, y->size);
        assert_memory_equal(x->data, y->data, x->size);
    }
    for (size_t k = 0; k < safetensors_count(other); k++) { /* what was added are biases of 0 */
        const safetensor *y = safetensors_at(other, k);
        const float *values = y->data;
        for (size_t v = 0; !safetensors_find(one, y->name) && v < y->size / sizeof *values; v++)
            assert_true(values[v] == 0);
    }
    safetensors_close(&one);
    safetensors_close(&other);
}

static void same_plan(const plan *expected, const char *name) {
    plan *found = malloc(sizeof *found), *wanted = malloc(sizeof *wanted);
    char path[PATH_SIZE];
    failure failure = {0};
    snprintf(path, sizeof path, "%.4000s/plans.json", work_path(name));
    must(plan_read(found, path, &failure), &failure);
    *wanted = *expected;
    wanted->bias = 1;
    for (int k = 0; k < 3; k++) wanted->unresampled[k] = wanted->model.slices && wanted->patch[k] == 1;
    assert_true(plan_agrees(found, wanted));
    assert_string_equal(found->dataset, wanted->dataset);
    assert_string_equal(found->channel[0].name, "CT");
    assert_int_equal(found->batch, wanted->batch);
    assert_memory_equal(&found->model, &wanted->model, sizeof found->model);
    for (int k = 0; k < 3; k++) assert_true(found->spacing[k] == wanted->spacing[k]);
    free(found);
    free(wanted);
}

static void there_and_back(const plan *plan, const char *name) {
    char there[64], back[64];
    failure failure = {0};
    snprintf(there, sizeof there, "%s-nnunet", name);
    snprintf(back, sizeof back, "%s-back", name);
    write_model(plan, name, 7);
    export(&name, 1, there);
    must(import(there, back, NULL, &failure), &failure);
    same_plan(plan, back);
    same_weights(name, back);
}

static void plain_networks_come_back(void **state) {
    (void)state;
    plan plan = small_plan(0, -1);
    there_and_back(&plan, "plain");
    plan.unmirrored[2] = 1;
    there_and_back(&plan, "unmirrored");
    use_regions(&plan);
    there_and_back(&plan, "regions");
}

static void every_normalisation_comes_back(void **state) {
    (void)state;
    for (int k = NORMALISE_ZSCORE; k <= NORMALISE_RGB; k++) {
        plan plan = small_plan(0, -1);
        char name[32];
        snprintf(name, sizeof name, "rule-%d", k);
        plan.channel[1].rule.kind = (normalisation)k;
        there_and_back(&plan, name);
    }
}

static void residual_networks_come_back(void **state) {
    (void)state;
    const plan plan = small_plan(1, -1);
    there_and_back(&plan, "residual");
}

static void networks_for_slices_come_back(void **state) {
    (void)state;
    for (int across = 0; across < 3; across++)
        for (int residual = 0; residual < 2; residual++) {
            const plan plan = small_plan(residual, across);
            char name[32];
            snprintf(name, sizeof name, "slices-%d-%d", across, residual);
            there_and_back(&plan, name);
        }
}

static void folds_become_folders(void **state) {
    (void)state;
    const plan plan = small_plan(0, -1);
    failure failure = {0};
    write_model(&plan, "a", 1);
    write_model(&plan, "b", 2);
    export((const char *const[]){"a", "b"}, 2, "two");
    must(import("two", "both", NULL, &failure), &failure);
    same_weights("a", "both/fold_0");
    same_weights("b", "both/fold_1");
    must(import("two", "second", "1", &failure), &failure);
    same_weights("b", "second");
    assert_int_equal(import("two", "third", "2", &failure), STATUS_CANNOT_READ);
    static const char *const WRONG[] = {"0,", "0,0", "x", "all_old", "-1", "0 ,1"};
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++)
        assert_int_equal(import("two", "third", WRONG[k], &failure), STATUS_BAD_INPUT);
    assert_false(path_exists(work_path("third")));
    assert_int_equal(import("two", "second", "0", &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "is there already"));
}

/* Someone kept a copy of a fold beside it. */
static void copies_of_folds_are_no_folds(void **state) {
    (void)state;
    const plan plan = small_plan(0, -1);
    failure failure = {0};
    write_model(&plan, "one", 1);
    export((const char *const[]){"one"}, 1, "kept");
    must(folder_make(work_path("kept/fold_0_old"), &failure), &failure);
    must(whole_file_write(work_path("kept/fold_0_old/checkpoint_final.pth"), "cut", 3, &failure), &failure);
    must(import("kept", "one-fold", NULL, &failure), &failure);
    same_weights("one", "one-fold");
}

static void a_label_that_is_called_background_is_refused(void **state) {
    (void)state;
    plan plan = small_plan(0, -1);
    failure failure = {0};
    use_regions(&plan);
    snprintf(plan.labels.region[1].name, sizeof plan.labels.region[1].name, "background");
    write_model(&plan, "background", 1);
    char output[PATH_SIZE], run[PATH_SIZE];
    snprintf(run, sizeof run, "%.4000s", work_path("background"));
    snprintf(output, sizeof output, "%.4000s", work_path("refused"));
    const char *const runs[] = {run};
    assert_int_equal(
        nnunet_export(&(nnunet_export_request){.runs = runs, .run_count = 1, .output = output}, NULL, &failure),
        STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "is called background"));
    assert_false(path_exists(output));
}

/* A fold that cannot be read takes those before it along, and nothing else. */
static void all_folds_or_none_are_imported(void **state) {
    (void)state;
    const plan plan = small_plan(0, -1);
    failure failure = {0};
    write_model(&plan, "good", 1);
    export((const char *const[]){"good", "good"}, 2, "half");
    must(whole_file_write(work_path("half/fold_1/checkpoint_final.pth"), "cut", 3, &failure), &failure);
    assert_int_equal(import("half", "nothing", NULL, &failure), STATUS_CORRUPT);
    assert_false(path_exists(work_path("nothing")));
    must(folder_make(work_path("shared/fold_7"), &failure), &failure);
    assert_int_equal(import("half", "shared", NULL, &failure), STATUS_CORRUPT);
    assert_true(path_exists(work_path("shared/fold_7")) && !path_exists(work_path("shared/fold_0")));
}

static int stops_at_the_second_fold(void *context) { return ++*(int *)context > 1; }

/* Nothing is left that would be in the way of the corrected command. */
static void all_folds_or_none_are_exported(void **state) {
    (void)state;
    const plan one = small_plan(0, -1), other = small_plan(1, -1);
    failure failure = {0};
    int asked = 0;
    write_model(&one, "first", 1);
    write_model(&other, "unlike", 1);
    write_model(&one, "cut", 1);
    must(whole_file_write(work_path("cut/best.safetensors"), "cut", 3, &failure), &failure);
    char output[PATH_SIZE], paths[3][PATH_SIZE];
    static const char *const NAMES[] = {"first", "unlike", "cut"};
    for (int k = 0; k < 3; k++) snprintf(paths[k], PATH_SIZE, "%.4000s", work_path(NAMES[k]));
    snprintf(output, sizeof output, "%.4000s", work_path("out/model"));
    const char *runs[] = {paths[0], paths[1]};
    const nnunet_export_request request = {.runs = runs, .run_count = 2, .output = output};
    assert_int_equal(nnunet_export(&request, NULL, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "planned differently"));
    assert_false(path_exists(work_path("out")));
    runs[1] = paths[2];
    assert_int_equal(nnunet_export(&request, NULL, &failure), STATUS_CORRUPT);
    assert_false(path_exists(work_path("out")));
    runs[1] = paths[0];
    const listener listener = {.context = &asked, .stop = stops_at_the_second_fold};
    assert_int_equal(nnunet_export(&request, &listener, &failure), STATUS_STOPPED);
    assert_false(path_exists(work_path("out")));
    must(nnunet_export(&request, NULL, &failure), &failure);
    assert_true(path_exists(work_path("out/model/fold_1/checkpoint_final.pth")));
}

/* ---- nnU-Net's own habits ---------------------------------------------------------------------------------------- */

/* Replaces the first `from` in a file of the model. */
static void edit(const char *model, const char *file, const char *from, const char *to) {
    char path[PATH_SIZE], *bytes;
    size_t size;
    failure failure = {0};
    text text = {0};
    snprintf(path, sizeof path, "%.4000s/%s", work_path(model), file);
    must(whole_file_read(path, 1 << 20, &bytes, &size, &failure), &failure);
    char *at = strstr(bytes, from);
    if (!at) fail_msg("%s is not in %s", from, file);
    text_add_bytes(&text, bytes, (size_t)(at - bytes));
    text_add(&text, to);
    text_add(&text, at + strlen(from));
    must(whole_file_write_text(path, &text, &failure), &failure);
    text_close(&text);
    free(bytes);
}

static void refused(const char *file, const char *from, const char *to, const char *why) {
    failure failure = {0};
    edit("strange", file, from, to);
    assert_int_equal(import("strange", "never", NULL, &failure), STATUS_BAD_INPUT);
    if (!strstr(failure.message, why)) fail_msg("expected '%s' in: %s", why, failure.message);
    assert_false(path_exists(work_path("never")));
    edit("strange", file, to, from);
}

static void what_cannot_be_served_is_refused_by_name(void **state) {
    (void)state;
    const plan plan = small_plan(0, -1);
    failure failure = {0};
    write_model(&plan, "ours", 3);
    export((const char *const[]){"ours"}, 1, "strange");
    refused("plans.json", "unet.PlainConvUNet", "other.SwinUNETR", "SwinUNETR");
    refused("plans.json", "DefaultPreprocessor", "MyPreprocessor", "MyPreprocessor");
    refused("plans.json", "\"NibabelIO\"", "\"NibabelIOWithReorient\"", "image_reader_writer is NibabelIOWithReorient");
    refused("plans.json", "\"NibabelIO\"", "\"NaturalImage2DIO\"", "NaturalImage2DIO");
    refused("plans.json", "\"NibabelIO\"", "7", "no text");
    refused("plans.json", "resample_data_or_seg_to_shape", "resample_torch_simple", "resample_torch_simple");
    refused("plans.json", "InstanceNorm3d", "BatchNorm3d", "BatchNorm3d");
    refused("plans.json", "torch.nn.LeakyReLU", "torch.nn.ReLU", "ReLU");
    refused("plans.json", "CTNormalization", "HistogramNormalization", "HistogramNormalization");
    refused("plans.json", "\"3d_fullres\"", "\"3d_lowres\"", "3d_fullres is no configuration");
    refused("plans.json", "\"batch_dice\"", "\"previous_stage\": \"3d_lowres\", \"batch_dice\"", "cascade");
    refused("plans.json", "\"n_conv_per_stage\": [2, 2, 2]", "\"n_conv_per_stage\": [2, 3, 2]", "n_conv_per_stage");
    must(import("strange", "fine", NULL, &failure), &failure); /* nothing was left of the changes */
    edit("strange", "plans.json", "\"features_per_stage\": [4, 8, 8]", "\"features_per_stage\": [4, 8, 16]");
    assert_int_equal(import("strange", "never", NULL, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "does not have the shape"));
    assert_int_equal(import("nowhere", "never", NULL, &failure), STATUS_CANNOT_READ);
    assert_int_equal(import("ours", "never", NULL, &failure), STATUS_CANNOT_READ);
    assert_non_null(strstr(failure.message, "checkpoint_final.pth"));
}

/* Old plans (before 2.3) name the network otherwise; a configuration may inherit from another. */
static void old_and_inherited_plans_are_read(void **state) {
    (void)state;
    plan plan = small_plan(0, -1);
    failure failure = {0};
    plan.topology.stages[2].features = 16; /* doubled from stage to stage, as old plans can say it */
    write_model(&plan, "modern", 4);
    export((const char *const[]){"modern"}, 1, "old");
    edit("old", "plans.json", "\"architecture\"", "\"passed over\"");
    edit("old", "plans.json", "\"3d_fullres\": {", "\"3d_fullres\": {\"inherits_from\": \"base\"}, \"base\": {");
    edit("old", "plans.json", "image_reader_writer", "passed over, too");
    must(import("old", "old-back", NULL, &failure), &failure);
    same_plan(&plan, "old-back");
    same_weights("modern", "old-back");
    edit("old", "plans.json", "\"base\": {", "\"base\": {\"inherits_from\": \"3d_fullres\",");
    assert_int_equal(import("old", "circle", NULL, &failure), STATUS_BAD_INPUT);
}

/* A network trained on transposed images is ours with turned kernels: with axes turned by transpose_forward the plan
   and every kernel must come back turned. */
static void transposed_axes_are_turned_back(void **state) {
    (void)state;
    const plan plan = small_plan(0, -1);
    struct plan *turned = malloc(sizeof *turned);
    failure failure = {0};
    char path[PATH_SIZE];
    write_model(&plan, "straight", 5);
    export((const char *const[]){"straight"}, 1, "turned");
    edit("turned", "plans.json", "\"transpose_forward\": [0, 1, 2]", "\"transpose_forward\": [2, 0, 1]");
    edit("turned", "plans.json", "\"NibabelIO\"", "\"SimpleITKIO\"");
    must(import("turned", "turned-back", NULL, &failure), &failure);
    snprintf(path, sizeof path, "%.4000s/plans.json", work_path("turned-back"));
    must(plan_read(turned, path, &failure), &failure);
    assert_int_equal(turned->patch[2], 8); /* the network's first axis is the image's third */
    assert_int_equal(turned->patch[0], 16);
    assert_int_equal(turned->patch[1], 24);
    assert_int_equal(turned->topology.stages[0].kernel[2], 1);
    assert_true(turned->spacing[2] == 1 && turned->spacing[0] == 2 && turned->spacing[1] == 3.5);
    safetensors *a, *b;
    snprintf(path, sizeof path, "%.4000s/best.safetensors", work_path("straight"));
    must(safetensors_open(&a, path, &failure), &failure);
    snprintf(path, sizeof path, "%.4000s/best.safetensors", work_path("turned-back"));
    must(safetensors_open(&b, path, &failure), &failure);
    const float *x = safetensors_find(a, "encoder.1.0.conv.weight")->data;
    const float *y = safetensors_find(b, "encoder.1.0.conv.weight")->data;
    for (int o = 0; o < 8 * 4; o++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++) /* the network's (i, j, k) is the image's (j, k, i) */
                    assert_true(x[o * 27 + i * 9 + j * 3 + k] == y[o * 27 + j * 9 + k * 3 + i]);
    safetensors_close(&a);
    safetensors_close(&b);
    free(turned);
}

/* Replaces the checkpoint by one that has the first tensor alone, or none. */
static void write_poor_checkpoint(const char *model, const float *first_tensor) {
    static const size_t SHAPE[5] = {4, 2, 1, 3, 3};
    torch_writer writer;
    failure failure = {0};
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.4000s/fold_0/checkpoint_final.pth", work_path(model));
    torch_writer_open(&writer, path);
    torch_begin_dict(&writer, NULL);
    torch_begin_dict(&writer, "network_weights");
    if (first_tensor) torch_add_tensor(&writer, "encoder.stages.0.0.convs.0.conv.weight", 5, SHAPE, first_tensor);
    torch_end_dict(&writer);
    torch_begin_dict(&writer, "init_args");
    torch_add_string(&writer, "configuration", "3d_fullres");
    torch_end_dict(&writer);
    torch_end_dict(&writer);
    must(torch_writer_close(&writer, &failure), &failure);
}

static void missing_and_diverged_tensors_are_refused(void **state) {
    (void)state;
    const plan plan = small_plan(0, -1);
    failure failure = {0};
    float values[72] = {0};
    write_model(&plan, "base", 6);
    export((const char *const[]){"base"}, 1, "poor");
    values[71] = NAN;
    write_poor_checkpoint("poor", values);
    assert_int_equal(import("poor", "never", NULL, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "diverged"));
    write_poor_checkpoint("poor", NULL);
    assert_int_equal(import("poor", "never", NULL, &failure), STATUS_CORRUPT);
    assert_non_null(strstr(failure.message, "is missing"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_networks_come_back),
        cmocka_unit_test(every_normalisation_comes_back),
        cmocka_unit_test(residual_networks_come_back),
        cmocka_unit_test(networks_for_slices_come_back),
        cmocka_unit_test(folds_become_folders),
        cmocka_unit_test(copies_of_folds_are_no_folds),
        cmocka_unit_test(a_label_that_is_called_background_is_refused),
        cmocka_unit_test(all_folds_or_none_are_imported),
        cmocka_unit_test(what_cannot_be_served_is_refused_by_name),
        cmocka_unit_test(old_and_inherited_plans_are_read),
        cmocka_unit_test(transposed_axes_are_turned_back),
        cmocka_unit_test(missing_and_diverged_tensors_are_refused),
        cmocka_unit_test(all_folds_or_none_are_exported),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
