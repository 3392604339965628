/* Time that only goes forward. */
#ifndef HWS_CORE_CLOCK_H
#define HWS_CORE_CLOCK_H

/* Seconds since some moment; only differences mean something. */
double clock_seconds(void);

#endif
