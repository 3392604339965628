#define _XOPEN_SOURCE 700
/* Whole predictions by small networks of random weights: other grids than the plan's, ensembles, options. */
#include "predict/segmenter.h"

#include "predict/sliding.h"
#include "preprocess/preprocess.h"
#include "waves.h"

#include <dirent.h>
#include <omp.h>

static int make_runs(void **state) {
    (void)state;
    if (open_root() != 0) return -1;
    make_run("middle", 0);
    make_run("above", 0.5);
    make_run("below", -0.5);
    return mkdir(run_of("temporary"), 0777);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static size_t windows;

static void count_windows(void *context, const char *what, size_t done, size_t all) {
    (void)context, (void)done;
    assert_string_equal(what, "predicting");
    windows = all;
}

static const listener counting = {.progress = count_windows};

static segmenter_options usual(void) {
    segmenter_options options = segmenter_options_default();
    options.mirror = 0;
    return options;
}

static label_map predict(const segmenter_options *options, const char *first, const char *second, const volume *image) {
    const char *runs[2] = {run_of(first), second ? run_of(second) : NULL};
    segmenter *segmenter;
    label_map labels;
    failure why;
    if (segmenter_open(&segmenter, options, runs, second ? 2 : 1, &why) != STATUS_OK) fail_msg("%s", why.message);
    if (segmenter_label(segmenter, image, &counting, &labels, &why) != STATUS_OK) fail_msg("%s", why.message);
    segmenter_close(&segmenter);
    return labels;
}

/* The share of voxels with equal labels. */
static double agreement(const label_map *a, const label_map *b) {
    const size_t voxels = volume_grid_voxels(&a->grid);
    size_t equal = 0;
    assert_int_equal(voxels, volume_grid_voxels(&b->grid));
    for (size_t k = 0; k < voxels; k++) equal += a->labels[k] == b->labels[k];
    return (double)equal / (double)voxels;
}

static void assert_several_labels(const label_map *map) {
    size_t counts[CLASSES] = {0};
    const size_t voxels = volume_grid_voxels(&map->grid);
    for (size_t k = 0; k < voxels; k++) counts[map->labels[k]]++;
    int seen = 0;
    for (int class = 0; class < CLASSES; class ++) seen += counts[class] > voxels / 20;
    assert_true(seen >= 2);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Scores [voxel][class] of the whole image at the plan's spacing. */
typedef struct by_hand {
    graph *graph;
    float *scores;
    size_t area;
} by_hand;

static status_code score_by_hand(void *context, const float *patch, float *scores, failure *failure) {
    const by_hand *b = context;
    (void)failure;
    memcpy(graph_input_values(b->graph), patch, 16 * 16 * 16 * sizeof *patch);
    graph_forward(b->graph, 0);
    memcpy(scores, graph_output_values(b->graph, 0), 16 * 16 * 16 * CLASSES * sizeof *scores);
    return STATUS_OK;
}

static status_code keep_plane(void *context, int depth, const float *scores, failure *failure) {
    const by_hand *b = context;
    (void)failure;
    memcpy(b->scores + (size_t)depth * b->area * CLASSES, scores, b->area * CLASSES * sizeof *scores);
    return STATUS_OK;
}

static void open_by_hand(by_hand *b, const int size[3]) {
    model_options model;
    const graph_options options = {.threads = 1, .inference = 1};
    segmentation_model(&planned, &model);
    assert_int_equal(model_open(&model, &options, &b->graph, NULL), STATUS_OK);
    char path[200];
    snprintf(path, sizeof path, "%s/best.safetensors", run_of("middle"));
    assert_int_equal(weights_load(b->graph, path, NULL, NULL), STATUS_OK);
    b->area = (size_t)(size[1] * size[2]);
    b->scores = malloc((size_t)size[0] * b->area * CLASSES * sizeof *b->scores);
    assert_non_null(b->scores);
}

/* Voxel `at` of `to` voxels along an axis lies between voxel *low of `from` and the next one: returns how far. */
static double between(int at, int from, int to, int *low) {
    const double place = fmin(fmax((at + 0.5) * from / to - 0.5, 0), from - 1);
    *low = place >= from - 1 ? from - 2 : (int)place;
    return place - *low;
}

static int best_class(const by_hand *b, const int size[3], const int to[3], const int at[3]) {
    int low[3], best = 0;
    double share[3], sums[CLASSES] = {0};
    for (int axis = 0; axis < 3; axis++) share[axis] = between(at[axis], size[axis], to[axis], &low[axis]);
    for (int corner = 0; corner < 8; corner++) {
        const int far[3] = {corner >> 2, corner >> 1 & 1, corner & 1};
        double weight = 1;
        for (int axis = 0; axis < 3; axis++) weight *= far[axis] ? share[axis] : 1 - share[axis];
        const int voxel = ((low[0] + far[0]) * size[1] + low[1] + far[1]) * size[2] + low[2] + far[2];
        for (int class = 0; class < CLASSES; class ++)
            sums[class] += weight * (double)b->scores[voxel * CLASSES + class];
    }
    for (int class = 1; class < CLASSES; class ++)
        if (sums[class] > sums[best]) best = class;
    return best;
}

/* The same by plain loops in double, from the scores on. */
static label_map predict_by_hand(const volume *image) {
    channel_rule rules[PLAN_MAX_CHANNELS];
    const preprocessing how = plan_preprocessing(&planned, rules, 1);
    prepared_case prepared;
    assert_int_equal(preprocess(&how, image, NULL, &prepared, NULL), STATUS_OK);
    const int *size = prepared.geometry.size, *own = image->grid.size, to[3] = {own[2], own[1], own[0]};
    assert_memory_equal(prepared.geometry.box.size, to, sizeof to);
    by_hand b;
    open_by_hand(&b, size);
    const sliding sliding = {.size = {size[0], size[1], size[2]},
                             .channels = 1,
                             .image = prepared.image,
                             .patch = {16, 16, 16},
                             .classes = CLASSES,
                             .step = 0.5};
    const sliding_calls calls = {&b, score_by_hand, keep_plane, NULL};
    assert_int_equal(sliding_run(&sliding, &calls, NULL), STATUS_OK);
    label_map labels;
    assert_int_equal(label_map_open(&labels, &image->grid, NULL), STATUS_OK);
    for (int k = 0; k < to[0] * to[1] * to[2]; k++)
        labels.labels[k] =
            (int16_t)best_class(&b, size, to, (const int[3]){k / (to[1] * to[2]), k / to[2] % to[1], k % to[2]});
    graph_close(&b.graph);
    free(b.scores);
    prepared_case_close(&prepared);
    return labels;
}

static void an_image_of_another_spacing_is_labelled_on_its_own_grid(void **state) {
    (void)state;
    volume images[2] = {finer_waves(), waves((const int[3]){18, 13, 12}, (const double[3]){3.5, 4, 5}, 1)};
    const segmenter_options options = usual();
    for (int k = 0; k < 2; k++) {
        label_map labels = predict(&options, "middle", NULL, &images[k]), expected = predict_by_hand(&images[k]);
        assert_several_labels(&labels);
        assert_int_equal(volume_grid_check_same(&labels.grid, &images[k].grid, "labels", NULL), STATUS_OK);
        assert_memory_equal(labels.grid.sform, images[k].grid.sform, sizeof labels.grid.sform);
        assert_int_equal(labels.grid.sform_code, 2);
        if (agreement(&labels, &expected) < 0.999) fail_msg("only %g agree", agreement(&labels, &expected));
        label_map_close(&labels);
        label_map_close(&expected);
        volume_close(&images[k]);
    }
}

static int files_in(const char *folder) {
    DIR *listing = opendir(folder);
    int count = 0;
    assert_non_null(listing);
    while (readdir(listing)) count++;
    closedir(listing);
    return count - 2;
}

static void scores_in_a_file_give_the_same_labels(void **state) {
    (void)state;
    volume image = finer_waves();
    segmenter_options options = usual();
    label_map expected = predict(&options, "middle", NULL, &image), labels;
    options.temporary = run_of("temporary");
    options.memory = 1000;
    labels = predict(&options, "middle", NULL, &image);
    assert_true(agreement(&labels, &expected) == 1);
    assert_int_equal(files_in(run_of("temporary")), 0);
    label_map_close(&labels);
    options.temporary = run_of("nowhere");
    const char *runs[1] = {run_of("middle")};
    segmenter *segmenter;
    failure failure;
    assert_int_equal(segmenter_open(&segmenter, &options, runs, 1, NULL), STATUS_OK);
    assert_int_equal(segmenter_label(segmenter, &image, NULL, &labels, &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "nowhere"));
    assert_null(labels.labels);
    segmenter_close(&segmenter);
    label_map_close(&expected);
    volume_close(&image);
}

/* Heads that were moved to either side have the unmoved one as their mean. */
static void two_runs_are_averaged(void **state) {
    (void)state;
    volume image = finer_waves();
    const segmenter_options options = usual();
    label_map middle = predict(&options, "middle", NULL, &image), above = predict(&options, "above", NULL, &image);
    label_map below = predict(&options, "below", NULL, &image), both = predict(&options, "above", "below", &image);
    label_map turned = predict(&options, "below", "above", &image);
    assert_true(agreement(&above, &middle) < 0.9);
    assert_true(agreement(&below, &middle) < 0.9);
    assert_true(agreement(&both, &middle) > 0.999);
    assert_true(agreement(&both, &turned) > 0.999);
    label_map_close(&middle);
    label_map_close(&above);
    label_map_close(&below);
    label_map_close(&both);
    label_map_close(&turned);
    volume_close(&image);
}

static void bf16_and_other_steps_change_little(void **state) {
    (void)state;
    volume image = finer_waves();
    segmenter_options options = usual();
    label_map expected = predict(&options, "middle", NULL, &image);
    /* 16 x 29 x 24 voxels at the plan's spacing. */
    assert_int_equal(windows, 1 * 3 * 2);
    options.bf16 = 1;
    label_map half = predict(&options, "middle", NULL, &image);
    assert_true(agreement(&half, &expected) > 0.97);
    options.bf16 = 0;
    options.step = 1;
    label_map far = predict(&options, "middle", NULL, &image);
    assert_int_equal(windows, 1 * 2 * 2);
    assert_true(agreement(&far, &expected) > 0.8);
    label_map_close(&expected);
    label_map_close(&half);
    label_map_close(&far);
    volume_close(&image);
}

static void runs_of_different_plans_are_refused(void **state) {
    (void)state;
    planned.spacing[1] = 4;
    make_run("other", 0);
    planned.spacing[1] = 2;
    const segmenter_options options = usual();
    const char *runs[2] = {run_of("middle"), run_of("other")};
    segmenter *segmenter;
    failure failure;
    assert_int_equal(segmenter_open(&segmenter, &options, runs, 2, &failure), STATUS_BAD_INPUT);
    assert_null(segmenter);
    assert_non_null(strstr(failure.message, "planned differently"));
    strcpy(planned.channel[0].name, "FLAIR");
    make_run("renamed", 0);
    strcpy(planned.channel[0].name, "T2");
    runs[1] = run_of("renamed");
    assert_int_equal(segmenter_open(&segmenter, &options, runs, 2, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "channel 0 of "));
    assert_non_null(strstr(failure.message, "renamed is FLAIR: predict with each alone"));
}

/* Labels are what the regions' probabilities say, by either way of averaging, in the values of the files. */
static void check_regions(average_kind average, const double spacing[3], const char *second) {
    const int size[3] = {20, 22, 18};
    const volume image = waves(size, spacing, 1);
    const size_t voxels = volume_grid_voxels(&image.grid);
    segmenter_options options = usual();
    options.average = average;
    const char *runs[2] = {run_of("regions"), second ? run_of(second) : NULL};
    segmenter *segmenter;
    failure why;
    if (segmenter_open(&segmenter, &options, runs, second ? 2 : 1, &why) != STATUS_OK) fail_msg("%s", why.message);
    float *p = malloc(CLASSES * voxels * sizeof *p);
    int16_t *labels = malloc(voxels * sizeof *labels);
    const segmenter_output both = {labels, p};
    assert_int_equal(segmenter_run(segmenter, &image, &both, NULL, &why), STATUS_OK);
    label_map alone;
    assert_int_equal(segmenter_label(segmenter, &image, NULL, &alone, &why), STATUS_OK);
    size_t counts[5] = {0};
    for (size_t v = 0; v < voxels; v++) {
        const int16_t writes[CLASSES] = {2, 1, 4};
        int16_t expected = 0;
        int near = 0;
        for (int r = 0; r < CLASSES; r++) {
            const double here = (double)p[(size_t)r * voxels + v];
            assert_true(here >= 0 && here <= 1);
            near |= fabs(here - 0.5) < 1e-5;
            if (here > 0.5) expected = writes[r];
        }
        if (!near) assert_int_equal(labels[v], expected);
        assert_int_equal(alone.labels[v], labels[v]);
        counts[labels[v]]++;
    }
    assert_true(counts[4] > 0 && counts[3] == 0 && counts[4] < voxels);
    label_map_close(&alone);
    segmenter_close(&segmenter);
    volume_close((volume *)&image);
    free(p);
    free(labels);
}

static void regions_become_the_values_that_they_write(void **state) {
    (void)state;
    const plan before = planned;
    label_scheme_plain(&planned.labels, 4);
    planned.labels.values[3] = 4;
    planned.labels.regions = CLASSES;
    const uint16_t inside[] = {0, 3, 1, 7};
    const int16_t writes[] = {2, 1, 3};
    memcpy(planned.labels.inside, inside, sizeof inside);
    for (int r = 0; r < CLASSES; r++) {
        snprintf(planned.labels.region[r].name, LABELS_NAME_SIZE, "region %d", r);
        planned.labels.region[r].writes = writes[r];
    }
    make_run("regions", 0.3);
    make_run("regions2", -0.3);
    const double same[3] = {2.5, 2, 3}, other[3] = {2, 2.3, 2.6};
    for (int average = AVERAGE_LOGITS; average <= AVERAGE_PROBABILITIES; average++) {
        check_regions((average_kind)average, same, NULL);
        check_regions((average_kind)average, other, NULL);
        check_regions((average_kind)average, other, "regions2");
    }
    planned = before;
}

/* A network that is sure of one thing and a hundredth of another outweighs a second one in
   logits, not in probabilities. */
static void probabilities_are_averaged_where_it_is_asked_for(void **state) {
    (void)state;
    const int size[3] = {16, 16, 16};
    const double spacing[3] = {2.5, 2, 3};
    const volume image = waves(size, spacing, 1);
    const size_t voxels = volume_grid_voxels(&image.grid);
    const char *const names[] = {"above", "below", NULL};
    float *p[3];
    for (int k = 0; k < 3; k++) {
        segmenter_options options = usual();
        options.average = AVERAGE_PROBABILITIES;
        const char *runs[2] = {run_of(k < 2 ? names[k] : "above"), run_of("below")};
        segmenter *segmenter;
        assert_int_equal(segmenter_open(&segmenter, &options, runs, k < 2 ? 1 : 2, NULL), STATUS_OK);
        p[k] = malloc(CLASSES * voxels * sizeof *p[k]);
        const segmenter_output output = {.probabilities = p[k]};
        assert_int_equal(segmenter_run(segmenter, &image, &output, NULL, NULL), STATUS_OK);
        segmenter_close(&segmenter);
    }
    for (size_t v = 0; v < CLASSES * voxels; v++)
        assert_near((double)p[2][v], 0.5 * ((double)p[0][v] + (double)p[1][v]), 1e-5);
    for (int k = 0; k < 3; k++) free(p[k]);
    volume_close((volume *)&image);
}

static int count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    assert_non_null(tasks);
    for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* OpenMP keeps the threads that it has started. */
static void no_more_threads_are_started_than_were_asked_for(void **state) {
    (void)state;
    const int size[3] = {16, 16, 16}, before = count_threads(), usual_threads = omp_get_max_threads();
    const double spacing[3] = {2.5, 2, 3};
    volume image = waves(size, spacing, 1);
    float *p = malloc(CLASSES * volume_grid_voxels(&image.grid) * sizeof *p);
    const char *run = run_of("middle");
    omp_set_num_threads(5);
    for (int average = AVERAGE_LOGITS; average <= AVERAGE_PROBABILITIES; average++) {
        segmenter_options options = usual();
        options.average = (average_kind)average;
        segmenter *segmenter;
        const segmenter_output output = {.probabilities = p};
        assert_int_equal(segmenter_open(&segmenter, &options, &run, 1, NULL), STATUS_OK);
        assert_int_equal(segmenter_run(segmenter, &image, &output, NULL, NULL), STATUS_OK);
        segmenter_close(&segmenter);
        assert_int_equal(count_threads(), before);
    }
    omp_set_num_threads(usual_threads);
    free(p);
    volume_close(&image);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_threads_are_started_than_were_asked_for), /* before any other starts some */
        cmocka_unit_test(regions_become_the_values_that_they_write),
        cmocka_unit_test(probabilities_are_averaged_where_it_is_asked_for),
        cmocka_unit_test(an_image_of_another_spacing_is_labelled_on_its_own_grid),
        cmocka_unit_test(scores_in_a_file_give_the_same_labels),
        cmocka_unit_test(two_runs_are_averaged),
        cmocka_unit_test(bf16_and_other_steps_change_little),
        cmocka_unit_test(runs_of_different_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, make_runs, close_root);
}
