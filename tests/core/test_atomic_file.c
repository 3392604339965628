/* Files that appear whole or not at all, and what killed processes leave behind. */
#define _DEFAULT_SOURCE /* flock, kill, utimes */
#include "testing.h"

#include "core/atomic_file.h"
#include "core/path.h"
#include "core/temporary_file.h"
#include "core/whole_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char work[PATH_SIZE];

static const char *at(const char *name) {
    static char path[2 * PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", work, name);
    return path;
}

static void put(const char *name) { assert_int_equal(whole_file_write(at(name), "x", 1, NULL), STATUS_OK); }

/* Names that begin with a dot, but for the folder's own. */
static int hidden_files(void) {
    DIR *listing = opendir(work);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(listing));)
        count += entry->d_name[0] == '.' && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    return count;
}

/* A process that has begun to write a file and waits, or is gone. */
static pid_t writer(void) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        atomic_file file;
        const int good = atomic_file_open(&file, at("written")) && atomic_file_write(&file, "half", 4);
        if (write(ready[1], good ? "y" : "n", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    close(ready[0]);
    return child;
}

static void end(pid_t child) {
    int status;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void what_the_killed_have_left_goes_when_somebody_writes(void **state) {
    (void)state;
    end(writer());
    assert_int_equal(hidden_files(), 1);
    pid_t other = fork();
    if (other == 0) _exit(whole_file_write(at("written"), "whole", 5, NULL) == STATUS_OK ? 0 : 1);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(hidden_files(), 0);
}

static void what_others_are_writing_stays(void **state) {
    (void)state;
    const pid_t child = writer();
    temporary_sweep(at("anything"));
    assert_int_equal(hidden_files(), 1);
    end(child);
    temporary_sweep(at("anything"));
    assert_int_equal(hidden_files(), 0);
}

static void files_of_others_stay(void **state) {
    (void)state;
    static const char *const OTHERS[] = {"notes.tmp123",     "config.json.tmp123.4",   "a.tmp0",
                                         ".hws-notes.tmp",   ".hws-1-2-3.tmp.txt",     ".hws-12345678-1-.tmp",
                                         "hws-1a2b-1-1.tmp", ".hws-12345678-1-1.temp", ".hws-12345678-1-1"};
    char name[TEMPORARY_NAME_SIZE];
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) put(OTHERS[k]);
    /* Of another machine, and young; a link that only looks like one. */
    put(".hws-00000000-1-1.tmp");
    temporary_path(name, "");
    assert_int_equal(symlink(OTHERS[0], at(name)), 0);
    temporary_sweep(at(""));
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) assert_true(path_exists(at(OTHERS[k])));
    assert_true(path_exists(at(".hws-00000000-1-1.tmp")));
    assert_true(path_exists(at(name)));
    const struct timeval days_ago[2] = {{1000000, 0}, {1000000, 0}};
    assert_int_equal(utimes(at(".hws-00000000-1-1.tmp"), days_ago), 0);
    temporary_sweep(at(""));
    assert_false(path_exists(at(".hws-00000000-1-1.tmp")));
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) assert_int_equal(unlink(at(OTHERS[k])), 0);
    assert_int_equal(unlink(at(name)), 0);
}

static void the_longest_name_can_be_written(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    put(name);
    assert_true(path_exists(at(name)));
    assert_int_equal(unlink(at(name)), 0);
}

/* Without permission to look at the folder it cannot be flushed; files can be written nevertheless. */
static void folders_that_cannot_be_looked_at_are_written_to(void **state) {
    (void)state;
    if (geteuid() == 0) skip();
    assert_int_equal(chmod(work, 0300), 0);
    const status_code status = whole_file_write(at("blind"), "x", 1, NULL);
    assert_int_equal(chmod(work, 0700), 0);
    assert_int_equal(status, STATUS_OK);
}

static int open_work(void **state) {
    (void)state;
    return folder_make_temporary(work, NULL) == STATUS_OK ? 0 : -1;
}

static int close_work(void **state) {
    (void)state;
    folder_remove(work);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_killed_have_left_goes_when_somebody_writes),
        cmocka_unit_test(what_others_are_writing_stays),
        cmocka_unit_test(files_of_others_stay),
        cmocka_unit_test(the_longest_name_can_be_written),
        cmocka_unit_test(folders_that_cannot_be_looked_at_are_written_to),
    };
    return cmocka_run_group_tests(tests, open_work, close_work);
}
