#define _GNU_SOURCE /* renameat */
/* A checkpoint while another process sweeps the folder: it may remove the second name of the last one at any moment. */
#include "folders.h"
#include "points.h"
#include "run/run_folder.h"
#include "safetensors/safetensors.h"

#include <fcntl.h>
#include <stdio.h>

static int sweeps; /* so many times the name is gone when it is to become previous.safetensors */

/* The trainer's calls come here. */
int rename(const char *from, const char *to) {
    const char *end = strstr(to, "previous.safetensors");
    if (end && sweeps > 0 && sweeps--) assert_int_equal(unlink(from), 0);
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void a_name_that_was_swept_away_is_made_again(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    const train_settings s = points_settings();
    const char *where = folder("swept"), *before = folder("swept-before");
    trainer *t;
    failure why = {0};
    size_t size;
    folder_make(where, NULL);
    folder_make(before, NULL);
    assert_int_equal(trainer_open(&t, &s, &task, where, NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    char *bytes = file_bytes(where, "latest.safetensors", &size);
    file_write(before, "previous.safetensors", bytes, size);
    sweeps = 3;
    if (checkpoint_write(t, &why) != STATUS_OK) fail_msg("%s", why.message);
    assert_int_equal(sweeps, 0);
    assert_same_file(where, before, "previous.safetensors");
    sweeps = 1 << 30; /* it cannot go on for ever */
    assert_int_equal(checkpoint_write(t, &why), STATUS_CANNOT_WRITE);
    sweeps = 0;
    trainer_close(&t);
    free(bytes);
}

/* A checkpoint of a version that does not exist yet. */
static void write_later_checkpoint(const char *path) {
    const size_t size = 1;
    safetensors_writer *w;
    assert_int_equal(safetensors_writer_open(&w, NULL), STATUS_OK);
    static const char *const METADATA[][2] = {{"hws_checkpoint", "2"}, {"hws_data", "0"}, {"hws_settings", "{}"}};
    for (int k = 0; k < 3; k++)
        assert_int_equal(safetensors_add_metadata(w, METADATA[k][0], METADATA[k][1], NULL), STATUS_OK);
    assert_int_equal(safetensors_add(w, &(safetensors_entry){"hws.sampler", SAFETENSORS_U8, 1, &size}, "x", NULL),
                     STATUS_OK);
    assert_int_equal(safetensors_write(w, path, NULL), STATUS_OK);
    safetensors_writer_close(&w);
}

/* Going on from the checkpoint before would lose what a later version has done. */
static void a_checkpoint_of_another_version_is_refused_and_kept(void **state) {
    (void)state;
    points p;
    const task task = points_task(&p);
    const train_settings s = points_settings();
    const char *where = folder("later");
    char path[PATH_SIZE];
    trainer *t;
    failure why = {0};
    size_t before, after;
    folder_make(where, NULL);
    assert_int_equal(trainer_open(&t, &s, &task, where, NULL), STATUS_OK);
    assert_int_equal(trainer_begin(t, NULL), STATUS_OK);
    assert_int_equal(checkpoint_write(t, NULL), STATUS_OK); /* there is a previous one, too */
    assert_int_equal(run_path(path, where, RUN_LATEST, NULL), STATUS_OK);
    write_later_checkpoint(path);
    char *later = file_bytes(where, "latest.safetensors", &before);
    assert_int_equal(trainer_resume(t, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "another version of hws (format 2)"));
    char *now = file_bytes(where, "latest.safetensors", &after);
    assert_int_equal(before, after);
    assert_memory_equal(later, now, before);
    free(later);
    free(now);
    trainer_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_was_swept_away_is_made_again),
        cmocka_unit_test(a_checkpoint_of_another_version_is_refused_and_kept),
    };
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
