/* Short names by which people tell the runs of a page apart. */
#include "core/text.h"
#include "report/run_results.h"

#include <stdlib.h>
#include <string.h>

static int is(const char *value, const char *expected) { return value && strcmp(value, expected) == 0; }

static void add_objective(text *name, const run *run) {
    if (run->is_evaluation) return text_add(name, run->name);
    const char *objective = run_setting_text(run, "objective"), *divergence = run_setting_text(run, "divergence");
    const char *beta = run_setting_text(run, "beta"), *tail = run_setting_text(run, "tail");
    if (is(objective, "erm")) return text_add(name, "ERM");
    if (is(objective, "reweight")) return text_add(name, "Reweighted");
    if (is(objective, "ohem")) return text_add(name, "OHEM");
    if (is(objective, "group-dro")) return text_add(name, "Group DRO");
    if (is(objective, "jtt")) return text_add(name, "JTT");
    if (is(objective, "cvar-batch")) return text_format(name, "CVaR per batch, tail=%.20s", tail ? tail : "?");
    if (!is(objective, "dro")) return text_add(name, objective ? objective : "Run");
    text_add(name, "DRO");
    if (divergence && *divergence && !is(divergence, "kl")) text_format(name, " %.40s", divergence);
    if (tail && !is(tail, "none")) text_format(name, " tail=%.20s", tail);
    else if (beta && !(divergence && strncmp(divergence, "cvar", 4) == 0)) text_format(name, " \xCE\xB2=%.20s", beta);
}

static int name_again(const run *runs, size_t count, size_t k) {
    for (size_t j = 0; j < count; j++)
        if (j != k && strcmp(runs[j].name, runs[k].name) == 0) return 1;
    return 0;
}

/* The end of a path with so many parts, or all of it. */
static const char *last_parts(const char *folder, int parts) {
    size_t size = strlen(folder);
    for (int k = 0; k < parts; k++) {
        while (size > 1 && folder[size - 1] == '/') size--;
        while (size > 0 && folder[size - 1] != '/') size--;
    }
    return folder[size] ? folder + size : folder;
}

/* How many parts of their paths tell runs of the same name apart; at most `DEEPEST`, as what is longer is no name. */
static int parts_needed(const run *runs, size_t count) {
    enum { DEEPEST = 6 };
    int parts = 1;
    for (size_t j = 0; j < count; j++)
        for (size_t k = j + 1; k < count; k++)
            while (parts < DEEPEST && strcmp(runs[j].name, runs[k].name) == 0 &&
                   strcmp(last_parts(runs[j].folder, parts), last_parts(runs[k].folder, parts)) == 0)
                parts++;
    return parts;
}

/* Adds the setting, or without a key the end of the path, to the names that still occur twice, all
   decided before any is changed. */
static int tell_apart(run *runs, size_t count, const char *key) {
    char *again = malloc(count);
    if (!again) return 0;
    int good = 1;
    const int parts = parts_needed(runs, count);
    for (size_t k = 0; k < count; k++) again[k] = (char)name_again(runs, count, k);
    for (size_t k = 0; k < count && good; k++) {
        const char *value = key ? run_setting_text(&runs[k], key) : last_parts(runs[k].folder, parts);
        if (!again[k] || !value) continue;
        text name = {0};
        text_format(&name, key ? "%s, %s " : "%s, %s", runs[k].name, key ? key : value);
        if (key) text_format(&name, "%.40s", value);
        good = !name.failed;
        free(runs[k].name);
        runs[k].name = name.bytes;
    }
    free(again);
    return good;
}

/* Where nothing else does, their places on the page tell them apart. */
static int number_the_rest(run *runs, size_t count) {
    for (size_t k = count; k-- > 1;) {
        if (!name_again(runs, count, k)) continue;
        text name = {0};
        text_format(&name, "%s, no. %zu", runs[k].name, k + 1);
        if (name.failed) return text_close(&name), 0;
        free(runs[k].name);
        runs[k].name = name.bytes;
    }
    return 1;
}

/* Whether runs of the same name differ in this setting; a value that is not there differs too. */
static int would_help(const run *runs, size_t count, const char *key) {
    for (size_t j = 0; j < count; j++)
        for (size_t k = j + 1; k < count; k++) {
            if (strcmp(runs[j].name, runs[k].name) != 0) continue;
            const char *a = run_setting_text(&runs[j], key), *b = run_setting_text(&runs[k], key);
            if (!a != !b || (a && strcmp(a, b) != 0)) return 1;
        }
    return 0;
}

static int name_by_settings(run *runs, size_t count) {
    static const char *const KEYS[] = {"model", "precision", "lr", "batch", "seed", "fold"};
    int style = 1, has_plain = 0;
    for (size_t k = 0; k < count; k++) {
        text name = {0};
        add_objective(&name, &runs[k]);
        if (name.failed) return text_close(&name), 0;
        free(runs[k].name);
        runs[k].name = name.bytes;
        /* Ordinary training is what everything is compared with: it gets the colour of the text. */
        const int plain = !has_plain && run_has_objective(&runs[k], "erm");
        runs[k].style = plain ? 0 : style++;
        has_plain |= plain;
    }
    int good = 1;
    for (size_t key = 0; key < sizeof KEYS / sizeof *KEYS && good; key++)
        if (would_help(runs, count, KEYS[key])) good = tell_apart(runs, count, KEYS[key]);
    return good && tell_apart(runs, count, NULL) && number_the_rest(runs, count);
}

/* Takes the name that `names` begins with, which becomes what is behind it; NULL: there is none, or memory ran out. */
static char *next_name(const char **names) {
    const size_t length = *names ? strcspn(*names, ",") : 0;
    text name = {0};
    if (!length) return NULL;
    text_add_bytes(&name, *names, length);
    *names = (*names)[length] ? *names + length + 1 : NULL;
    return name.bytes;
}

static status_code name_as_told(run *runs, size_t count, const char *names, failure *failure) {
    const char *left = names;
    size_t named = 0;
    for (char *name; named < count && (name = next_name(&left)); named++) {
        free(runs[named].name);
        runs[named].name = name;
    }
    int wrong = named < count || left;
    for (size_t k = 0; k < count && !wrong; k++) wrong = name_again(runs, count, k);
    if (!wrong) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--names %.200s is not %zu different names such as ERM,DRO", names, count);
}

status_code run_name_all(run *runs, size_t count, const char *names, failure *failure) {
    if (!name_by_settings(runs, count)) return fail_memory(failure, "the names of the runs");
    return names ? name_as_told(runs, count, names, failure) : STATUS_OK;
}
