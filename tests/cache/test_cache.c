#define _POSIX_C_SOURCE 200809L
#include "cache/cache.h"

#include "core/whole_file.h"
#include "nifti/nifti.h"
#include "testing.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CASES = 5 };

static char folder[64], cache[80];

static const char *path_of(const char *format, int number) {
    static char path[256];
    char name[128];
    snprintf(name, sizeof name, format, number);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_case(int number, uint64_t seed, double spacing) {
    const volume_grid grid = volume_grid_plain((const int[3]){20 + number, 18, 16}, (const double[3]){1, 1, spacing});
    volume image;
    label_map labels;
    assert_int_equal(volume_open(&image, &grid, 1, NULL), STATUS_OK);
    assert_int_equal(label_map_open(&labels, &grid, NULL), STATUS_OK);
    const size_t voxels = volume_grid_voxels(&grid);
    for (size_t k = 0; k < voxels; k++) {
        image.voxels[k] = (float)(100 + 10 * test_normal(&seed));
        labels.labels[k] = (int16_t)(k % 97 == 0 ? 2 : k > voxels / 2);
    }
    assert_int_equal(nifti_write_volume(path_of("imagesTr/c%d_0000.nii.gz", number), &image, NULL), STATUS_OK);
    assert_int_equal(nifti_write_labels(path_of("labelsTr/c%d.nii.gz", number), &labels, NULL), STATUS_OK);
    volume_close(&image);
    label_map_close(&labels);
}

static int make_dataset(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hws_cache_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/out", folder);
    assert_int_equal(mkdir(path_of("imagesTr", 0), 0777), 0);
    assert_int_equal(mkdir(path_of("labelsTr", 0), 0777), 0);
    FILE *file = fopen(path_of("dataset.json", 0), "w");
    assert_non_null(file);
    fprintf(file,
            "{\"channel_names\": {\"0\": \"T2\"}, \"labels\": {\"background\": 0, \"a\": 1, \"b\": 2}, "
            "\"numTraining\": %d, \"file_ending\": \".nii.gz\"}",
            CASES);
    fclose(file);
    for (int k = 0; k < CASES; k++) write_case(k, (uint64_t)k + 1, 1);
    return 0;
}

static int remove_dataset(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static cache_options usual(void) { return (cache_options){.folder = cache, .threads = 2, .memory = INFINITY}; }

static status_code prepare(const cache_options *options, plan *plan, size_t *prepared, failure *failure) {
    dataset set;
    cache_outcome outcome;
    status_code status = dataset_open(&set, folder, failure);
    assert_int_equal(status, STATUS_OK);
    status = cache_prepare(&set, options, plan, &outcome, failure);
    if (prepared) *prepared = outcome.prepared;
    free(outcome.folder);
    dataset_close(&set);
    return status;
}

static size_t prepared_now(void) {
    const cache_options options = usual();
    plan plan;
    failure failure;
    size_t prepared;
    if (prepare(&options, &plan, &prepared, &failure) != STATUS_OK) fail_msg("%s", failure.message);
    return prepared;
}

static void a_cache_holds_the_preprocessed_cases(void **state) {
    (void)state;
    assert_int_equal(prepared_now(), CASES);
    cached_case file;
    assert_int_equal(cache_open_case(&file, cache, "c3", CACHED_CASE_VERIFY, NULL), STATUS_OK);
    assert_memory_equal(file.view.size, ((const int[3]){16, 18, 23}), 12);
    assert_memory_equal(file.geometry.original, ((const int[3]){16, 18, 23}), 12);
    assert_int_equal(file.view.channels, 1);
    assert_int_equal(file.view.classes, 3);
    const size_t voxels = case_view_voxels(&file.view);
    double sum = 0, squares = 0;
    for (size_t k = 0; k < voxels; k++)
        sum += (double)file.view.image[k], squares += pow((double)file.view.image[k], 2);
    assert_near(sum / (double)voxels, 0, 1e-5);
    assert_near(squares / (double)voxels, 1, 1e-4);
    for (int class = 1; class < 3; class ++)
        for (uint64_t k = file.view.first[class]; k < file.view.first[class + 1]; k++)
            assert_int_equal(file.view.labels[file.view.places[k]], class);
    assert_int_equal(file.view.first[3] - file.view.first[2], (voxels + 96) / 97);
    cached_case_close(&file);
    cached_case_close(&file);
}

static void only_what_changed_is_made_again(void **state) {
    (void)state;
    prepared_now();
    assert_int_equal(prepared_now(), 0);
    write_case(2, 77, 1);
    assert_int_equal(prepared_now(), 1);
    assert_int_equal(prepared_now(), 0);
    char path[128];
    snprintf(path, sizeof path, "%s/cases/c4.hwscase", cache);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(prepared_now(), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(prepared_now(), 1);
}

static void an_edited_plan_is_kept_and_followed(void **state) {
    (void)state;
    prepared_now();
    char path[128];
    snprintf(path, sizeof path, "%s/plans.json", cache);
    plan plan;
    assert_int_equal(plan_read(&plan, path, NULL), STATUS_OK);
    plan.batch = 3;
    assert_int_equal(plan_write(&plan, path, NULL), STATUS_OK);
    assert_int_equal(prepared_now(), 0);
    plan.spacing[0] = 2;
    assert_int_equal(plan_write(&plan, path, NULL), STATUS_OK);
    assert_int_equal(prepared_now(), CASES);
    cached_case file;
    assert_int_equal(cache_open_case(&file, cache, "c0", CACHED_CASE_TRUST, NULL), STATUS_OK);
    assert_memory_equal(file.view.size, ((const int[3]){8, 18, 20}), 12);
    cached_case_close(&file);
    cache_options options = usual();
    options.replan = 1;
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
    assert_near(plan.spacing[0], 1, 1e-12);
    plan.channels = 2;
    plan.channel[1] = plan.channel[0];
    assert_int_equal(plan_write(&plan, path, NULL), STATUS_OK);
    options.replan = 0;
    failure failure;
    assert_int_equal(prepare(&options, &plan, NULL, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "2 channels"));
}

static void the_plan_of_another_dataset_is_refused(void **state) {
    (void)state;
    prepared_now();
    char path[128], own[128];
    snprintf(path, sizeof path, "%s/plans.json", cache);
    plan plan;
    assert_int_equal(plan_read(&plan, path, NULL), STATUS_OK);
    strcpy(plan.dataset, "Hearts");
    assert_int_equal(plan_write(&plan, path, NULL), STATUS_OK);
    cache_options options = usual();
    failure failure;
    assert_int_equal(prepare(&options, &plan, NULL, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "'Hearts'"));
    assert_non_null(strstr(failure.message, strrchr(folder, '/') + 1));
    assert_non_null(strstr(failure.message, "--cache"));
    options.replan = 1;
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
    assert_string_equal(plan.dataset, strrchr(folder, '/') + 1);
    /* A dataset that was moved takes its own cache along. */
    options = (cache_options){.threads = 2, .memory = INFINITY};
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
    snprintf(own, sizeof own, "%s/hws_cache/plans.json", folder);
    strcpy(plan.dataset, "its_old_name");
    assert_int_equal(plan_write(&plan, own, NULL), STATUS_OK);
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
}

static void stop_at_two(void *context, const char *what, size_t done, size_t total) {
    (void)total;
    if (strcmp(what, "preprocessing") == 0 && done == 2) *(int *)context = 1;
}

static int is_stopped(void *context) { return *(int *)context; }

static void an_interrupted_cache_goes_on(void **state) {
    (void)state;
    int stop = 0;
    const listener listener = {.context = &stop, .progress = stop_at_two, .stop = is_stopped};
    cache_options options = usual();
    options.threads = 1;
    options.listener = &listener;
    plan plan;
    failure failure;
    assert_int_equal(prepare(&options, &plan, NULL, &failure), STATUS_STOPPED);
    assert_non_null(strstr(failure.message, "goes on"));
    assert_int_equal(prepared_now(), CASES - 2);
}

static char *bytes_of(const char *id, size_t *size) {
    char path[128], *bytes;
    snprintf(path, sizeof path, "%s/cases/%s.hwscase", cache, id);
    assert_int_equal(whole_file_read(path, 1 << 24, &bytes, size, NULL), STATUS_OK);
    return bytes;
}

static void threads_make_the_same_files(void **state) {
    (void)state;
    prepared_now();
    size_t size, again_size;
    char *bytes = bytes_of("c1", &size), path[128];
    snprintf(path, sizeof path, "%s/cases/c1.hwscase", cache);
    unlink(path);
    cache_options options = usual();
    options.threads = 1;
    plan plan;
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
    char *again = bytes_of("c1", &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
    free(bytes), free(again);
}

static void a_folder_that_cannot_be_made_is_named(void **state) {
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/dataset.json/cache", folder);
    cache_options options = usual();
    options.folder = path;
    plan plan;
    failure failure;
    assert_int_equal(prepare(&options, &plan, NULL, &failure), STATUS_CANNOT_WRITE);
    assert_non_null(strstr(failure.message, "--out"));
    assert_non_null(strstr(failure.message, path));
}

static void a_patch_made_smaller_for_memory_is_told(void **state) {
    (void)state;
    dataset set;
    plan plan;
    cache_outcome outcome;
    assert_int_equal(dataset_open(&set, folder, NULL), STATUS_OK);
    cache_options options = usual();
    assert_int_equal(cache_prepare(&set, &options, &plan, &outcome, NULL), STATUS_OK);
    assert_true(outcome.planned && !outcome.shrunk);
    free(outcome.folder);
    options.memory = 0.8 * plan_memory(&plan, 1, 0);
    options.replan = 1;
    assert_int_equal(cache_prepare(&set, &options, &plan, &outcome, NULL), STATUS_OK);
    assert_true(outcome.shrunk && plan_memory(&plan, 1, 0) <= options.memory);
    free(outcome.folder);
    dataset_close(&set);
}

/* ---- how often files are read ----------------------------------------------------------------------------------- */

/* Names that the linker's --wrap asks for. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
double __real_memory_available(void);
double __wrap_memory_available(void);

static atomic_int images_read, labels_read;
static double available; /* 0: what there is */

int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (!(flags & O_CREAT) && strstr(path, ".nii"))
        atomic_fetch_add(strstr(path, "images") ? &images_read : &labels_read, 1);
    return __real_open(path, flags, mode);
}

double __wrap_memory_available(void) { return available > 0 ? available : __real_memory_available(); }

static void each_file_is_read_once(void **state) {
    (void)state;
    images_read = labels_read = 0;
    assert_int_equal(prepared_now(), CASES);
    assert_int_equal(images_read, CASES);
    assert_int_equal(labels_read, CASES);
    assert_int_equal(prepared_now(), 0);
    assert_int_equal(images_read, CASES);
    write_case(2, 77, 1);
    assert_int_equal(prepared_now(), 1);
    assert_int_equal(images_read, 2 * CASES);
    assert_int_equal(labels_read, 2 * CASES);
}

static int reads_with(double memory, int threads) {
    for (int k = 0; k < CASES; k++) {
        char path[128];
        snprintf(path, sizeof path, "%s/cases/c%d.hwscase", cache, k);
        unlink(path);
    }
    cache_options options = usual();
    options.threads = threads;
    options.replan = 1;
    plan plan;
    images_read = 0;
    available = memory;
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
    available = 0;
    return images_read;
}

/* A case has 5,760 to 6,912 voxels of 6 bytes, and preprocessing takes 38 bytes for each. A quarter of the memory holds
   two of the five; with less, preprocessing needs the memory of those that were kept. */
static void what_does_not_fit_into_memory_is_read_again(void **state) {
    (void)state;
    prepared_now();
    size_t size, again_size;
    char *bytes = bytes_of("c1", &size);
    for (int threads = 1; threads <= 2; threads++) {
        assert_int_equal(reads_with(360000, threads), 2 * CASES - 2);
        assert_int_equal(reads_with(320000, threads), 2 * CASES);
        char *again = bytes_of("c1", &again_size);
        assert_int_equal(size, again_size);
        assert_memory_equal(bytes, again, size);
        free(again);
    }
    free(bytes);
}

static void change_a_file(void *context, const char *what, size_t done, size_t total) {
    (void)context, (void)total;
    if (strcmp(what, "preprocessing") == 0 && done == 1) write_case(4, 99, 1);
}

static void a_file_that_changes_meanwhile_is_made_again_the_next_time(void **state) {
    (void)state;
    const listener listener = {.progress = change_a_file};
    cache_options options = usual();
    options.threads = 1;
    options.listener = &listener;
    plan plan;
    assert_int_equal(prepare(&options, &plan, NULL, NULL), STATUS_OK);
    assert_int_equal(prepared_now(), 1);
    assert_int_equal(prepared_now(), 0);
}

static void problems_of_the_dataset_are_found_first(void **state) {
    (void)state;
    unlink(path_of("labelsTr/c%d.nii.gz", 3));
    dataset set;
    failure failure;
    status_code status = dataset_open(&set, folder, &failure);
    if (status == STATUS_OK) {
        const cache_options options = usual();
        plan plan;
        cache_outcome outcome;
        status = cache_prepare(&set, &options, &plan, &outcome, &failure);
        free(outcome.folder);
        dataset_close(&set);
    }
    assert_int_not_equal(status, STATUS_OK);
    assert_non_null(strstr(failure.message, "c3"));
}

/* ---- one file --------------------------------------------------------------------------------------------------- */

static void common_classes_are_sampled_without_repetition(void **state) {
    (void)state;
    prepared_case prepared = {.geometry = {.original = {40, 40, 40},
                                           .original_spacing = {1, 1, 1},
                                           .box = {.size = {40, 40, 40}},
                                           .size = {40, 40, 40},
                                           .spacing = {1, 1, 1}},
                              .channels = 1};
    prepared.image = calloc(64000, sizeof *prepared.image);
    prepared.labels = calloc(64000, sizeof *prepared.labels);
    for (int k = 0; k < 64000; k++) prepared.labels[k] = (int16_t)(k % 2);
    const char *path = path_of("one.hwscase", 0);
    assert_int_equal(cached_case_write(path, &prepared, 3, (case_checksums){1, 2}, 9, NULL), STATUS_OK);
    cached_case file;
    assert_int_equal(cached_case_open(&file, path, CACHED_CASE_VERIFY, NULL), STATUS_OK);
    assert_int_equal(file.view.first[2] - file.view.first[1], CACHED_CASE_PLACES);
    assert_int_equal(file.view.first[3] - file.view.first[2], 0);
    double sum = 0;
    for (int k = 0; k < CACHED_CASE_PLACES; k++) {
        assert_int_equal(file.view.places[k] % 2, 1);
        assert_true(k == 0 || file.view.places[k] > file.view.places[k - 1]);
        sum += file.view.places[k];
    }
    assert_near(sum / CACHED_CASE_PLACES, 32000, 5 * 64000 / sqrt(12.0 * CACHED_CASE_PLACES));
    assert_true(file.checksums.preprocessing == 1 && file.checksums.inputs == 2);
    cached_case_close(&file);
    free(prepared.image);
    free(prepared.labels);
}

static void write_bytes(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    prepared_now();
    size_t size;
    char *bytes = bytes_of("c0", &size), path[128];
    snprintf(path, sizeof path, "%s/bad.hwscase", folder);
    uint64_t seed = 4;
    for (int trial = 0; trial < 300; trial++) {
        const size_t at = trial < 200 ? test_random(&seed) % 160 : test_random(&seed) % size;
        const char change = (char)(1 << test_random(&seed) % 8);
        bytes[at] ^= change;
        write_bytes(path, bytes, size);
        cached_case file;
        failure failure;
        assert_int_equal(cached_case_open(&file, path, CACHED_CASE_VERIFY, &failure), STATUS_CORRUPT);
        assert_non_null(strstr(failure.message, "hws plan"));
        bytes[at] ^= change;
    }
    for (size_t cut = 0; cut < 300; cut += 37) {
        write_bytes(path, bytes, cut);
        cached_case file;
        assert_int_equal(cached_case_open(&file, path, CACHED_CASE_TRUST, NULL), STATUS_CORRUPT);
    }
    cached_case file;
    assert_int_equal(cached_case_open(&file, "/nonexistent/x", CACHED_CASE_TRUST, NULL), STATUS_CANNOT_READ);
    assert_int_equal(cached_case_open(&file, folder, CACHED_CASE_TRUST, NULL), STATUS_CORRUPT);
    free(bytes);
}

/* A case of 2 x 2 x 2 voxels in the place of c1, with the checksums of the right one. */
static void forge_case(case_checksums checksums, int channels, int classes, int16_t label) {
    float image[16] = {0};
    int16_t labels[8] = {0, 1, 2, label};
    char path[128];
    prepared_case forged = {.channels = channels, .image = image, .labels = labels};
    for (int k = 0; k < 3; k++) {
        forged.geometry.size[k] = forged.geometry.original[k] = forged.geometry.box.size[k] = 2;
        forged.geometry.spacing[k] = forged.geometry.original_spacing[k] = 1;
    }
    snprintf(path, sizeof path, "%s/cases/c1.hwscase", cache);
    assert_int_equal(cached_case_write(path, &forged, classes, checksums, 1, NULL), STATUS_OK);
}

static void files_for_another_plan_are_made_anew_whatever_their_checksums_say(void **state) {
    (void)state;
    cached_case file;
    prepared_now();
    assert_int_equal(cache_open_case(&file, cache, "c1", CACHED_CASE_TRUST, NULL), STATUS_OK);
    const case_checksums right = file.checksums;
    cached_case_close(&file);
    forge_case(right, 1, 3, 2);
    assert_int_equal(prepared_now(), 0); /* believable */
    forge_case(right, 2, 3, 2);
    assert_int_equal(prepared_now(), 1);
    forge_case(right, 1, 4, 2);
    assert_int_equal(prepared_now(), 1);
    forge_case(right, 1, 3, 4); /* 3 are the labels to ignore */
    assert_int_equal(cache_open_case(&file, cache, "c1", CACHED_CASE_VERIFY, NULL), STATUS_CORRUPT);
    forge_case(right, 1, 3, -2);
    assert_int_equal(cache_open_case(&file, cache, "c1", CACHED_CASE_VERIFY, NULL), STATUS_CORRUPT);
    forge_case(right, 1, 3, 3);
    assert_int_equal(cache_open_case(&file, cache, "c1", CACHED_CASE_VERIFY, NULL), STATUS_OK);
    cached_case_close(&file);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static atomic_long fails_at; /* the allocation that fails: the so many-th from now on; 0 and below: none */

void *__wrap_malloc(size_t size) { return atomic_fetch_sub(&fails_at, 1) == 1 ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
    return atomic_fetch_sub(&fails_at, 1) == 1 ? NULL : __real_calloc(count, size);
}

static void memory_that_runs_out_is_told_and_nothing_else_happens(void **state) {
    (void)state;
    char path[128];
    cache_options options = usual();
    options.threads = 1;
    snprintf(path, sizeof path, "%s/cases/c4.hwscase", cache);
    prepared_now();
    int ran_out = 1;
    for (long k = 1; ran_out; k++) {
        dataset set;
        plan plan;
        cache_outcome outcome;
        assert_int_equal(dataset_open(&set, folder, NULL), STATUS_OK);
        assert_int_equal(truncate(path, 1000), 0);
        atomic_store(&fails_at, k);
        const status_code status = cache_prepare(&set, &options, &plan, &outcome, NULL);
        ran_out = atomic_exchange(&fails_at, 0) <= 0;
        assert_true(status == STATUS_OK || (status == STATUS_OUT_OF_MEMORY && ran_out));
        free(outcome.folder);
        dataset_close(&set);
    }
    assert_int_equal(prepared_now(), 0);
}

#define IN_A_DATASET(test) cmocka_unit_test_setup_teardown(test, make_dataset, remove_dataset)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_A_DATASET(a_cache_holds_the_preprocessed_cases),
        IN_A_DATASET(only_what_changed_is_made_again),
        IN_A_DATASET(an_edited_plan_is_kept_and_followed),
        IN_A_DATASET(the_plan_of_another_dataset_is_refused),
        IN_A_DATASET(an_interrupted_cache_goes_on),
        IN_A_DATASET(threads_make_the_same_files),
        IN_A_DATASET(a_folder_that_cannot_be_made_is_named),
        IN_A_DATASET(a_patch_made_smaller_for_memory_is_told),
        IN_A_DATASET(each_file_is_read_once),
        IN_A_DATASET(what_does_not_fit_into_memory_is_read_again),
        IN_A_DATASET(a_file_that_changes_meanwhile_is_made_again_the_next_time),
        IN_A_DATASET(problems_of_the_dataset_are_found_first),
        IN_A_DATASET(common_classes_are_sampled_without_repetition),
        IN_A_DATASET(damaged_files_are_refused),
        IN_A_DATASET(files_for_another_plan_are_made_anew_whatever_their_checksums_say),
        IN_A_DATASET(memory_that_runs_out_is_told_and_nothing_else_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
