/* Run folders for tests, below /tmp. Include it after defining _XOPEN_SOURCE as 700. */
#ifndef HWS_TESTS_REPORT_FOLDERS_H
#define HWS_TESTS_REPORT_FOLDERS_H

#include "remove_tree.h"
#include "testing.h"

#include "picture/png.h"

#include <sys/stat.h>
#include <unistd.h>

typedef struct folder {
    char path[200];
} folder;

static inline folder folder_open(void) {
    folder folder = {"/tmp/hws_report_XXXXXX"};
    assert_non_null(mkdtemp(folder.path));
    return folder;
}

static inline void folder_close(folder *folder) { remove_tree(folder->path); }

static inline FILE *open_in(const folder *folder, const char *name) {
    char path[500];
    snprintf(path, sizeof path, "%.199s/%s", folder->path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    return file;
}

static inline void write_string(const folder *folder, const char *name, const char *string) {
    FILE *file = open_in(folder, name);
    fputs(string, file);
    fclose(file);
}

/* Ten classes, the 3 kept at 1 %. */
static inline void write_config(const folder *folder, const char *objective, double beta, int seed) {
    FILE *file = open_in(folder, "config.json");
    fprintf(file,
            "{\"hws_version\": \"0.1.0\", \"task\": \"classification\", \"data\": \"mnist:/data/mnist\", "
            "\"model\": \"wrn-16-1\", \"objective\": \"%s\", \"beta\": %g, \"divergence\": \"kl\", \"lr\": 0.01, "
            "\"batch\": 64, \"seed\": %d, \"keep\": {\"3\": 0.01}, \"examples\": 53930, "
            "\"classes\": [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"]}",
            objective, beta, seed);
    fclose(file);
}

/* The accuracy ends at 95 %, that of the 3 at `rare`. */
static inline void write_history(const folder *folder, int epochs, double rare) {
    FILE *file = open_in(folder, "history.csv");
    fputs("epoch,iteration,seconds,lr,train_loss_mean,train_loss_std,robust_loss,ess,p_max,clip_rate,test_accuracy,"
          "test_loss",
          file);
    for (int k = 0; k < 10; k++) fprintf(file, ",test_accuracy_%d", k);
    for (int e = 1; e <= epochs; e++) {
        const double done = (double)e / epochs;
        fprintf(file, "\n%d,%d,%g,0.01,%g,%g,%g,%g,%g,0,%g,%g", e, e * 843, e * 20.5, 1 / (1 + done), 0.5 / (1 + done),
                1.2 / (1 + done), 53930 * done, 1e-4, 0.9 * done + 0.05, 1 - done * 0.9);
        for (int k = 0; k < 10; k++) fprintf(file, ",%g", k == 3 ? rare * done : 0.99 * done);
    }
    fputs("\n", file);
    fclose(file);
}

static inline void write_distribution(const folder *folder, int epochs) {
    FILE *file = open_in(folder, "distribution.csv");
    fputs("epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n", file);
    for (int e = 1; e <= epochs; e++)
        fprintf(file, "%d,0,0.01,0.05,0.1,0.5,2,%g,0.1,0.2,0.5,0.7,1.2,4,%g\n", e, 9.0 / e, 300.0 / e);
    fclose(file);
}

static inline void write_hardest(const folder *folder, int count) {
    char path[500];
    unsigned char pixels[28 * 28];
    snprintf(path, sizeof path, "%s/hardest", folder->path);
    mkdir(path, 0777);
    FILE *file = open_in(folder, "hardest.csv");
    fputs("rank,example,label,prediction,loss,draws,age\n", file);
    for (int k = 0; k < count; k++) {
        fprintf(file, "%d,%d,3,%d,%g,%d,%d\n", k + 1, 1000 + k, k % 2 ? 3 : 8, 6.5 - 0.05 * k, 100 + k, k);
        for (int i = 0; i < 28 * 28; i++) pixels[i] = (unsigned char)(i * (k + 3));
        snprintf(path, sizeof path, "%s/hardest/%d.png", folder->path, 1000 + k);
        assert_int_equal(png_save(path, pixels, 28, 28, PNG_GREY, NULL), STATUS_OK);
    }
    fclose(file);
}

static inline void fill_run(const folder *run, const char *objective, double beta, int seed, int epochs, double rare) {
    write_config(run, objective, beta, seed);
    write_history(run, epochs, rare);
    write_distribution(run, epochs);
    write_hardest(run, 2);
    write_string(run, "losses.csv", "example,stale_loss,age,draws,label,prediction\n0,0.5,3,10,3,8\n1,0.1,2,30,4,4\n");
}

static inline folder whole_run(const char *objective, double beta, int seed, int epochs, double rare) {
    folder run = folder_open();
    fill_run(&run, objective, beta, seed, epochs, rare);
    return run;
}

#endif
