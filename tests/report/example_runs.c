/* Writes two folders of runs for the browser test. usage: example_runs FOLDER */
#define _XOPEN_SOURCE 700
#include "folders.h"

static void write_run(const char *parent, const char *objective, double beta, double rare) {
    folder run;
    snprintf(run.path, sizeof run.path, "%s/%s", parent, objective);
    mkdir(run.path, 0777);
    fill_run(&run, objective, beta, 0, 6, rare);
    write_hardest(&run, 20);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    write_run(arguments[1], "erm", 0, 0.01);
    write_run(arguments[1], "dro", 10, 0.867);
    return 0;
}
