#define _XOPEN_SOURCE 700
#include "evaluate/find_postprocessing.h"
#include "nifti/nifti.h"
#include "remove_tree.h"
#include "testing.h"

enum { SIDE = 12, VOXELS = SIDE * SIDE * SIDE, CASES = 3, LABELS = 3 };

static char root[64];

static int open_root(void **state) {
    (void)state;
    strcpy(root, "/tmp/hws_postprocessing_XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int close_root(void **state) {
    (void)state;
    return remove_tree(root);
}

/* A cube of this label with its first corner here. */
typedef struct cube {
    int16_t label;
    int at[3], side;
} cube;

static void add_cube(int16_t *labels, const cube *c) {
    for (int v = 0; v < SIDE * SIDE * SIDE; v++) {
        const int place[3] = {v % SIDE, v / SIDE % SIDE, v / SIDE / SIDE};
        int inside = 1;
        for (int axis = 0; axis < 3; axis++)
            inside = inside && place[axis] >= c->at[axis] && place[axis] < c->at[axis] + c->side;
        if (inside) labels[v] = c->label;
    }
}

static void case_path(char path[128], const char *kind, int k) { snprintf(path, 128, "%s/%s%d.nii.gz", root, kind, k); }

static void write_labels(const char *kind, int k, const int16_t *labels) {
    const double spacing[3] = {1, 1, 1};
    const volume_grid grid = volume_grid_plain((const int[3]){SIDE, SIDE, SIDE}, spacing);
    char path[128];
    label_map map;
    case_path(path, kind, k);
    assert_int_equal(label_map_open(&map, &grid, NULL), STATUS_OK);
    memcpy(map.labels, labels, VOXELS * sizeof *labels);
    assert_int_equal(nifti_write_labels(path, &map, NULL), STATUS_OK);
    label_map_close(&map);
}

static void write_map(const char *kind, const cube *cubes, int count) {
    static int16_t labels[VOXELS];
    memset(labels, 0, sizeof labels);
    for (int k = 0; k < count; k++) add_cube(labels, &cubes[k]);
    write_labels(kind, 0, labels);
}

/* The first `cases` of said0.nii.gz, is0.nii.gz, ... */
static void find_in(int cases, const char *regions, postprocessing *found) {
    case_pairs pairs = {0};
    region_list list = {0};
    char a[128], b[128], name[8];
    scores before;
    failure why;
    const scoring_options options = {.threads = 2};
    for (int k = 0; k < cases; k++) {
        case_path(a, "said", k);
        case_path(b, "is", k);
        snprintf(name, sizeof name, "case%d", k);
        assert_int_equal(case_pairs_add(&pairs, name, a, b, NULL, &why), STATUS_OK);
    }
    assert_int_equal(regions_add_named(&list, regions, &why), STATUS_OK);
    assert_int_equal(scoring_run(&pairs, &list, &options, NULL, &before, &why), STATUS_OK);
    if (find_postprocessing(&pairs, &before, &options, NULL, found, &why) != STATUS_OK) fail_msg("%s", why.message);
    scores_close(&before);
    regions_close(&list);
    case_pairs_close(&pairs);
}

static void find(const char *regions, postprocessing *found) { find_in(1, regions, found); }

/* Label 1 is one thing of which the prediction has an island too many; label 2 really is in two places. */
static void only_what_gains_loses_its_islands(void **state) {
    (void)state;
    static postprocessing found;
    const cube is[] = {{1, {1, 1, 1}, 4}, {2, {8, 8, 8}, 2}, {2, {8, 1, 1}, 2}};
    const cube said[] = {{1, {1, 1, 1}, 4}, {2, {8, 8, 8}, 2}, {2, {8, 1, 1}, 2}, {1, {1, 9, 9}, 2}};
    write_map("is", is, 3);
    write_map("said", said, 4);
    find("one=1,two=2", &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.steps[0].count, 1);
    assert_int_equal(found.steps[0].values[0], 1);
}

/* Everything is one thing: all labels together come first, and nothing is left to gain for each. */
static void all_labels_together_come_first(void **state) {
    (void)state;
    static postprocessing found;
    const cube is[] = {{1, {1, 1, 1}, 5}, {2, {2, 2, 2}, 2}};
    const cube said[] = {{1, {1, 1, 1}, 5}, {2, {2, 2, 2}, 2}, {1, {9, 9, 9}, 2}, {2, {9, 1, 1}, 2}};
    write_map("is", is, 2);
    write_map("said", said, 4);
    find("whole=1+2,inner=2", &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.steps[0].count, 2);
    find("whole=1+2", &found);
    assert_int_equal(found.count, 1);
}

static void nothing_is_done_where_nothing_gains(void **state) {
    (void)state;
    static postprocessing found;
    const cube is[] = {{1, {1, 1, 1}, 4}, {1, {8, 8, 8}, 2}};
    write_map("is", is, 2);
    write_map("said", is, 2);
    find("one=1", &found);
    assert_int_equal(found.count, 0);
}

/* ---- against a plain program ------------------------------------------------------------------------------------- */

/* Every voxel takes the lowest number among its neighbours until nothing changes; -1 outside. */
static void plain_components(const int *mask, int *number) {
    for (int v = 0; v < VOXELS; v++) number[v] = mask[v] ? v : -1;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int v = 0; v < VOXELS; v++)
            for (int step = 0; step < 27 && mask[v]; step++) {
                const int x = v % SIDE + step % 3 - 1, y = v / SIDE % SIDE + step / 3 % 3 - 1,
                          z = v / SIDE / SIDE + step / 9 - 1;
                if (x < 0 || y < 0 || z < 0 || x >= SIDE || y >= SIDE || z >= SIDE) continue;
                const int w = (z * SIDE + y) * SIDE + x;
                if (!mask[w] || number[w] >= number[v]) continue;
                number[v] = number[w];
                changed = 1;
            }
    }
}

/* Labels whose bits are in `which`. */
static void plain_keep(int which, int16_t *labels) {
    static int mask[VOXELS], number[VOXELS], counts[VOXELS];
    int most = 0;
    memset(counts, 0, sizeof counts);
    for (int v = 0; v < VOXELS; v++) mask[v] = labels[v] && which >> labels[v] & 1;
    plain_components(mask, number);
    for (int v = 0; v < VOXELS; v++)
        if (mask[v] && ++counts[number[v]] > most) most = counts[number[v]];
    for (int v = 0; v < VOXELS; v++)
        if (mask[v] && counts[number[v]] < most) labels[v] = 0;
}

static double plain_dice(const int16_t *said, const int16_t *is, int which) {
    int both = 0, all = 0;
    for (int v = 0; v < VOXELS; v++) {
        const int a = said[v] && which >> said[v] & 1, b = is[v] && which >> is[v] & 1;
        both += a && b;
        all += a + b;
    }
    return all ? 2.0 * both / all : (double)NAN;
}

typedef struct plain_cases {
    int16_t said[CASES][VOXELS], is[CASES][VOXELS];
} plain_cases;

static void plain_means(const plain_cases *c, const int *regions, double *means) {
    for (int r = 0; r < LABELS; r++) {
        double sum = 0;
        for (int k = 0; k < CASES; k++) sum += plain_dice(c->said[k], c->is[k], regions[r]) / CASES;
        means[r] = sum;
    }
}

/* What was accepted, in order, as sets of labels; returns how many. */
static int plain_search(plain_cases *c, const int *regions, int *accepted) {
    static plain_cases tried;
    double best[LABELS], means[LABELS];
    int count = 0;
    plain_means(c, regions, best);
    for (int step = -1; step < LABELS; step++) {
        const int which = step < 0 ? 2 + 4 + 8 : regions[step];
        tried = *c;
        for (int k = 0; k < CASES; k++) plain_keep(which, tried.said[k]);
        plain_means(&tried, regions, means);
        int better = step < 0 ? means[0] + means[1] + means[2] > best[0] + best[1] + best[2] : means[step] > best[step];
        for (int r = 0; r < LABELS && step < 0; r++) better = better && means[r] >= best[r];
        if (!better) continue;
        accepted[count++] = which;
        *c = tried;
        memcpy(best, means, sizeof best);
    }
    return count;
}

static cube random_cube(uint64_t *seed, int16_t label, int side) {
    cube c = {label, {0}, side};
    for (int axis = 0; axis < 3; axis++) c.at[axis] = (int)(test_random(seed) % (uint64_t)(SIDE - side + 1));
    return c;
}

/* Organs in the truth, in one or two places, and islands of any label in the prediction. */
static void random_cases(uint64_t *seed, plain_cases *c) {
    memset(c, 0, sizeof *c);
    for (int k = 0; k < CASES; k++) {
        for (int16_t label = 1; label <= LABELS; label++)
            for (uint64_t place = 0; place <= test_random(seed) % 2; place++) {
                const cube organ = random_cube(seed, label, 4 - (int)place);
                add_cube(c->is[k], &organ);
            }
        memcpy(c->said[k], c->is[k], sizeof c->is[k]);
        for (uint64_t island = 0; island < test_random(seed) % 4; island++) {
            const cube one = random_cube(seed, (int16_t)(1 + test_random(seed) % LABELS), 1);
            add_cube(c->said[k], &one);
        }
    }
}

static int set_of(const postprocessing_step *step) {
    int set = 0;
    for (int k = 0; k < step->count; k++) set |= 1 << step->values[k];
    return set;
}

/* Labels by themselves, and regions that lie inside each other. */
static void a_plain_program_decides_the_same(void **state) {
    (void)state;
    static const int SINGLE[LABELS] = {2, 4, 8}, NESTED[LABELS] = {2 + 4 + 8, 4 + 8, 8};
    static plain_cases cases, worked_on;
    static postprocessing found;
    uint64_t seed = 11;
    int lengths[LABELS + 2] = {0};
    for (int trial = 0; trial < 12; trial++) {
        int accepted[LABELS + 1];
        random_cases(&seed, &cases);
        for (int k = 0; k < CASES; k++) {
            write_labels("said", k, cases.said[k]);
            write_labels("is", k, cases.is[k]);
        }
        worked_on = cases;
        const int count = plain_search(&worked_on, trial % 2 ? NESTED : SINGLE, accepted);
        find_in(CASES, trial % 2 ? "whole=1+2+3,core=2+3,inner=3" : "a=1,b=2,c=3", &found);
        assert_int_equal(found.count, count);
        for (int k = 0; k < count; k++) assert_int_equal(set_of(&found.steps[k]), accepted[k]);
        lengths[count]++;
    }
    assert_true(lengths[0] && lengths[1] && lengths[2]); /* the trials had something to decide */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_gains_loses_its_islands),
        cmocka_unit_test(all_labels_together_come_first),
        cmocka_unit_test(nothing_is_done_where_nothing_gains),
        cmocka_unit_test(a_plain_program_decides_the_same),
    };
    return cmocka_run_group_tests(tests, open_root, close_root);
}
