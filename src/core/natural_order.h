/* The order in which people look for names: g2 before g10. */
#ifndef HWS_CORE_NATURAL_ORDER_H
#define HWS_CORE_NATURAL_ORDER_H

/*
 * Like strcmp, but runs of digits are compared as whole numbers of any length, and an ASCII letter comes with its
 * capital. Only equal strings give 0: where nothing else tells two apart (a1 and a01, B and b), their bytes do.
 */
int natural_compare(const char *a, const char *b);

#endif
