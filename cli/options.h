/* A verb's options in one table, from which they are read and --help is printed. */
#ifndef HWS_CLI_OPTIONS_H
#define HWS_CLI_OPTIONS_H

#include "core/text.h"

#include <stddef.h>

typedef enum option_kind {
    OPTION_FLAG,     /* int: set to 1 */
    OPTION_WHOLE,    /* long long, from low to high */
    OPTION_NUMBER,   /* double, from low to high */
    OPTION_TEXT,     /* const char * */
    OPTION_TRIPLE,   /* int[3], as D,H,W, each from low to high */
    OPTION_LIST,     /* cli_list: may be given several times */
    OPTION_OPTIONAL, /* const char *: what `belongs` accepts may follow; "" if it does not */
    OPTION_PARAGRAPH /* no option: a paragraph of the help between others */
} option_kind;

enum { CLI_LIST_MAX = 256 };

typedef struct cli_list {
    const char *items[CLI_LIST_MAX];
    int count;
} cli_list;

typedef struct cli_option {
    const char *name, *value; /* with its dashes; what --help calls its value */
    const char *help;         /* its line or lines of --help; NULL: the usage tells of it */
    option_kind kind;
    void *target; /* holds the default, which --help tells */
    double low, high;
    const char *otherwise;                /* what --help calls the default instead; NULL: what the target holds */
    int *given;                           /* set to 1 when the option is there; may be NULL */
    int (*belongs)(const char *argument); /* of OPTION_OPTIONAL: whether the next argument is its value */
} cli_option;

#define CLI_FLAG(name, target, help)                                                                                   \
    { name, "", help, OPTION_FLAG, target, 0, 0, NULL, NULL, NULL }
#define CLI_TEXT(name, value, target, help, otherwise)                                                                 \
    { name, value, help, OPTION_TEXT, target, 0, 0, otherwise, NULL, NULL }
#define CLI_WHOLE(name, value, target, low, high, help, otherwise)                                                     \
    { name, value, help, OPTION_WHOLE, target, low, high, otherwise, NULL, NULL }
/* The same for every verb that works with threads. */
#define CLI_THREADS(target, help) CLI_WHOLE("--threads", "T", target, 1, 4096, help, "all")
#define CLI_NUMBER(name, value, target, low, high, help, otherwise)                                                    \
    { name, value, help, OPTION_NUMBER, target, low, high, otherwise, NULL, NULL }
#define CLI_TRIPLE(name, value, target, low, high, help, otherwise)                                                    \
    { name, value, help, OPTION_TRIPLE, target, low, high, otherwise, NULL, NULL }
#define CLI_PARAGRAPH(help)                                                                                            \
    { "", "", help, OPTION_PARAGRAPH, NULL, 0, 0, NULL, NULL, NULL }

typedef struct cli_verb {
    const char *name;  /* as messages call it */
    const char *usage; /* what --help says before the options */
    const cli_option *options;
    size_t option_count;
    const char *more;   /* what it says behind them; may be NULL */
    const char **words; /* where arguments that are no options go, at most `capacity` of them */
    int capacity;
} cli_verb;

/* What cli_read returns when the verb's work can begin; everything else is an exit code. */
enum { CLI_GO_ON = -1 };

/*
 * Fills the targets and the words; `word_count` may be NULL. With --help or -h among the arguments, prints the help and
 * returns EXIT_DONE; prints what is wrong and returns EXIT_USAGE.
 */
int cli_read(const cli_verb *verb, int count, char **arguments, int *word_count);

/* Lets *given tell whether the option of this name is there; several options may share one. */
void cli_watch_option(cli_option *options, size_t count, const char *name, int *given);

/* Whether --help or -h is among the arguments. */
int cli_wants_help(int count, char **arguments);

/* What --help prints. */
void cli_help(const cli_verb *verb, text *help);

/* If it is set, cli_read hands the verb to it instead of reading anything, and returns EXIT_DONE: for
   those who write about verbs. */
extern void (*cli_describe)(const cli_verb *verb);

#endif
