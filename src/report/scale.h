/* Axes: limits that look tidy, ticks at round numbers, and numbers as people write them. */
#ifndef HWS_REPORT_SCALE_H
#define HWS_REPORT_SCALE_H

typedef struct scale {
    double low, high;
    double step; /* between ticks; with a logarithmic scale a number of decades */
    int logarithmic;
} scale;

enum { SCALE_MAX_TICKS = 12, NUMBER_SIZE = 40 };

/* From round number to round number around [low, high], with some five steps between. Never empty. */
scale scale_round(double low, double high);

/* Exactly [low, high], with ticks at whole numbers; for epochs. */
scale scale_whole(double low, double high);

/* Whole decades around [low, high], at most `decades` below the top; needs high > 0. */
scale scale_logarithmic(double low, double high, int decades);

/* Where a value lies between `from` (low) and `to` (high). Values beyond the ends are moved to them. */
double scale_place(const scale *scale, double value, double from, double to);

/* The ticks and how many they are. */
int scale_ticks(const scale *scale, double ticks[SCALE_MAX_TICKS]);

/* A tick's number, with the digits that its scale needs. */
void scale_label(const scale *scale, double tick, char label[NUMBER_SIZE]);

/* A number in some four digits: 53,930 or 0.0123 or 1.2e-07; "-" if it is not finite. */
void number_format(double value, char label[NUMBER_SIZE]);

/* A share as "97.9 %" (times 100, one digit); "-" if it is not finite. */
void number_percent(double share, char label[NUMBER_SIZE]);

/* The same with no more digits than it has: "1 %", "0.25 %". */
void number_share(double share, char label[NUMBER_SIZE]);

/* A loss: two digits behind the point, more if it is small. */
void number_loss(double loss, char label[NUMBER_SIZE]);

/* A p value for a page: "0.012", "0.00049", "&lt; 0.00001". */
void number_p(double p, char label[NUMBER_SIZE]);

/* Seconds as "35 s", "12 min" or "3.4 h". */
void number_duration(double seconds, char label[NUMBER_SIZE]);

#endif
