/* Reading a verb's options from a table. */
#ifndef HWS_CLI_OPTIONS_H
#define HWS_CLI_OPTIONS_H

#include <stddef.h>

typedef enum option_kind {
    OPTION_FLAG,   /* int: set to 1 */
    OPTION_WHOLE,  /* long long, from low to high */
    OPTION_NUMBER, /* double, from low to high */
    OPTION_TEXT,   /* const char * */
    OPTION_TRIPLE, /* int[3], as D,H,W, each from low to high */
    OPTION_LIST,   /* cli_list: may be given several times */
    OPTION_PAIR    /* cli_pair: "a,b", each from low to high, may follow; if not, the pair stays as it is */
} option_kind;

enum { CLI_LIST_MAX = 256 };

typedef struct cli_list {
    const char *items[CLI_LIST_MAX];
    int count;
} cli_list;

typedef struct cli_pair {
    double low, high;
    int given;
} cli_pair;

typedef struct cli_option {
    const char *name; /* with its dashes */
    option_kind kind;
    void *target;
    double low, high;
    int *given; /* set to 1 when the option is there; may be NULL */
} cli_option;

/*
 * Fills the targets. Arguments that do not begin with "--" go to `words`, at most `room` of them. Prints what is wrong
 * and returns EXIT_USAGE, or EXIT_DONE. `verb` is named in messages.
 */
int cli_parse(const char *verb, int count, char **arguments, const cli_option *options, size_t option_count,
              const char **words, int room, int *word_count);

/* Whether --help or -h is among the arguments; then the text is printed. */
int cli_helped(int count, char **arguments, const char *usage);

/* Reads "a,b,c". */
int cli_triple(const char *text, double low, double high, int triple[3]);

#endif
