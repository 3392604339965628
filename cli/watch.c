/* hws watch: a page about runs while they train. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "interrupt.h"
#include "options.h"

#include "report/report.h"
#include "run/run_folder.h"
#include "watch/watch.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char USAGE[] =
    "usage: hws watch RUN... [options]\n"
    "\n"
    "Shows runs while they train, as a page in the browser: learning curves, how losses spread, beta and effective\n"
    "size, the hardest examples, the time left, the end of the log. A RUN need not have begun yet. The page is for\n"
    "this machine only (127.0.0.1); from another one, ssh -L PORT:127.0.0.1:PORT MACHINE brings it there. Ctrl-C ends\n"
    "the page; the training goes on.\n"
    "\n";

static void wait_for_the_end(void) {
    while (!cli_interrupted) nanosleep(&(struct timespec){.tv_nsec = 100 * 1000 * 1000}, NULL);
}

static int serve(const watch_request *request) {
    watch *watch;
    failure failure = {0};
    cli_catch_interrupts();
    const status_code status = watch_open(&watch, request, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    printf("http://%s:%d/  (Ctrl-C ends it)\n", request->address, watch_port(watch));
    fflush(stdout);
    wait_for_the_end();
    watch_close(&watch);
    return EXIT_DONE;
}

int verb_watch(int count, char **arguments) {
    static const char *folders[REPORT_MAX_RUNS];
    long long port = 8017;
    int folder_count = 0;
    watch_request request = {.address = "127.0.0.1"};
    const cli_option options[] = {
        CLI_WHOLE("--port", "N", &port, 0, 65535, "where the page is; 0: any that is free", NULL),
        CLI_TEXT("--address", "A", &request.address,
                 "the address to serve it at; 0.0.0.0 lets everybody in the network see it", NULL),
    };
    const cli_verb verb = {"watch", USAGE, options, sizeof options / sizeof *options, NULL, folders, REPORT_MAX_RUNS};
    const int code = cli_read(&verb, count, arguments, &folder_count);
    if (code != CLI_GO_ON) return code;
    if (!folder_count) return cli_error(EXIT_USAGE, "watch which run? hws watch RUN...");
    for (int k = 0; k < folder_count; k++) {
        if (path_exists(folders[k]) && !path_is_folder(folders[k]))
            return cli_error(EXIT_USAGE, "%s is a file, not a run's folder", folders[k]);
        if (!run_exists(folders[k])) cli_error(EXIT_DONE, "%s holds no run yet; the page waits for it", folders[k]);
    }
    request.runs = (live_runs){folders, (size_t)folder_count};
    request.port = (int)port;
    return serve(&request);
}
