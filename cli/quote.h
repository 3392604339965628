/* Command lines for people to copy. */
#ifndef HWS_CLI_QUOTE_H
#define HWS_CLI_QUOTE_H

#include "core/text.h"

/* A word of a command line, in quotes where a shell needs them. */
void cli_quote(const char *word, text *quoted);

#endif
