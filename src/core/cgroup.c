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

/* What one group, whose folder is given, allows: without a limit infinite. */
typedef double limit_of(const char *folder);

/* Something that groups limit, and the folders of its mounts: of version 2, then of version 1. */
typedef struct resource {
    const char *controller;
    const char *tops[4];
    limit_of *limit;
} resource;

static double processors_of(const char *folder) {
    char path[PATH_SIZE];
    double quota[2] = {0, 0};
    if (path_format(path, NULL, "%s/cpu.max", folder) == STATUS_OK && read_numbers(path, quota, 2))
        return quota[0] > 0 && quota[1] > 0 ? quota[0] / quota[1] : INFINITY;
    if (path_format(path, NULL, "%s/cpu.cfs_quota_us", folder) != STATUS_OK || !read_numbers(path, &quota[0], 1) ||
        path_format(path, NULL, "%s/cpu.cfs_period_us", folder) != STATUS_OK || !read_numbers(path, &quota[1], 1))
        return INFINITY;
    return quota[0] > 0 && quota[1] > 0 ? quota[0] / quota[1] : INFINITY;
}

static int read_in(const char *folder, const char *name, double *number) {
    char path[PATH_SIZE];
    return path_format(path, NULL, "%s/%s", folder, name) == STATUS_OK && read_numbers(path, number, 1);
}

/* A number of memory.stat, whose lines are "KEY NUMBER"; 0 if it lacks the key. */
static double stat_of(const char *folder, const char *wanted) {
    char path[PATH_SIZE], key[64];
    double number, found = 0;
    if (path_format(path, NULL, "%s/memory.stat", folder) != STATUS_OK) return 0;
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    while (fscanf(file, "%63s %lf", key, &number) == 2)
        if (strcmp(key, wanted) == 0) found = number;
    fclose(file);
    return found;
}

/* Pages of files that nobody has used for a while count as used, but the system takes them back
   before it refuses memory. */
static double memory_of(const char *folder) {
    static const double NO_LIMIT = 0x1p62; /* version 1 has a very large number for it */
    double limit, used = 0;
    const int is_version_2 = read_in(folder, "memory.max", &limit);
    if (!is_version_2 && !read_in(folder, "memory.limit_in_bytes", &limit)) return INFINITY;
    if (!(limit >= 0 && limit < NO_LIMIT)) return INFINITY;
    if (!read_in(folder, is_version_2 ? "memory.current" : "memory.usage_in_bytes", &used)) used = 0;
    used -= stat_of(folder, is_version_2 ? "inactive_file" : "total_inactive_file");
    return fmax(limit - fmax(used, 0), 0);
}

static const resource PROCESSORS = {"cpu", {"", "/unified", "/cpu", "/cpu,cpuacct"}, processors_of};
static const resource MEMORY = {"memory", {"", "/unified", "/memory", NULL}, memory_of};

/* Of a group and all above it. In a container the path may name what is not to be seen from within: then what is
   mounted as the top is its own. */
static double limit_up_from(const char *top, char *group, limit_of *limit) {
    char folder[PATH_SIZE];
    double least = INFINITY;
    for (;;) {
        if (path_format(folder, NULL, "%s%s", top, group) == STATUS_OK) least = fmin(least, limit(folder));
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
static double limit_of_line(const resource *resource, const char *root, char *line) {
    char top[PATH_SIZE];
    double least = INFINITY;
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) return INFINITY;
    *group++ = 0;
    controllers++;
    if (*controllers && !has_word(controllers, resource->controller)) return INFINITY;
    group[strcspn(group, "\n")] = 0;
    const char *const *tops = resource->tops;
    for (size_t k = *controllers ? 2 : 0; k < (*controllers ? 4u : 2u) && tops[k]; k++) {
        char own[PATH_SIZE];
        if (path_format(own, NULL, "%s", group) == STATUS_OK &&
            path_format(top, NULL, "%s/sys/fs/cgroup%s", root, tops[k]) == STATUS_OK)
            least = fmin(least, limit_up_from(top, own, resource->limit));
    }
    return least;
}

static double least_limit(const resource *resource, const char *root) {
    char path[PATH_SIZE], line[PATH_SIZE];
    double least = INFINITY;
    if (path_format(path, NULL, "%s/proc/self/cgroup", root) != STATUS_OK) return INFINITY;
    FILE *file = fopen(path, "r");
    if (!file) return INFINITY;
    while (fgets(line, sizeof line, file)) least = fmin(least, limit_of_line(resource, root, line));
    fclose(file);
    return least;
}

double cgroup_processors(const char *root) { return least_limit(&PROCESSORS, root); }
double cgroup_memory(const char *root) { return least_limit(&MEMORY, root); }
