#include "nn/schedule.h"

#include <math.h>

#define PI 3.14159265358979323846

static const char *const NAMES[] = {"constant", "poly", "cosine", "poly-epoch"};
enum { KINDS = sizeof NAMES / sizeof *NAMES };

schedule schedule_default(schedule_kind kind, double rate, double length) {
    return (schedule){.kind = kind, .rate = rate, .length = length, .power = 0.9, .epoch = 1};
}

const char *schedule_name(schedule_kind kind) { return NAMES[kind]; }

static int positive(double value) { return value > 0 && isfinite(value); }

status_code schedule_check(const schedule *schedule, failure *failure) {
    if ((int)schedule->kind < 0 || (int)schedule->kind >= KINDS)
        return fail(failure, STATUS_BAD_INPUT, "there is no schedule of kind %d", (int)schedule->kind);
    if (!(schedule->rate >= 0 && isfinite(schedule->rate)))
        return fail(failure, STATUS_BAD_INPUT, "the learning rate is %g, but must be finite and at least 0",
                    schedule->rate);
    if (schedule->kind != SCHEDULE_CONSTANT &&
        !(positive(schedule->length) && positive(schedule->power) && positive(schedule->epoch)))
        return fail(failure, STATUS_BAD_INPUT,
                    "the length, the power and the epoch of a %s schedule are %g, %g and %g, but must be more than 0",
                    NAMES[schedule->kind], schedule->length, schedule->power, schedule->epoch);
    if (!(schedule->warm_up >= 0 && isfinite(schedule->warm_up)) ||
        (schedule->warm_up > 0 && schedule->kind != SCHEDULE_CONSTANT && schedule->warm_up >= schedule->length))
        return fail(failure, STATUS_BAD_INPUT,
                    "%g iterations in which the learning rate rises are not less than the %g of the whole training",
                    schedule->warm_up, schedule->length);
    return STATUS_OK;
}

double schedule_rate(const schedule *schedule, double t) {
    if (t < schedule->warm_up) return schedule->rate * (t + 1) / (schedule->warm_up + 1);
    if (schedule->kind == SCHEDULE_CONSTANT) return schedule->rate;
    if (schedule->kind == SCHEDULE_POLY_EPOCH)
        t = fmax(floor(t / schedule->epoch) * schedule->epoch, schedule->warm_up);
    const double left = 1 - (t - schedule->warm_up) / (schedule->length - schedule->warm_up);
    if (left <= 0) return 0;
    if (schedule->kind == SCHEDULE_COSINE) return schedule->rate * (1 + cos(PI * (1 - left))) / 2;
    return schedule->rate * pow(left, schedule->power);
}
