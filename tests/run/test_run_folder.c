#define _POSIX_C_SOURCE 200809L
/* The folder of a run: names, its lock, what killed processes leave, pictures of examples. */
#include "run/run_folder.h"
#include "train/folders.h"

#include <sys/wait.h>

static const char *made(const char *name) {
    const char *where = folder(name);
    assert_int_equal(folder_make(where, NULL), STATUS_OK);
    return where;
}

static void every_file_has_a_name_of_its_own(void **state) {
    (void)state;
    for (int a = 0; a < RUN_FILE_COUNT; a++) {
        assert_true(*run_file_name((run_file)a));
        for (int b = 0; b < a; b++) assert_string_not_equal(run_file_name((run_file)a), run_file_name((run_file)b));
    }
    assert_string_equal(run_file_name(RUN_CONFIG), "config.json");
    assert_string_equal(run_file_name(run_weights_file(RUN_WEIGHTS_BEST)), "best.safetensors");
    assert_string_equal(run_file_name(run_weights_file(RUN_WEIGHTS_LATEST)), "latest.safetensors");
    run_file places[4];
    int count = 0;
    for (int weights = RUN_WEIGHTS_BEST; weights <= RUN_WEIGHTS_LATEST; weights++)
        for (int mirror = 0; mirror < 2; mirror++) places[count++] = run_validation_file((run_weights)weights, mirror);
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++) assert_int_not_equal(places[a], places[b]);
}

static void a_folder_is_a_runs_when_it_has_a_config(void **state) {
    (void)state;
    const char *where = made("exists");
    failure why = {0};
    assert_false(run_exists(where));
    assert_int_equal(run_require(where, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "is not a run's folder"));
    text json = {0};
    text_add(&json, "{}");
    assert_int_equal(run_write(where, RUN_CONFIG, &json, NULL), STATUS_OK);
    text_close(&json);
    assert_true(run_exists(where));
    assert_true(run_has(where, RUN_CONFIG));
    assert_false(run_has(where, RUN_PLAN));
    assert_int_equal(run_require(where, &why), STATUS_OK);
}

/* What another process gets. */
static status_code lock_elsewhere(const char *where) {
    const pid_t child = fork();
    if (child == 0) {
        int lock;
        _exit((int)run_lock(where, &lock, NULL));
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(WIFEXITED(code));
    return (status_code)WEXITSTATUS(code);
}

static void a_folder_belongs_to_one_process(void **state) {
    (void)state;
    const char *where = made("locked");
    int lock;
    assert_int_equal(run_lock(where, &lock, NULL), STATUS_OK);
    assert_int_equal(lock_elsewhere(where), STATUS_FAILED);
    failure why = {0};
    int second;
    assert_int_equal(run_lock(where, &second, &why), STATUS_FAILED);
    assert_non_null(strstr(why.message, "another process trains in this folder"));
    close(lock);
    assert_int_equal(lock_elsewhere(where), STATUS_OK);
    assert_int_equal(run_lock(folder("no-such"), &lock, &why), STATUS_CANNOT_READ);
}

static const char *picture(const char *example) {
    static char paths[4][PATH_SIZE];
    static int next;
    char *path = paths[next++ % 4];
    assert_int_equal(run_picture_path(path, "run", RUN_HARDEST_PICTURES, example, NULL), STATUS_OK);
    return path;
}

static void pictures_are_called_like_their_examples(void **state) {
    (void)state;
    assert_string_equal(picture("123"), "run/hardest/123.png");
    assert_string_equal(picture("case_7"), "run/hardest/case_7.png");
    assert_string_equal(picture("a, \"b\""), "run/hardest/a, \"b\".png");
    assert_string_equal(picture("Sch\xC3\xA4"
                                "del"),
                        "run/hardest/Sch\xC3\xA4"
                        "del.png");
    assert_string_equal(picture("a/b"), "run/hardest/a%2Fb.png");
    assert_string_equal(picture("a%2Fb"), "run/hardest/a%252Fb.png");
    assert_string_equal(picture(".hidden"), "run/hardest/%2Ehidden.png");
    assert_string_equal(picture("../../x"), "run/hardest/%2E.%2F..%2Fx.png");
    assert_string_equal(picture("line\nend"), "run/hardest/line%0Aend.png");
}

static void long_names_have_pictures_of_their_own(void **state) {
    (void)state;
    char a[400], b[400], file[400];
    for (int length = 150; length < 399; length++) {
        memset(a, 'x', (size_t)length);
        a[length] = 0;
        strcpy(b, a);
        b[length - 1] = 'y';
        const char *of_a = picture(a), *of_b = picture(b);
        assert_string_not_equal(of_a, of_b);
        assert_true(strlen(path_name(of_a)) <= 255);
        snprintf(file, sizeof file, "%s", path_name(of_a));
        file[strlen(file) - 4] = 0; /* an example that is called like the other's file */
        if (strcmp(file, a) != 0) assert_string_not_equal(picture(file), picture(a));
    }
    for (int k = 0; k < 133; k++) strcpy(a + 3 * k, "\xE2\x82\xAC");
    const char *cut = strchr(picture(a), '%');
    assert_non_null(cut);
    assert_true(cut[-1] == '\xAC'); /* characters stay whole */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_has_a_name_of_its_own),
        cmocka_unit_test(a_folder_is_a_runs_when_it_has_a_config),
        cmocka_unit_test(a_folder_belongs_to_one_process),
        cmocka_unit_test(pictures_are_called_like_their_examples),
        cmocka_unit_test(long_names_have_pictures_of_their_own),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
