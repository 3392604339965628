#include "options.h"
#include "cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_helped(int count, char **arguments, const char *usage) {
    for (int k = 0; k < count; k++)
        if (strcmp(arguments[k], "--help") == 0 || strcmp(arguments[k], "-h") == 0) {
            fputs(usage, stdout);
            return 1;
        }
    return 0;
}

static int read_number(const char *text, double *value) {
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == 0 && isfinite(*value);
}

int cli_triple(const char *text, double low, double high, int triple[3]) {
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
        if (cli_triple(text, option->low, option->high, option->target)) return EXIT_DONE;
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

/* 1 if the argument is a pair of numbers, -1 if it looks like one but is none, 0 if it is something else. */
static int take_pair(const cli_option *option, const char *text) {
    cli_pair *pair = option->target;
    char *end;
    const double low = strtod(text, &end);
    if (end == text || *end != ',') return 0;
    const char *second = end + 1;
    const double high = strtod(second, &end);
    if (end == second || *end ||
        !(low >= option->low && low <= option->high && high >= option->low && high <= option->high))
        return -1;
    pair->low = low;
    pair->high = high;
    return 1;
}

static const cli_option *find(const cli_option *options, size_t count, const char *name) {
    for (size_t k = 0; k < count; k++)
        if (strcmp(options[k].name, name) == 0) return &options[k];
    return 0;
}

int cli_parse(const char *verb, int count, char **arguments, const cli_option *options, size_t option_count,
              const char **words, int room, int *word_count) {
    int found = 0;
    for (int k = 0; k < count; k++) {
        const char *argument = arguments[k];
        if (strncmp(argument, "--", 2) != 0) {
            if (found == room)
                return cli_error(EXIT_USAGE, "%s: what is '%s'? See hws %s --help", verb, argument, verb);
            words[found++] = argument;
            continue;
        }
        const cli_option *option = find(options, option_count, argument);
        if (!option) return cli_error(EXIT_USAGE, "%s has no option '%s'; see hws %s --help", verb, argument, verb);
        if (option->given) *option->given = 1;
        if (option->kind == OPTION_FLAG) {
            *(int *)option->target = 1;
            continue;
        }
        if (option->kind == OPTION_PAIR) {
            const int taken = k + 1 < count ? take_pair(option, arguments[k + 1]) : 0;
            if (taken < 0)
                return cli_error(EXIT_USAGE, "%s %s is not two numbers from %g to %g such as 0.1,10", argument,
                                 arguments[k + 1], option->low, option->high);
            k += taken;
            continue;
        }
        if (k + 1 == count) return cli_error(EXIT_USAGE, "%s needs a value", argument);
        const int code = set_value(option, arguments[++k]);
        if (code != EXIT_DONE) return code;
    }
    if (word_count) *word_count = found;
    return EXIT_DONE;
}
