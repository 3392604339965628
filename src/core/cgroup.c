#include "core/cgroup.h"

#include "core/path.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first `count` numbers of a file; 0 if it has fewer, as where it says "max". */
static int read_numbers(const char *path, double *numbers, int count) {
    FILE *file = fopen(path, "r");
    int good = file != NULL;
    for (int k = 0; k < count && good; k++) good = fscanf(file, "%lf", &numbers[k]) == 1;
    if (file) fclose(file);
    return good;
}

/* Of one group, whose folder is given: without a limit infinite. */
static double limit_of(const char *folder) {
    char path[PATH_SIZE];
    double quota[2] = {0, 0};
    if (path_format(path, NULL, "%s/cpu.max", folder) == STATUS_OK && read_numbers(path, quota, 2))
        return quota[0] > 0 && quota[1] > 0 ? quota[0] / quota[1] : INFINITY;
    if (path_format(path, NULL, "%s/cpu.cfs_quota_us", folder) != STATUS_OK || !read_numbers(path, &quota[0], 1) ||
        path_format(path, NULL, "%s/cpu.cfs_period_us", folder) != STATUS_OK || !read_numbers(path, &quota[1], 1))
        return INFINITY;
    return quota[0] > 0 && quota[1] > 0 ? quota[0] / quota[1] : INFINITY;
}

/* Of a group and all above it. In a container the path may name what is not to be seen from within: then what is
   mounted as the top is its own. */
static double limit_up_from(const char *top, char *group) {
    char folder[PATH_SIZE];
    double least = INFINITY;
    for (;;) {
        if (path_format(folder, NULL, "%s%s", top, group) == STATUS_OK) least = fmin(least, limit_of(folder));
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

/* Whether a list such as "cpu,cpuacct" has the word. */
static int has_word(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || !at[length])) return 1;
    return 0;
}

/* A line of /proc/self/cgroup: NUMBER:CONTROLLERS:/GROUP, without controllers for version 2. */
static double limit_of_line(const char *root, char *line) {
    char top[PATH_SIZE];
    double least = INFINITY;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return INFINITY;
    *group++ = 0;
    controllers++;
    if (*controllers && !has_word(controllers, "cpu")) return INFINITY;
    group[strcspn(group, "\n")] = 0;
    const char *const tops[] = {"", "/unified", "/cpu", "/cpu,cpuacct"};
    for (size_t k = *controllers ? 2 : 0; k < (*controllers ? 4u : 2u); k++) {
        char own[PATH_SIZE];
        if (path_format(own, NULL, "%s", group) == STATUS_OK &&
            path_format(top, NULL, "%s/sys/fs/cgroup%s", root, tops[k]) == STATUS_OK)
            least = fmin(least, limit_up_from(top, own));
    }
    return least;
}

double cgroup_processors(const char *root) {
    char path[PATH_SIZE], line[PATH_SIZE];
    double least = INFINITY;
    if (path_format(path, NULL, "%s/proc/self/cgroup", root) != STATUS_OK) return INFINITY;
    FILE *file = fopen(path, "r");
    if (!file) return INFINITY;
    while (fgets(line, sizeof line, file)) least = fmin(least, limit_of_line(root, line));
    fclose(file);
    return least;
}
