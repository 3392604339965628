#include "sampler/options.h"

#include "sampler/divergence.h"
#include "sampler/error.h"
#include "sampler/tail.h"

#include <math.h>
#include <string.h>

/* The least a struct holds is its size and beta; the most is far beyond any version, and catches what is no size. */
enum { SMALLEST_SIZE = offsetof(hws_options, beta) + sizeof(double), LARGEST_SIZE = 4096 };

/* A later member must not lie where an older program's struct had padding, whose bytes may be anything. */
_Static_assert(offsetof(hws_options, reserved_2) + sizeof(int) == sizeof(hws_options), "hws_options ends in padding");

static const hws_options DEFAULTS = {
    .size = sizeof(hws_options),
    .beta = 100,
    .divergence = {.kind = HWS_KL},
    .initial_loss = NAN,
    .weight_min = 0.1,
    .weight_max = 10,
};

void options_write(const hws_options *options, hws_options *wanted, size_t size) {
    if (!wanted || size < sizeof wanted->size) return;
    memset(wanted, 0, size);
    memcpy(wanted, options, size < sizeof *options ? size : sizeof *options);
    wanted->size = size;
}

void hws_options_init(hws_options *options, size_t size) { options_write(&DEFAULTS, options, size); }

static hws_status check_unknown(const hws_options *given, hws_error *error) {
    const unsigned char *bytes = (const unsigned char *)given;
    for (size_t k = sizeof *given; k < given->size; k++)
        if (bytes[k] != 0)
            return error_set(error, HWS_ERROR_ARGUMENT,
                             "an option is set (byte %zu of hws_options) that libhws %s does not know: the program was "
                             "built for a newer one; install that, or leave the option at 0",
                             k, HWS_VERSION);
    return HWS_OK;
}

hws_status options_read(const hws_options *given, hws_options *options, hws_error *error) {
    *options = DEFAULTS;
    if (!given) return HWS_OK;
    if (given->size < SMALLEST_SIZE || given->size > LARGEST_SIZE)
        return error_set(error, HWS_ERROR_ARGUMENT,
                         "size is %zu, which no hws_options has; begin with hws_options_default(), which sets it",
                         given->size);
    memcpy(options, given, given->size < sizeof *options ? given->size : sizeof *options);
    options->size = sizeof *options;
    if (options->reserved != 0 || options->reserved_2 != 0)
        return error_set(error, HWS_ERROR_ARGUMENT,
                         "reserved is %d; begin with hws_options_default() and leave it at 0",
                         options->reserved ? options->reserved : options->reserved_2);
    return check_unknown(given, error);
}

static int in_range(double x, double low, double high) { return x >= low && x <= high; }

/* What not every divergence can do. */
static hws_status check_divergence_options(const hws_options *options, hws_error *error) {
    const hws_divergence divergence = divergence_canonical(&options->divergence);
    if (options->importance == HWS_IMPORTANCE_NORMALISED && divergence.kind != HWS_KL)
        return error_set(error, HWS_ERROR_ARGUMENT,
                         "normalised importance weights are for KL: with another divergence the change of the "
                         "normaliser is not a common factor; use exact ones");
    if (options->tail == 0 || divergence.kind == HWS_CVAR) return HWS_OK;
    if (divergence.kind == HWS_CUSTOM && !divergence.phi)
        return error_set(error, HWS_ERROR_DIVERGENCE, "tail needs the phi callback of the custom divergence");
    if (!isfinite(tail_radius(&divergence, options->tail)))
        return error_set(error, HWS_ERROR_ARGUMENT,
                         "tail is %g, but with this divergence phi(0) is infinite: no ball around uniform holds a "
                         "distribution that leaves examples out; use kl, or set beta",
                         options->tail);
    return HWS_OK;
}

/* tail decides in the place of what it replaces: beta, or the fraction of CVaR. */
void options_take_tail(hws_options *options) {
    if (options->tail == 0) return;
    if (options->divergence.kind == HWS_CVAR) options->divergence.parameter = options->tail;
    else options->beta = 0;
}

void options_settle(hws_options *options) {
    options->keep_record = options->keep_record || options->doubt > 0;
    options->replacement = options->replacement != 0;
    options->keep_counts = options->keep_counts != 0;
}

hws_status options_check(const hws_options *options, int64_t n, hws_error *error) {
    const struct {
        const char *name;
        double value;
        int right;
        const char *wanted;
    } ranges[] = {
        {"beta", options->beta, in_range(options->beta, 0, LARGEST_BETA), "from 0 to 1e15"},
        {"initial_loss", options->initial_loss, isnan(options->initial_loss) || isfinite((float)options->initial_loss),
         "finite as a float, or NaN for none"},
        {"jitter", options->jitter, in_range(options->jitter, 0, 1), "from 0 to 1"},
        {"momentum", options->momentum, in_range(options->momentum, 0, 1) && options->momentum < 1,
         "at least 0 and below 1"},
        {"floor", options->floor, in_range(options->floor, 0, 1), "from 0 to 1"},
        {"uniform_mix", options->uniform_mix, in_range(options->uniform_mix, 0, 1), "from 0 to 1"},
        {"weight_min", options->weight_min, options->weight_min >= 0 && options->weight_min < INFINITY,
         "finite and not negative"},
        {"weight_max", options->weight_max, options->weight_max >= options->weight_min,
         "at least as large as weight_min"},
        {"importance", options->importance,
         options->importance == HWS_IMPORTANCE_APPROXIMATE || options->importance == HWS_IMPORTANCE_EXACT ||
             options->importance == HWS_IMPORTANCE_NORMALISED,
         "one of hws_importance"},
        {"tail", options->tail, in_range(options->tail, 0, 1), "above 0 and at most 1"},
        {"trim", options->trim, in_range(options->trim, 0, 1) && options->trim < 1, "at least 0 and below 1"},
        {"doubt", options->doubt, in_range(options->doubt, 0, 1), "from 0 to 1"},
    };
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        if (!ranges[k].right)
            return error_set(error, HWS_ERROR_ARGUMENT, "%s is %g; it must be %s", ranges[k].name, ranges[k].value,
                             ranges[k].wanted);
    if (options->floor > 0 && options->uniform_mix > 0)
        return error_set(error, HWS_ERROR_ARGUMENT, "floor and uniform_mix exclude each other; set one of them to 0");
    if (options->trim > 0 && options->tail > 0 && options->trim >= options->tail)
        return error_set(error, HWS_ERROR_ARGUMENT,
                         "trim is %g and tail is %g: with the hardest %g left out nothing would be left of the tail; "
                         "trim must be below tail",
                         options->trim, options->tail, options->trim);
    if (options->trim > 0 && options->importance == HWS_IMPORTANCE_EXACT)
        return error_set(error, HWS_ERROR_ARGUMENT,
                         "exact importance weights cannot be had with trim: another loss can change who is left out; "
                         "use approximate or normalised ones");
    const hws_status status = divergence_check(&options->divergence, n, error);
    return status == HWS_OK ? check_divergence_options(options, error) : status;
}
