/* Compilers check the arguments of a function that has a format as printf's. */
#ifndef HWS_CORE_PRINTF_LIKE_H
#define HWS_CORE_PRINTF_LIKE_H

/* Behind its declaration: the number of the format among its parameters, and of the first that the format is about. */
#if defined(__GNUC__) || defined(__clang__)
#define PRINTF_LIKE(format_at, first) __attribute__((format(printf, format_at, first)))
#else
#define PRINTF_LIKE(format_at, first)
#endif

#endif
