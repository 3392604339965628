/* The word that somebody meant who mistyped one. */
#ifndef HWS_CORE_NEAREST_H
#define HWS_CORE_NEAREST_H

typedef struct nearest {
    const char *typed, *meant; /* meant: NULL while none is near */
    int apart;
} nearest;

nearest nearest_start(const char *typed);
/* Letters that must be changed, put in, left out or swapped: fewer than a third of them, at most three.
   The first of equal ones. */
void nearest_consider(nearest *nearest, const char *word);

#endif
