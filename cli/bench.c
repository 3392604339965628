/* hws bench: what things cost on this machine. */
#include "bench/sampler_cost.h"
#include "cli.h"
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws bench sampler [--n 1e2,1e3,...] [--batch 2] [--beta 100 | --tail A] [--drift F] [--divergence kl] "
    "[--json]\n"
    "       hws bench train ...          see hws bench train --help\n"
    "\n"
    "Times the sampler: an iteration draws a batch without replacement and writes its new losses back, on one "
    "thread;\n"
    "the median of five runs, and the times between which the middle half of them lies.\n"
    "The losses are normal with mean 1 and standard deviation 0.1, and so is each new one. With --drift they move\n"
    "as in a training: a run begins with exponential ones (mean 1), and a drawn example's loss is multiplied by\n"
    "exp(-F (1 + z)), z being normal. With --tail a run updates at least as many as a quarter of the examples, so\n"
    "that it sees beta renewed.\n"
    "\n";

typedef struct sampler_bench {
    const char *sizes;
    long long batch;
    double drift;
    hws_options options;
    int json;
} sampler_bench;

static int bench_size(const sampler_bench *bench, int64_t n) {
    sampler_cost cost;
    failure failure;
    const sampler_work work = {n, bench->batch, bench->drift};
    const status_code status = sampler_cost_measure(&work, &bench->options, &cost, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    const double nanoseconds = cost.iteration.median * 1e9, bytes = cost.bytes / (double)n;
    const double low = cost.iteration.low * 1e9, high = cost.iteration.high * 1e9;
    if (bench->json)
        printf("{\"n\": %lld, \"batch\": %lld, \"iteration_ns\": %.1f, \"least_ns\": %.1f, \"low_ns\": %.1f, "
               "\"high_ns\": %.1f, \"bytes_per_example\": %.3f}\n",
               (long long)n, bench->batch, nanoseconds, cost.iteration.least * 1e9, low, high, bytes);
    else
        printf("%12lld %14.0f %7.0f to %-7.0f %16.1f %12.3f %14.3g\n", (long long)n, nanoseconds, low, high,
               nanoseconds / (double)bench->batch, bytes, cost.opening_seconds);
    fflush(stdout);
    return EXIT_DONE;
}

/* The next number of a list like "1e2,1000"; 0 when it is not a whole number from 1 on. */
static int64_t next_size(const char **list) {
    char *end;
    const double value = strtod(*list, &end);
    if (end == *list || (*end && *end != ',') || strcmp(end, ",") == 0 ||
        !(value >= 1 && value <= (double)HWS_MAX_EXAMPLES))
        return 0;
    *list = *end ? end + 1 : end;
    return value == floor(value) ? (int64_t)value : 0;
}

static int check_sizes(const sampler_bench *bench) {
    for (const char *list = bench->sizes; *list;) {
        const int64_t n = next_size(&list);
        if (n == 0) return cli_error(EXIT_USAGE, "--n %s is not a list of whole numbers such as 1e3,1e6", bench->sizes);
        if (n < bench->batch && !bench->options.replacement)
            return cli_error(EXIT_USAGE, "--batch %lld is larger than n = %lld", bench->batch, (long long)n);
    }
    return *bench->sizes ? EXIT_DONE : cli_error(EXIT_USAGE, "--n is empty");
}

static int bench_sampler(const sampler_bench *bench) {
    const int code = check_sizes(bench);
    if (code != EXIT_DONE) return code;
    if (!bench->json)
        printf("%12s %14s %18s %16s %12s %14s\n", "examples", "ns/iteration", "middle half", "ns/drawn example",
               "bytes/ex.", "opening (s)");
    int result = EXIT_DONE;
    for (const char *list = bench->sizes; *list && result == EXIT_DONE;) result = bench_size(bench, next_size(&list));
    return result;
}

int verb_bench(int count, char **arguments) {
    if (count > 0 && strcmp(arguments[0], "train") == 0) return bench_train(count - 1, arguments + 1);
    const int named = count > 0 && strcmp(arguments[0], "sampler") == 0;
    sampler_bench bench = {.sizes = "1e2,1e3,1e4,1e5,1e6,1e7", .batch = 2, .options = hws_options_default()};
    const char *divergence = "kl", *word = NULL;
    int beta = 0, tail = 0;
    cli_option options[] = {
        CLI_TEXT("--n", "LIST", &bench.sizes, "numbers of examples", NULL),
        CLI_WHOLE("--batch", "K", &bench.batch, 1, SAMPLER_COST_MAX_BATCH, "examples per batch", NULL),
        CLI_NUMBER("--beta", "B", &bench.options.beta, 0, 1e15, "robustness", NULL),
        CLI_NUMBER("--tail", "A", &bench.options.tail, 1e-9, 1, "instead: beta follows from the losses", "no"),
        CLI_NUMBER("--drift", "F", &bench.drift, 0, 1, "losses fall by this share at each visit", "no"),
        CLI_TEXT("--divergence", "D", &divergence, "kl | chi2 | reverse-kl | hellinger | cressie-read:K | js | cvar:A",
                 NULL),
        CLI_FLAG("--json", &bench.json,
                 "one JSON object per line: n, batch, iteration_ns (the median), least_ns, low_ns, high_ns,\n"
                 "bytes_per_example"),
    };
    const size_t options_count = sizeof options / sizeof *options;
    cli_watch_option(options, options_count, "--beta", &beta);
    cli_watch_option(options, options_count, "--tail", &tail);
    const cli_verb verb = {"bench sampler", USAGE, options, options_count, NULL, &word, 1};
    if (!named && !cli_wants_help(count, arguments))
        return cli_error(EXIT_USAGE, "bench what? 'hws bench sampler' or 'hws bench train'; see hws bench --help");
    const int code = cli_read(&verb, count - named, arguments + named, NULL);
    if (code != CLI_GO_ON) return code;
    if (word) return cli_error(EXIT_USAGE, "bench sampler has no option '%s'; see hws bench --help", word);
    if (beta && tail) return cli_error(EXIT_USAGE, "--tail stands instead of --beta: leave one of them away");
    if (!*bench.sizes) return cli_error(EXIT_USAGE, "--n needs a list of whole numbers such as 1e3,1e6");
    hws_error error;
    if (hws_divergence_parse(divergence, &bench.options.divergence, &error) != HWS_OK)
        return cli_error(EXIT_USAGE, "--divergence: %s", error.message);
    return bench_sampler(&bench);
}
