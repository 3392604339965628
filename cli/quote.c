#include "quote.h"

#include <ctype.h>
#include <string.h>

void cli_quote(const char *word, text *quoted) {
    int plain = *word != 0;
    for (const char *at = word; *at; at++) plain &= isalnum((unsigned char)*at) || strchr("/._-+=:,@%", *at) != NULL;
    if (plain) return text_add(quoted, word);
    text_add(quoted, "'");
    for (const char *at = word; *at; at++) {
        if (*at == '\'') text_add(quoted, "'\\''");
        else text_add_bytes(quoted, at, 1);
    }
    text_add(quoted, "'");
}
