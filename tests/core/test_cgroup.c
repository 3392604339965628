/* How many processors control groups leave, on machines that are drawn up here. */
#include "core/cgroup.h"
#include "work_folder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(const char *name, const char *content) {
    char path[PATH_SIZE];
    assert_int_equal(path_format(path, NULL, "%s%s", work_folder, name), STATUS_OK);
    *strrchr(path, '/') = 0;
    assert_int_equal(folder_make(path, NULL), STATUS_OK);
    path[strlen(path)] = '/';
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    assert_int_equal(fclose(file), 0);
}

#define assert_processors(expected) assert_true(fabs(cgroup_processors(work_folder) - (expected)) < 1e-12)
#define assert_unlimited() assert_true(isinf(cgroup_processors(work_folder)))

static void without_groups_nothing_is_limited(void **state) {
    (void)state;
    assert_unlimited();
    put("/proc/self/cgroup", "");
    assert_unlimited();
    put("/proc/self/cgroup", "0::/job\n");
    assert_unlimited();
    put("/sys/fs/cgroup/job/cpu.max", "max 100000\n");
    assert_unlimited();
}

static void version_2_is_the_least_of_all_groups_above(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/slurm/job_7/task_0\n");
    put("/sys/fs/cgroup/slurm/job_7/task_0/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/slurm/job_7/cpu.max", "350000 100000\n");
    put("/sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
    assert_processors(3.5);
    put("/sys/fs/cgroup/slurm/cpu.max", "200000 100000\n");
    assert_processors(2);
    put("/sys/fs/cgroup/slurm/job_8/cpu.max", "10000 100000\n"); /* somebody else's */
    assert_processors(2);
}

/* The group of the host cannot be seen in the container, whose own is mounted at the top. */
static void a_container_sees_its_own_group(void **state) {
    (void)state;
    put("/proc/self/cgroup", "0::/../../docker/abc\n");
    put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
    assert_processors(1.5);
    put("/proc/self/cgroup", "0::/\n");
    assert_processors(1.5);
}

static void version_1_has_two_files(void **state) {
    (void)state;
    put("/proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n2:cpuset:/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    assert_unlimited();
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "600000\n");
    assert_processors(6);
    put("/proc/self/cgroup", "0::/\n1:cpu:/\n"); /* both versions side by side */
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    put("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_processors(0.5);
}

static void nonsense_limits_nothing(void **state) {
    (void)state;
    static const char *const LINES[] = {"0", "0:", "0::", "::", "cpu", "1:cpu", "\n\n", "1:cpuacct,cpuset:/\n"};
    static const char *const LIMITS[] = {"", "100000", "0 100000", "100000 0", "-5 100000", "many few", "max"};
    put("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "1\n");
    for (size_t k = 0; k < sizeof LINES / sizeof *LINES; k++) {
        put("/proc/self/cgroup", LINES[k]);
        assert_unlimited();
    }
    put("/proc/self/cgroup", "0::/job\n");
    for (size_t k = 0; k < sizeof LIMITS / sizeof *LIMITS; k++) {
        put("/sys/fs/cgroup/job/cpu.max", LIMITS[k]);
        assert_unlimited();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups_nothing_is_limited, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(version_2_is_the_least_of_all_groups_above, work_folder_open,
                                        work_folder_close),
        cmocka_unit_test_setup_teardown(a_container_sees_its_own_group, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(version_1_has_two_files, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(nonsense_limits_nothing, work_folder_open, work_folder_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
