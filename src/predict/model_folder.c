#define _POSIX_C_SOURCE 200809L
#include "predict/model_folder.h"

#include "run/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static status_code check_folder(const char *folder, failure *failure) {
    if (!path_is_folder(folder))
        return fail(failure, STATUS_CANNOT_READ, "%.500s is not a folder: name a run's, or one with a plan and weights",
                    folder);
    if (run_has(folder, RUN_PLAN)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s has no %s: name the folder of a run that segments volumes, or of an exported model", folder,
                run_file_name(RUN_PLAN));
}

status_code model_folder_plan(const char *folder, plan *plan, failure *failure) {
    char path[PATH_SIZE];
    status_code status = check_folder(folder, failure);
    if (status == STATUS_OK) status = run_path(path, folder, RUN_PLAN, failure);
    return status == STATUS_OK ? plan_read(plan, path, failure) : status;
}

static int is_weights(const char *name) {
    const char *dot = strrchr(name, '.');
    return name[0] != '.' && dot && strcmp(dot, ".safetensors") == 0;
}

/* Exactly one, whatever it is called. */
static status_code only_weights(const char *folder, char path[PATH_SIZE], failure *failure) {
    int count = 0;
    status_code status = STATUS_OK;
    DIR *listing = opendir(folder);
    if (!listing && errno != ENOENT && errno != ENOTDIR) return fail_unreadable(failure, folder, errno);
    for (const struct dirent *entry; listing && status == STATUS_OK && (entry = readdir(listing));) {
        if (!is_weights(entry->d_name)) continue;
        if (!count++) status = path_join(path, folder, entry->d_name, failure);
    }
    if (listing) closedir(listing);
    if (status == STATUS_OK && count != 1)
        status = fail(failure, STATUS_BAD_INPUT,
                      "%.500s has %d files of weights (.safetensors) and none of them is %s: keep only the one to use",
                      folder, count, run_file_name(RUN_BEST));
    return status;
}

status_code model_folder_weights(const char *folder, run_weights weights, char path[PATH_SIZE], failure *failure) {
    const run_file asked = run_weights_file(weights);
    if (weights != RUN_WEIGHTS_BEST && !run_has(folder, asked) && (run_has(folder, RUN_BEST) || !run_exists(folder)))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s has no %s: imported and exported networks have only their best weights, so ask for those",
                    folder, run_file_name(asked));
    if (run_exists(folder) || run_has(folder, asked)) return run_path(path, folder, asked, failure);
    if (run_has(folder, RUN_BEST)) return run_path(path, folder, RUN_BEST, failure);
    return only_weights(folder, path, failure);
}

static size_t name_bytes(const run_facts *facts, const plan *plan, int index, char number[16], const char **name) {
    snprintf(number, 16, "%d", plan->labels.regions ? index : plan->labels.values[index]);
    *name = index < facts->class_count && facts->class_names ? facts->class_names[index] : number;
    if (plan->labels.regions) *name = plan->labels.region[index].name;
    return strlen(*name) + 1;
}

/* The pointers, then the texts that they point to. */
static char **copy_names(const run_facts *facts, const plan *plan) {
    const int classes = plan->classes;
    char number[16];
    const char *name;
    size_t bytes = (size_t)classes * sizeof(char *);
    for (int k = 0; k < classes; k++) bytes += name_bytes(facts, plan, k, number, &name);
    char **copy = malloc(bytes);
    char *at = copy ? (char *)(copy + classes) : 0;
    for (int k = 0; copy && k < classes; k++) {
        const size_t length = name_bytes(facts, plan, k, number, &name);
        copy[k] = memcpy(at, name, length);
        at += length;
    }
    return copy;
}

status_code model_folder_labels(const char *folder, const plan *plan, char ***names, failure *failure) {
    run_config config = {0};
    *names = 0;
    const status_code status = run_exists(folder) ? run_config_open(&config, folder, failure) : STATUS_OK;
    if (status != STATUS_OK) return status;
    *names = copy_names(&config.facts, plan);
    run_config_close(&config);
    return *names ? STATUS_OK : fail_memory(failure, "the names of labels");
}
