#define _GNU_SOURCE /* renameat */
/* A checkpoint while another process sweeps the folder: it may remove the second name of the last one at any moment. */
#include "folders.h"
#include "points.h"
#include "run/run_folder.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_name_that_was_swept_away_is_made_again)};
    return cmocka_run_group_tests(tests, folders_setup, folders_teardown);
}
