#include "statistics/share_interval.h"

#include <math.h>

static const double Z = 1.959963984540054; /* the 97.5 % quantile of the standard normal distribution */

interval share_interval(double share, double count) {
    if (!(count > 0)) return (interval){(double)NAN, (double)NAN};
    const double scale = 1 + Z * Z / count, middle = (share + Z * Z / (2 * count)) / scale;
    const double half = Z / scale * sqrt(share * (1 - share) / count + Z * Z / (4 * count * count));
    return (interval){share <= 0 ? 0 : fmax(0, middle - half), share >= 1 ? 1 : fmin(1, middle + half)};
}

interval share_interval_or(interval resampled, int independent, double share, double count) {
    return independent || interval_is_flat(resampled) ? share_interval(share, count) : resampled;
}

interval share_interval_of_mean(const double *shares, const double *counts, int count) {
    double sum = 0, below = 0, above = 0;
    int known = 0;
    for (int k = 0; k < count; k++) {
        if (!(counts[k] > 0)) continue;
        const interval one = share_interval(shares[k], counts[k]);
        sum += shares[k];
        below += (shares[k] - one.low) * (shares[k] - one.low);
        above += (one.high - shares[k]) * (one.high - shares[k]);
        known++;
    }
    return (interval){(sum - sqrt(below)) / known, (sum + sqrt(above)) / known};
}
