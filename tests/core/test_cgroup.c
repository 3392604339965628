/* How many processors and how much memory control groups leave, on machines that are drawn up here. */
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

#define assert_memory(expected) assert_true(cgroup_memory(work_folder) == (expected))

static void memory_of_version_2_is_what_is_left_of_the_limit(void **state) {
    (void)state;
    assert_memory(INFINITY);
    put("/proc/self/cgroup", "0::/slurm/job_7/task_0\n");
    put("/sys/fs/cgroup/slurm/job_7/task_0/memory.max", "max\n");
    put("/sys/fs/cgroup/slurm/job_7/task_0/memory.current", "600\n");
    assert_memory(INFINITY);
    put("/sys/fs/cgroup/slurm/job_7/memory.max", "8000000000\n");
    assert_memory(8e9);
    put("/sys/fs/cgroup/slurm/job_7/memory.current", "3000000000\n");
    assert_memory(5e9);
    /* Files that were read fill a job's memory, and are given up when it is needed. */
    put("/sys/fs/cgroup/slurm/job_7/memory.stat", "anon 1000000000\nfile 2000000000\nactive_file 500000000\n"
                                                  "inactive_file 1500000000\nworkingset_refault_file 7\n");
    assert_memory(6.5e9);
    put("/sys/fs/cgroup/slurm/memory.max", "4000000000\n");
    put("/sys/fs/cgroup/slurm/memory.current", "3900000000\n");
    assert_memory(1e8);
    put("/sys/fs/cgroup/slurm/memory.current", "4100000000\n");
    assert_memory(0);
}

static void memory_of_version_1_has_other_names(void **state) {
    (void)state;
    put("/proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000000000\n");
    assert_memory(INFINITY);
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000000\n");
    assert_memory(1e9);
    put("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 5\ntotal_inactive_file 400000000\n");
    assert_memory(1.4e9);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1200000000\n");
    assert_memory(1.2e9);
    put("/sys/fs/cgroup/memory.max", "1100000000\n"); /* both versions side by side */
    assert_memory(1.1e9);
}

static void nonsense_limits_no_memory(void **state) {
    (void)state;
    static const char *const LIMITS[] = {"", "max", "-1", "many", "nan", "1e300"};
    put("/proc/self/cgroup", "0::/job\n");
    for (size_t k = 0; k < sizeof LIMITS / sizeof *LIMITS; k++) {
        put("/sys/fs/cgroup/job/memory.max", LIMITS[k]);
        assert_memory(INFINITY);
    }
    put("/sys/fs/cgroup/job/memory.max", "1000\n");
    put("/sys/fs/cgroup/job/memory.current", "some\n");
    put("/sys/fs/cgroup/job/memory.stat", "inactive_file\n");
    assert_memory(1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_groups_nothing_is_limited, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(version_2_is_the_least_of_all_groups_above, work_folder_open,
                                        work_folder_close),
        cmocka_unit_test_setup_teardown(a_container_sees_its_own_group, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(version_1_has_two_files, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(nonsense_limits_nothing, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(memory_of_version_2_is_what_is_left_of_the_limit, work_folder_open,
                                        work_folder_close),
        cmocka_unit_test_setup_teardown(memory_of_version_1_has_other_names, work_folder_open, work_folder_close),
        cmocka_unit_test_setup_teardown(nonsense_limits_no_memory, work_folder_open, work_folder_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
