#define _POSIX_C_SOURCE 200809L
#include "phantom_data.h"

#include "data/fetch.h"
#include "phantom/phantom_folder.h"
#include "progress.h"

#include <string.h>
#include <unistd.h>

int phantom_data_named(const char *data) { return strcmp(data, "phantom") == 0; }

/* In the cache folder beside MNIST's. */
hws_status phantom_data_folder(char folder[RUN_PATH], int threads, int quiet, failure *failure) {
    char mnist[RUN_PATH], test[RUN_PATH];
    hws_status status = fetch_mnist_folder(mnist, sizeof mnist, failure);
    if (status != HWS_OK) return status;
    char *slash = strrchr(mnist, '/');
    if (slash) *slash = 0;
    if (!run_path(folder, mnist, "phantom") || !run_path(test, folder, "dataset.json"))
        return fail(failure, HWS_ERROR_IO, "the path %.100s... is too long", mnist);
    if (access(test, F_OK) == 0) return HWS_OK;
    status = run_make_folder(mnist, failure);
    if (status != HWS_OK) return status;
    phantom_options options = phantom_options_default();
    options.threads = threads;
    cli_progress progress;
    cli_progress_start(&progress, "making phantoms", quiet);
    status = phantom_write_folder(folder, &options, cli_progress_step, &progress, failure);
    cli_progress_end(&progress);
    return status;
}
