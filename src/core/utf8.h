/* Texts of a limited size that end between two letters: a file with half a letter in it is no
   UTF-8. And how wide they are. */
#ifndef HWS_CORE_UTF8_H
#define HWS_CORE_UTF8_H

#include <stddef.h>

/* How many of the first `size` bytes of a text are whole letters: fewer than `size` if the last letter goes on behind
   them, or if the text is shorter. */
size_t utf8_whole(const char *text, size_t size);

/* How many letters a text has: its columns on a terminal, unless some are wider. */
size_t utf8_letters(const char *text);

/* The bytes of its first `letters` letters, or of all if it has fewer. */
size_t utf8_first(const char *text, size_t letters);

/* Copies a text; what is too long for `capacity` bytes, the zero included, is cut. */
void utf8_copy(char *target, size_t capacity, const char *text);

/* Mends what snprintf(target, capacity, ...) has cut; `size` is what it returned. */
void utf8_mend(char *target, size_t capacity, size_t size);

#endif
