/* hws bench: what things cost on this machine. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "core/clock.h"
#include "hws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws bench sampler [--n 1e2,1e3,...] [--batch 2] [--beta 100] [--divergence kl] [--json]\n"
    "       hws bench train ...          see hws bench train --help\n"
    "\n"
    "Times the sampler: an iteration draws a batch without replacement and writes its new losses back, on one "
    "thread.\n"
    "The losses are normal with mean 1 and standard deviation 0.1.\n"
    "\n"
    "  --n LIST         numbers of examples            (1e2,1e3,1e4,1e5,1e6,1e7)\n"
    "  --batch K        examples per batch             (2)\n"
    "  --beta B         robustness                     (100)\n"
    "  --divergence D   kl | chi2 | reverse-kl | hellinger | cressie-read:K | js | cvar:A   (kl)\n"
    "  --json           one JSON object per line: n, batch, iteration_ns, bytes_per_example\n";

typedef struct sampler_bench {
    const char *sizes;
    int64_t batch;
    hws_options options;
    int json;
} sampler_bench;

/* Normal numbers for losses; their quality does not matter here, their cost does. */
enum { POOL = 1 << 16 };

static void fill_pool(float *pool) {
    uint64_t state = 1;
    for (int i = 0; i < POOL; i++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            sum += (double)(state >> 11) * 0x1p-53;
        }
        pool[i] = (float)(1 + 0.1 * sum);
    }
}

static hws_status open_filled(hws_sampler **sampler, int64_t n, const float *pool, const hws_options *options,
                              hws_error *error) {
    float *losses = malloc((size_t)n * sizeof *losses);
    *error = (hws_error){.status = HWS_ERROR_MEMORY, .message = "out of memory"};
    if (!losses) return error->status;
    for (int64_t i = 0; i < n; i++) losses[i] = pool[(uint64_t)i * UINT64_C(2654435761) % POOL];
    const hws_status status = hws_sampler_open(sampler, n, losses, options, error);
    free(losses);
    return status;
}

static hws_status iterate(hws_sampler *sampler, int64_t batch, int64_t count, const float *pool, int64_t *indices) {
    for (int64_t t = 0; t < count; t++) {
        hws_status status = hws_sampler_draw(sampler, batch, indices);
        const float *losses = pool + (uint64_t)t * (uint64_t)batch % (uint64_t)(POOL - batch);
        if (status == HWS_OK) status = hws_sampler_update(sampler, batch, indices, losses);
        if (status != HWS_OK) return status;
    }
    return HWS_OK;
}

/* Repeats until a run is long enough to be timed, then takes the median of five. */
static hws_status time_iterations(hws_sampler *sampler, int64_t batch, const float *pool, int64_t *indices,
                                  double *seconds) {
    int64_t count = 1;
    for (;; count *= 2) {
        const double start = clock_seconds();
        const hws_status status = iterate(sampler, batch, count, pool, indices);
        if (status != HWS_OK) return status;
        if (clock_seconds() - start > 0.05) break;
    }
    double runs[5];
    for (int run = 0; run < 5; run++) {
        const double start = clock_seconds();
        const hws_status status = iterate(sampler, batch, count, pool, indices);
        if (status != HWS_OK) return status;
        runs[run] = (clock_seconds() - start) / (double)count;
        for (int k = run; k > 0 && runs[k] < runs[k - 1]; k--) {
            const double swap = runs[k];
            runs[k] = runs[k - 1];
            runs[k - 1] = swap;
        }
    }
    *seconds = runs[2];
    return HWS_OK;
}

static int bench_size(const sampler_bench *bench, int64_t n, const float *pool, int64_t *indices) {
    hws_sampler *sampler = NULL;
    const double start = clock_seconds();
    hws_error error;
    hws_status status = open_filled(&sampler, n, pool, &bench->options, &error);
    const double opening = clock_seconds() - start;
    double seconds = 0;
    if (status == HWS_OK) status = time_iterations(sampler, bench->batch, pool, indices, &seconds);
    if (status != HWS_OK) {
        const int code = cli_error(EXIT_FAILED, "n = %lld: %s", (long long)n,
                                   sampler ? hws_sampler_error(sampler)->message : error.message);
        hws_sampler_close(&sampler);
        return code;
    }
    const double bytes = (double)hws_sampler_memory(sampler);
    if (bench->json)
        printf("{\"n\": %lld, \"batch\": %lld, \"iteration_ns\": %.1f, \"bytes_per_example\": %.3f}\n", (long long)n,
               (long long)bench->batch, seconds * 1e9, bytes / (double)n);
    else
        printf("%12lld %14.0f %16.1f %12.3f %14.3g\n", (long long)n, seconds * 1e9,
               seconds * 1e9 / (double)bench->batch, bytes / (double)n, opening);
    fflush(stdout);
    hws_sampler_close(&sampler);
    return EXIT_DONE;
}

/* The next number of a list like "1e2,1000"; 0 when it is not a whole number from 1 on. */
static int64_t next_size(const char **list) {
    char *end;
    const double value = strtod(*list, &end);
    if (end == *list || (*end && *end != ',') || !(value >= 1 && value <= (double)HWS_MAX_EXAMPLES)) return 0;
    *list = *end ? end + 1 : end;
    return value == floor(value) ? (int64_t)value : 0;
}

static int check_sizes(const sampler_bench *bench) {
    for (const char *list = bench->sizes; *list;) {
        const int64_t n = next_size(&list);
        if (n == 0) return cli_error(EXIT_USAGE, "--n %s is not a list of whole numbers such as 1e3,1e6", bench->sizes);
        if (n < bench->batch && !bench->options.replacement)
            return cli_error(EXIT_USAGE, "--batch %lld is larger than n = %lld", (long long)bench->batch, (long long)n);
    }
    return *bench->sizes ? EXIT_DONE : cli_error(EXIT_USAGE, "--n is empty");
}

static int bench_sampler(const sampler_bench *bench) {
    const int code = check_sizes(bench);
    if (code != EXIT_DONE) return code;
    float *pool = malloc(POOL * sizeof *pool);
    int64_t *indices = malloc((size_t)bench->batch * sizeof *indices);
    int result = pool && indices ? EXIT_DONE : cli_error(EXIT_FAILED, "%s", hws_status_text(HWS_ERROR_MEMORY));
    if (result == EXIT_DONE) {
        fill_pool(pool);
        if (!bench->json)
            printf("%12s %14s %16s %12s %14s\n", "examples", "ns/iteration", "ns/drawn example", "bytes/ex.",
                   "opening (s)");
    }
    for (const char *list = bench->sizes; *list && result == EXIT_DONE;)
        result = bench_size(bench, next_size(&list), pool, indices);
    free(pool);
    free(indices);
    return result;
}

static int parse(int count, char **arguments, sampler_bench *bench) {
    for (int k = 0; k < count; k++) {
        const char *option = arguments[k], *value = k + 1 < count ? arguments[k + 1] : NULL;
        char *end = NULL;
        hws_error error;
        if (strcmp(option, "--json") == 0) {
            bench->json = 1;
            continue;
        }
        if (strcmp(option, "--n") != 0 && strcmp(option, "--batch") != 0 && strcmp(option, "--beta") != 0 &&
            strcmp(option, "--divergence") != 0)
            return cli_error(EXIT_USAGE, "bench sampler has no option '%s'; see hws bench --help", option);
        if (!value) return cli_error(EXIT_USAGE, "%s needs a value", option);
        k++;
        if (strcmp(option, "--n") == 0) {
            bench->sizes = value;
        } else if (strcmp(option, "--batch") == 0) {
            const double batch = strtod(value, &end);
            if (end == value || *end || !(batch >= 1 && batch < POOL) || batch != floor(batch))
                return cli_error(EXIT_USAGE, "--batch %s is not a whole number from 1 to %d", value, POOL - 1);
            bench->batch = (int64_t)batch;
        } else if (strcmp(option, "--beta") == 0) {
            bench->options.beta = strtod(value, &end);
            if (end == value || *end || !(bench->options.beta >= 0 && bench->options.beta <= 1e15))
                return cli_error(EXIT_USAGE, "--beta %s is not a number from 0 to 1e15", value);
        } else if (hws_divergence_parse(value, &bench->options.divergence, &error) != HWS_OK) {
            return cli_error(EXIT_USAGE, "--divergence: %s", error.message);
        }
    }
    return EXIT_DONE;
}

int verb_bench(int count, char **arguments) {
    if (count > 0 && strcmp(arguments[0], "train") == 0) return bench_train(count - 1, arguments + 1);
    for (int k = 0; k < count; k++) {
        if (strcmp(arguments[k], "--help") == 0 || strcmp(arguments[k], "-h") == 0) {
            fputs(USAGE, stdout);
            return EXIT_DONE;
        }
    }
    if (count == 0 || strcmp(arguments[0], "sampler") != 0)
        return cli_error(EXIT_USAGE, "bench what? 'hws bench sampler' or 'hws bench train'; see hws bench --help");
    sampler_bench bench = {.sizes = "1e2,1e3,1e4,1e5,1e6,1e7", .batch = 2, .options = hws_options_default()};
    const int code = parse(count - 1, arguments + 1, &bench);
    return code == EXIT_DONE ? bench_sampler(&bench) : code;
}
