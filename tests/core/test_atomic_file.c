/* Files that appear whole or not at all, and what killed processes leave behind. */
#define _DEFAULT_SOURCE /* flock, kill, readlink, utimes */
#include "core/atomic_file.h"
#include "core/temporary_file.h"
#include "core/whole_file.h"
#include "work_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *name) { assert_int_equal(whole_file_write(work_path(name), "x", 1, NULL), STATUS_OK); }

/* Names that begin with a dot, but for the folder's own. */
static int hidden_files(void) {
    DIR *listing = opendir(work_folder);
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
        const int good = atomic_file_open(&file, work_path("written")) && atomic_file_write(&file, "half", 4);
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
    if (other == 0) _exit(whole_file_write(work_path("written"), "whole", 5, NULL) == STATUS_OK ? 0 : 1);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(hidden_files(), 0);
}

static void what_others_are_writing_stays(void **state) {
    (void)state;
    const pid_t child = writer();
    temporary_sweep(work_path("anything"));
    assert_int_equal(hidden_files(), 1);
    end(child);
    temporary_sweep(work_path("anything"));
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
    assert_int_equal(symlink(OTHERS[0], work_path(name)), 0);
    temporary_sweep(work_path("anything"));
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) assert_true(path_exists(work_path(OTHERS[k])));
    assert_true(path_exists(work_path(".hws-00000000-1-1.tmp")));
    assert_true(path_exists(work_path(name)));
    const struct timeval days_ago[2] = {{1000000, 0}, {1000000, 0}};
    assert_int_equal(utimes(work_path(".hws-00000000-1-1.tmp"), days_ago), 0);
    temporary_sweep(work_path("anything"));
    assert_false(path_exists(work_path(".hws-00000000-1-1.tmp")));
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++) assert_int_equal(unlink(work_path(OTHERS[k])), 0);
    assert_int_equal(unlink(work_path(name)), 0);
}

static void the_longest_name_can_be_written(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    put(name);
    assert_true(path_exists(work_path(name)));
    assert_int_equal(unlink(work_path(name)), 0);
}

/* Without permission to look at the folder it cannot be flushed; files can be written nevertheless. */
static void folders_that_cannot_be_looked_at_are_written_to(void **state) {
    (void)state;
    if (geteuid() == 0) skip();
    assert_int_equal(chmod(work_folder, 0300), 0);
    const status_code status = whole_file_write(work_path("blind"), "x", 1, NULL);
    assert_int_equal(chmod(work_folder, 0700), 0);
    assert_int_equal(status, STATUS_OK);
}

/* ---- two who meet ------------------------------------------------------------------------------------------------ */

/* Another process that sweeps the folder finds a file between its making and its locking, and is about to remove it. */
static int sweeper_comes, sweeper_lock = -1;
static char swept[PATH_SIZE];

/* Names that the linker's --wrap asks for. */
int __real_flock(int file, int operation);
int __wrap_flock(int file, int operation);

int __wrap_flock(int file, int operation) {
    char link[64];
    if (sweeper_comes) {
        sweeper_comes = 0;
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        assert_true(readlink(link, swept, sizeof swept - 1) > 0);
        sweeper_lock = open(link, O_RDONLY | O_CLOEXEC);
        assert_int_equal(__real_flock(sweeper_lock, LOCK_EX | LOCK_NB), 0);
    }
    return __real_flock(file, operation);
}

static void a_file_that_a_sweeper_has_locked_is_given_up(void **state) {
    (void)state;
    atomic_file file;
    put("before"); /* now this process has swept the folder itself, and the next lock is that of a file */
    sweeper_comes = 1;
    assert_true(atomic_file_open(&file, work_path("written")));
    assert_true(sweeper_lock >= 0);
    (void)unlink(swept);
    close(sweeper_lock);
    assert_true(atomic_file_write(&file, "whole", 5));
    assert_true(atomic_file_commit(&file));
    assert_int_equal(hidden_files(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_killed_have_left_goes_when_somebody_writes),
        cmocka_unit_test(what_others_are_writing_stays),
        cmocka_unit_test(files_of_others_stay),
        cmocka_unit_test(the_longest_name_can_be_written),
        cmocka_unit_test(folders_that_cannot_be_looked_at_are_written_to),
        cmocka_unit_test(a_file_that_a_sweeper_has_locked_is_given_up),
    };
    return cmocka_run_group_tests(tests, work_folder_open, work_folder_close);
}
