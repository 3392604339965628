#include "core/utf8.h"

#include <string.h>

enum { LETTER_MAX = 4 };

static size_t letter_size(unsigned char first) { return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1; }

size_t utf8_whole(const char *text, size_t size) {
    const char *end = memchr(text, 0, size);
    if (end) return (size_t)(end - text);
    for (size_t back = 1; back <= LETTER_MAX && back <= size; back++) {
        const unsigned char byte = (unsigned char)text[size - back];
        if ((byte & 0xc0) == 0x80) continue;
        return letter_size(byte) > back ? size - back : size;
    }
    return size; /* no UTF-8 before either */
}

static int begins_letter(char byte) { return ((unsigned char)byte & 0xc0) != 0x80; }

size_t utf8_letters(const char *text) {
    size_t letters = 0;
    for (; *text; text++) letters += (size_t)begins_letter(*text);
    return letters;
}

size_t utf8_first(const char *text, size_t letters) {
    size_t size = 0;
    for (size_t begun = 0; text[size]; size++) {
        begun += (size_t)begins_letter(text[size]);
        if (begun > letters) break;
    }
    return size;
}

void utf8_copy(char *target, size_t capacity, const char *text) {
    const size_t size = utf8_whole(text, capacity - 1);
    memcpy(target, text, size);
    target[size] = 0;
}

void utf8_mend(char *target, size_t capacity, size_t size) {
    if (size >= capacity) target[utf8_whole(target, capacity - 1)] = 0;
}
