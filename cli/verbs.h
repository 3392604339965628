/* The verbs in one table, from which they are found, listed, explained and completed. */
#ifndef HWS_CLI_VERBS_H
#define HWS_CLI_VERBS_H

#include "options.h"

#include <stddef.h>

typedef struct cli_entry {
    const char *name;     /* "bench" */
    const char *argument; /* what follows it in this form: "train"; "" for nothing */
    const char *summary;  /* a line; NULL: a form that is not listed */
    int (*run)(int count, char **arguments);
    int shared; /* 1: ranks do it together; 0: it is the first one's business */
} cli_entry;

size_t cli_entry_count(void);
const cli_entry *cli_entry_at(size_t index);
/* The first of this name; NULL if there is none. */
const cli_entry *cli_entry_find(const char *name);

/* Calls `describe` with the table of options of a form of a verb. */
void cli_entry_describe(const cli_entry *entry, void (*describe)(const cli_verb *verb));

#endif
