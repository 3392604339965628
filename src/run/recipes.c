/* Several settings in one word. The paper's stand in the table of settings, each beside its default. */
#include "run/settings.h"

#include <string.h>

enum { HELP_COLUMN = 23, HELP_END = 110 };

/* Augmentation that suits a kind of pictures, a setting per row; rows of a recipe stand together. */
static const struct {
    const char *recipe, *key, *value;
} AUGMENTATION[] = {{"photos", "flip", "on"},    {"photos", "resized_crop", "0.25"},
                    {"photos", "jitter", "0.2"}, {"photos", "erase", "0.1"},
                    {"xrays", "crop", "4"},      {"xrays", "rotate", "10"},
                    {"xrays", "jitter", "0.2"}};
enum { ROWS = sizeof AUGMENTATION / sizeof *AUGMENTATION };

static status_code follow_augmentation(train_settings *settings, const char *name, int volumes, failure *failure) {
    int known = 0;
    status_code status = STATUS_OK;
    for (int k = 0; k < ROWS && status == STATUS_OK; k++) {
        if (strcmp(AUGMENTATION[k].recipe, name) != 0) continue;
        known = 1;
        status = settings_set(settings, AUGMENTATION[k].key, AUGMENTATION[k].value, failure);
    }
    if (known && volumes)
        return fail(failure, STATUS_BAD_INPUT, "--recipe %.100s is for images, not for volumes", name);
    if (known) return status;
    return fail(failure, STATUS_BAD_INPUT, "there is no recipe '%.100s'; paper, photos and xrays are known", name);
}

static const char *papers_value(const setting *s, int volumes) {
    return volumes && s->paper_volumes ? s->paper_volumes : s->paper;
}

status_code settings_follow_recipe(train_settings *settings, const char *name, int volumes, failure *failure) {
    status_code status = STATUS_OK;
    if (strcmp(name, "paper") != 0) return follow_augmentation(settings, name, volumes, failure);
    for (size_t k = 0; k < settings_count() && status == STATUS_OK; k++) {
        const char *value = papers_value(settings_at(k), volumes);
        if (value) status = settings_set(settings, settings_at(k)->key, value, failure);
    }
    return status;
}

/* ---- what --help says -------------------------------------------------------------------------------------------- */

static size_t next_line(text *help) {
    text_add(help, "\n");
    const size_t line = help->size;
    text_format(help, "%*s", HELP_COLUMN - 1, "");
    return line;
}

/* As one would type it, on the line that began at *line or on the next one. What another option takes
   the place of is not typed. */
static void add_option(text *help, size_t *line, const setting *s, const char *value) {
    char option[SETTING_OPTION_SIZE];
    text words = {0};
    if (s->instead_of && strcmp(value, "none") == 0) return;
    setting_option(s, option);
    if (strcmp(value, "on") == 0) text_add(&words, option);
    else if (strcmp(value, "off") == 0) text_format(&words, "--no-%s", option + 2);
    else text_format(&words, "%s %s", option, value);
    if (help->size - *line + 1 + words.size > HELP_END) *line = next_line(help);
    text_format(help, " %s", text_string(&words));
    text_close(&words);
}

static size_t begin(text *help, const char *recipe, const char *words) {
    const size_t line = help->size;
    text_format(help, "  --recipe %-*s%s", HELP_COLUMN - 11, recipe, words);
    return line;
}

static void add_papers(text *help) {
    size_t line = begin(help, "paper", "as in the paper, for images");
    for (int volumes = 0; volumes < 2; volumes++) {
        if (volumes) line = next_line(help), text_add(help, " for volumes");
        for (size_t k = 0; k < settings_count(); k++)
            if (settings_at(k)->paper) add_option(help, &line, settings_at(k), papers_value(settings_at(k), volumes));
    }
    text_add(help, ";");
    next_line(help);
    text_add(help, " other options change it\n");
}

void settings_recipes_help(text *help) {
    size_t line = 0;
    add_papers(help);
    for (int k = 0; k < ROWS; k++) {
        const char *recipe = AUGMENTATION[k].recipe;
        if (!k || strcmp(AUGMENTATION[k - 1].recipe, recipe) != 0)
            line = begin(help, recipe, "how pictures are augmented:");
        add_option(help, &line, settings_find(AUGMENTATION[k].key), AUGMENTATION[k].value);
        if (k + 1 == ROWS || strcmp(AUGMENTATION[k + 1].recipe, recipe) != 0) text_add(help, "\n");
    }
}
