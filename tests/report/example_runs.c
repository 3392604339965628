/* Writes folders of runs for the browser test: two classifiers and a segmentation. usage: example_runs FOLDER */
#define _XOPEN_SOURCE 700
#include "folders.h"

static void write_run(const char *parent, const char *objective, double beta, double rare) {
    folder run;
    snprintf(run.path, sizeof run.path, "%s/%s", parent, objective);
    mkdir(run.path, 0777);
    fill_run(&run, objective, beta, 0, 6, rare);
    write_hardest(&run, 20);
}

enum { CASES = 5, WIDTH = 200, HEIGHT = 160 };

static void write_slices(const folder *run, const char *kind) {
    char path[500];
    unsigned char *pixels = malloc((size_t)WIDTH * HEIGHT * 3);
    assert_non_null(pixels);
    snprintf(path, sizeof path, "%.199s/%s", run->path, kind);
    mkdir(path, 0777);
    for (int k = 0; k < CASES; k++) {
        for (int i = 0; i < WIDTH * HEIGHT * 3; i++) pixels[i] = (unsigned char)(i / 600 + 20 * k);
        snprintf(path, sizeof path, "%.199s/%s/%03d.png", run->path, kind, k);
        assert_int_equal(png_save(path, pixels, WIDTH, HEIGHT, PNG_RGB, NULL), STATUS_OK);
    }
    free(pixels);
}

/* Negative losses, as those of Dice and cross-entropy are. */
static void write_losses(const folder *run, int epochs) {
    FILE *history = open_in(run, "history.csv"), *distribution = open_in(run, "distribution.csv");
    fputs("epoch,iteration,seconds,lr,train_loss_mean,train_loss_std,robust_loss,ess,p_max,val_dice,val_dice_Anterior,"
          "val_dice_Posterior,val_loss\n",
          history);
    fputs("epoch,l0,l5,l25,l50,l75,l95,l100,p0,p5,p25,p50,p75,p95,p100\n", distribution);
    for (int e = 1; e <= epochs; e++) {
        const double loss = 0.5 / e - 0.9, dice = 0.9 - 0.8 / e;
        fprintf(history, "%d,%d,%d,0.01,%g,0.2,%g,%d,0.1,%g,%g,%g,%g\n", e, e * 50, e * 60, loss, loss + 0.3, 100 / e,
                dice, dice + 0.05, dice - 0.05, loss + 0.1);
        fprintf(distribution, "%d,%g,%g,%g,%g,%g,%g,%g,0,0.2,0.5,0.7,1.2,4,%d\n", e, loss - 0.15, loss - 0.1,
                loss - 0.05, loss, loss + 0.1, loss + 0.2, loss + 0.4, 10 + e);
    }
    fclose(history);
    fclose(distribution);
}

/* Cases with numbers for names; two labels, two groups. */
static void write_segmentation(const char *parent) {
    folder run;
    snprintf(run.path, sizeof run.path, "%s/segmentation", parent);
    mkdir(run.path, 0777);
    write_string(&run, "config.json",
                 "{\"task\": \"segmentation\", \"objective\": \"dro\", \"beta\": 100, \"data\": \"/data/brains\", "
                 "\"model\": \"unet\", \"examples\": 100, \"fold\": 0, \"classes\": [\"background\", \"Anterior\", "
                 "\"Posterior\"]}");
    write_losses(&run, 8);
    FILE *hardest = open_in(&run, "hardest.csv"), *worst = open_in(&run, "worst.csv"),
         *cases = open_in(&run, "cases.csv");
    fputs("rank,example,label,prediction,loss,draws,age\n", hardest);
    fputs("rank,example,dice,label,label_dice\n", worst);
    fputs("case,label,key,site,Dice\n", cases);
    for (int k = 0; k < CASES; k++) {
        fprintf(hardest, "%d,%03d,,Dice 0.%d in this plane,%g,%d,1\n", k + 1, k, 50 + k, -0.3 - 0.1 * k, 30 - k);
        fprintf(worst, "%d,%03d,0.%d,Posterior,0.%d\n", k + 1, k, 50 + k, 40 + k);
        fprintf(cases, "%03d,Anterior,1,site %d,0.%d\n%03d,Posterior,2,site %d,0.%d\n", k, k % 2, 60 + k, k, k % 2,
                40 + 3 * k);
    }
    fclose(hardest);
    fclose(worst);
    fclose(cases);
    write_slices(&run, "hardest");
    write_slices(&run, "worst");
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    write_run(arguments[1], "erm", 0, 0.01);
    write_run(arguments[1], "dro", 10, 0.867);
    write_segmentation(arguments[1]);
    return 0;
}
