#include "options.h"
#include "cli.h"
#include "core/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- help ---- */

/* What an option is without being given, in words; empty if there is nothing to tell. */
static void describe_default(const cli_option *option, char *words, size_t capacity) {
    const int *triple = option->target;
    *words = 0;
    if (option->otherwise) snprintf(words, capacity, "%s", option->otherwise);
    else if (option->kind == OPTION_WHOLE) snprintf(words, capacity, "%lld", *(const long long *)option->target);
    else if (option->kind == OPTION_NUMBER) snprintf(words, capacity, "%g", *(const double *)option->target);
    else if (option->kind == OPTION_TRIPLE) snprintf(words, capacity, "%d,%d,%d", triple[0], triple[1], triple[2]);
    else if (option->kind == OPTION_TEXT && *(const char *const *)option->target)
        snprintf(words, capacity, "%s", *(const char *const *)option->target);
}

enum { HELP_WIDTH = 54 }; /* behind it defaults stand below each other */

static void add_option(const cli_option *option, int column, text *help) {
    char name[64], words[128];
    const char *line = option->help, *end;
    snprintf(name, sizeof name, "%s %s", option->name, option->value);
    text_format(help, "  %-*s ", column, name);
    while ((end = strchr(line, '\n'))) {
        text_format(help, "%.*s\n%*s", (int)(end - line), line, column + 3, "");
        line = end + 1;
    }
    describe_default(option, words, sizeof words);
    if (*words) text_format(help, "%-*s  (%s)\n", HELP_WIDTH, line, words);
    else text_format(help, "%s\n", line);
}

void cli_help(const cli_verb *verb, text *help) {
    int column = 0;
    text_add(help, verb->usage);
    for (size_t k = 0; k < verb->option_count; k++) {
        const cli_option *option = &verb->options[k];
        const int length = option->help ? (int)(strlen(option->name) + strlen(option->value)) + 2 : 0;
        if (length > column) column = length;
    }
    for (size_t k = 0; k < verb->option_count; k++) {
        if (verb->options[k].kind == OPTION_PARAGRAPH) text_format(help, "\n%s\n", verb->options[k].help);
        else if (verb->options[k].help) add_option(&verb->options[k], column, help);
    }
    if (verb->more) text_add(help, verb->more);
}

static int print_help(const cli_verb *verb) {
    text help = {0};
    cli_help(verb, &help);
    const int code = help.failed ? cli_error(EXIT_FAILED, "out of memory") : EXIT_DONE;
    if (code == EXIT_DONE) fputs(text_string(&help), stdout);
    text_close(&help);
    return code;
}

/* ---- reading ---- */

static int read_number(const char *text, double *value) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*value);
}

/* Reads "a,b,c". */
static int read_triple(const char *text, double low, double high, int triple[3]) {
    for (int i = 0; i < 3; i++) {
        char *end;
        const long value = strtol(text, &end, 10);
        if (end == text || (double)value < low || (double)value > high || *end != (i < 2 ? ',' : 0)) return 0;
        triple[i] = (int)value;
        text = end + 1;
    }
    return 1;
}

static int set_value(const cli_option *option, const char *text) {
    double value = 0;
    switch (option->kind) {
    case OPTION_TEXT: *(const char **)option->target = text; return EXIT_DONE;
    case OPTION_LIST: {
        cli_list *list = option->target;
        if (list->count == CLI_LIST_MAX)
            return cli_error(EXIT_USAGE, "%s is given more than %d times", option->name, CLI_LIST_MAX);
        list->items[list->count++] = text;
        return EXIT_DONE;
    }
    case OPTION_TRIPLE:
        if (read_triple(text, option->low, option->high, option->target)) return EXIT_DONE;
        return cli_error(EXIT_USAGE, "%s %s is not three whole numbers from %g to %g such as 40,56,40", option->name,
                         text, option->low, option->high);
    case OPTION_WHOLE:
        if (read_number(text, &value) && value == floor(value) && value >= option->low && value <= option->high) {
            *(long long *)option->target = (long long)value;
            return EXIT_DONE;
        }
        return cli_error(EXIT_USAGE, "%s %s is not a whole number from %.15g to %.15g", option->name, text, option->low,
                         option->high);
    default:
        if (read_number(text, &value) && value >= option->low && value <= option->high) {
            *(double *)option->target = value;
            return EXIT_DONE;
        }
        return cli_error(EXIT_USAGE, "%s %s is not a number from %g to %g", option->name, text, option->low,
                         option->high);
    }
}

static const cli_option *find(const cli_verb *verb, const char *name) {
    for (size_t k = 0; k < verb->option_count; k++)
        if (strcmp(verb->options[k].name, name) == 0) return &verb->options[k];
    return NULL;
}

void cli_watch_option(cli_option *options, size_t count, const char *name, int *given) {
    for (size_t k = 0; k < count; k++)
        if (strcmp(options[k].name, name) == 0) options[k].given = given;
}

static int no_option(const cli_verb *verb, const char *argument) {
    nearest near = nearest_start(argument);
    for (size_t k = 0; k < verb->option_count; k++) nearest_consider(&near, verb->options[k].name);
    if (near.meant)
        return cli_error(EXIT_USAGE, "%s has no option '%s'; did you mean %s? See hws %s --help", verb->name, argument,
                         near.meant, verb->name);
    return cli_error(EXIT_USAGE, "%s has no option '%s'; see hws %s --help", verb->name, argument, verb->name);
}

/* The option at arguments[*k] with its value, behind which *k then stands. */
static int read_option(const cli_verb *verb, int count, char **arguments, int *k) {
    const char *argument = arguments[*k], *value = *k + 1 < count ? arguments[*k + 1] : NULL;
    const cli_option *option = find(verb, argument);
    if (!option) return no_option(verb, argument);
    if (option->given) *option->given = 1;
    if (option->kind == OPTION_FLAG) {
        *(int *)option->target = 1;
        return EXIT_DONE;
    }
    if (option->kind == OPTION_OPTIONAL) {
        const int given = value && option->belongs(value);
        *(const char **)option->target = given ? value : "";
        *k += given;
        return EXIT_DONE;
    }
    if (!value) return cli_error(EXIT_USAGE, "%s needs a value", argument);
    if (find(verb, value))
        return cli_error(EXIT_USAGE, "%s needs a value, and %s is an option; write ./%s for a file of this name",
                         argument, value, value);
    ++*k;
    return set_value(option, value);
}

void (*cli_describe)(const cli_verb *verb);

int cli_wants_help(int count, char **arguments) {
    for (int k = 0; k < count; k++)
        if (strcmp(arguments[k], "--help") == 0 || strcmp(arguments[k], "-h") == 0) return 1;
    return 0;
}

int cli_read(const cli_verb *verb, int count, char **arguments, int *word_count) {
    int found = 0, code = EXIT_DONE;
    if (cli_describe) return cli_describe(verb), EXIT_DONE;
    if (cli_wants_help(count, arguments)) return print_help(verb);
    for (int k = 0; k < count && code == EXIT_DONE; k++) {
        if (arguments[k][0] == '-' && arguments[k][1]) code = read_option(verb, count, arguments, &k);
        else if (found < verb->capacity) verb->words[found++] = arguments[k];
        else code = cli_error(EXIT_USAGE, "%s: what is '%s'? See hws %s --help", verb->name, arguments[k], verb->name);
    }
    if (word_count) *word_count = found;
    return code == EXIT_DONE ? CLI_GO_ON : code;
}
