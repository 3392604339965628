#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "core/crc64.h"
#include "core/nearest.h"
#include "core/utf8.h"
#include "hws.h"
#include "interrupt.h"
#include "ranks/ranks_mpi.h"
#include "verbs.h"
#include "json/json_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char last_error[1024]; /* for a rank that does not speak */
static int kept = -1;         /* its stderr */

int cli_error(int exit_code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    va_start(arguments, format);
    fputs("hws: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return exit_code;
}

int cli_exit_code(status_code status) {
    switch (status) {
    case STATUS_OK: return EXIT_DONE;
    case STATUS_BAD_INPUT:
    case STATUS_CORRUPT:
    case STATUS_CANNOT_READ: return EXIT_USAGE;
    default: return EXIT_FAILED;
    }
}

int cli_end(status_code status, const failure *failure) {
    return status == STATUS_OK ? EXIT_DONE : cli_error(cli_exit_code(status), "%s", failure->message);
}

static int lost_lines;

void cli_put_word(const char *word, int width) {
    const size_t most = (size_t)(width < 0 ? -width : width), size = utf8_first(word, most);
    const size_t letters = utf8_letters(word), shown = letters < most ? letters : most;
    if (width < 0) printf("%*s", (int)(most - shown), "");
    printf("%.*s", (int)size, word);
    if (width > 0) printf("%*s", (int)(most - shown), "");
}

void cli_print(text *line) {
    lost_lines += line->failed;
    puts(text_string(line));
    text_close(line);
}

/* Output that could not be written, as to a full disk, is a failure, too; but not where nobody
   wants to read on (| head). */
static int finish(int exit_code) {
    const int lost = fflush(stdout) != 0 || ferror(stdout);
    if (lost && !cli_unheard) return cli_error(EXIT_FAILED, "standard output could not be written");
    if (exit_code == EXIT_DONE && lost_lines) return cli_error(EXIT_FAILED, "out of memory: lines are missing above");
    return exit_code;
}

/* ---- ranks: the processes that mpirun or srun started together --------------------------------------------------- */

/* The first rank speaks for all. */
static int quieten(void) {
    if (ranks_is_first(ranks_here())) return 1;
    kept = dup(STDERR_FILENO);
    return kept >= 0 && freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr);
}

/* Ranks that do different things would wait for each other forever. */
static int check_alike(const char *verb) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, hws_version(), strlen(hws_version()) + 1);
    crc64_add(&crc, verb, strlen(verb));
    const int other = ranks_first_other(ranks_here(), crc64_value(&crc));
    if (!other) return EXIT_DONE;
    return cli_error(EXIT_USAGE,
                     "rank %d is another version of hws than rank 0, or does another verb; rank 0 is hws %s %s", other,
                     hws_version(), verb);
}

/* For a rank that failed when the first did not. */
static void tell_alone(void) {
    if (!*last_error) return;
    dprintf(kept >= 0 ? kept : STDERR_FILENO, "hws: rank %d failed, and with it the others: %s\n", ranks_here()->rank,
            last_error);
}

/* ------------------------------------------------------------------------------------------------------------------ */

int cli_no_verb(const char *name) {
    nearest near = nearest_start(name);
    for (size_t k = 0; k < cli_entry_count(); k++) nearest_consider(&near, cli_entry_at(k)->name);
    if (near.meant)
        return cli_error(EXIT_USAGE, "there is no verb '%s'; did you mean %s? hws --help lists them", name, near.meant);
    return cli_error(EXIT_USAGE, "there is no verb '%s'; hws --help lists them", name);
}

static int run(int count, char **arguments) {
    const char *verb = arguments[1];
    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) return cli_list_verbs(stdout), EXIT_DONE;
    if (strcmp(verb, "--version") == 0) return printf("hws %s\n", hws_version()), EXIT_DONE;
    const cli_entry *entry = cli_entry_find(verb);
    if (!entry) return cli_no_verb(verb);
    int code = entry->shared || ranks_is_first(ranks_here()) ? entry->run(count - 2, arguments + 2) : EXIT_DONE;
    if (!entry->shared) ranks_share_first(ranks_here(), &code, sizeof code);
    return code;
}

int main(int count, char **arguments) {
    failure failure = {0};
    if (count < 2) {
        cli_list_verbs(stderr);
        return EXIT_USAGE;
    }
    cli_catch_lost_files();
    json_watch_memory();
    int code = cli_end(ranks_mpi_start(&failure), &failure);
    if (code == EXIT_DONE && !quieten()) code = cli_error(EXIT_FAILED, "/dev/null cannot be opened");
    if (code == EXIT_DONE) code = check_alike(arguments[1]);
    if (code == EXIT_DONE) code = finish(run(count, arguments));
    ranks_mpi_end(code, tell_alone);
    return code;
}
