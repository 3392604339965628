/* What is told of long work, by a clock of our own. */
#define _POSIX_C_SOURCE 200809L
#include "../../cli/cli.h"
#include "../../cli/interrupt.h"
#include "../../cli/progress.h"

#include "core/clock.h"
#include "testing.h"

#include <stdio.h>
#include <unistd.h>

static double now;
double clock_seconds(void) { return now; }

volatile sig_atomic_t cli_interrupted;
int cli_error(int exit_code, const char *format, ...) { return format ? exit_code : EXIT_FAILURE; }

static char told[4096];

/* Calls `work` and keeps what it writes to stderr. */
static void listen(void (*work)(cli_progress *progress)) {
    cli_progress progress;
    fflush(stderr);
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_non_null(file);
    assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    now = 1000;
    cli_listen(&progress, 0);
    work(&progress);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    told[fread(told, 1, sizeof told - 1, file)] = 0;
    fclose(file);
}

static void slow_work(cli_progress *progress) {
    for (size_t k = 1; k <= 4; k++) {
        now += 20;
        cli_progress_show(progress, "reading", k, 4);
    }
}

static void test_it_says_how_long_it_takes(void **state) {
    (void)state;
    listen(slow_work);
    assert_string_equal(told, "reading: 1 of 4, 60 s left\nreading: 2 of 4, 40 s left\nreading: 3 of 4, 20 s left\n"
                              "reading: 4 of 4, 0 s left\n");
}

/* As hws train draws its hardest examples after each of some epochs. */
static void repeated_work(cli_progress *progress) {
    for (int epoch = 0; epoch < 3; epoch++) {
        now += 3600;
        progress->seen = now;
        for (size_t k = 1; k <= 2; k++) {
            now += 15;
            cli_progress_show(progress, "drawing", k, 2);
        }
    }
}

static void test_the_same_work_again_begins_anew(void **state) {
    (void)state;
    listen(repeated_work);
    const char *once = "drawing: 1 of 2, 15 s left\ndrawing: 2 of 2, 0 s left\n";
    char expected[512];
    snprintf(expected, sizeof expected, "%s%s%s", once, once, once);
    assert_string_equal(told, expected);
}

/* What tells that it begins is not blamed for what came before it without a word. */
static void work_after_a_silence(cli_progress *progress) {
    now += 3600;
    for (size_t k = 0; k <= 2; k++) {
        cli_progress_show(progress, "drawing", k, 2);
        now += 15;
    }
}

static void test_work_begins_when_it_says_so(void **state) {
    (void)state;
    listen(work_after_a_silence);
    assert_string_equal(told, "drawing: 1 of 2, 15 s left\ndrawing: 2 of 2, 0 s left\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_says_how_long_it_takes),
                                       cmocka_unit_test(test_the_same_work_again_begins_anew),
                                       cmocka_unit_test(test_work_begins_when_it_says_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
