/*
 * What a run was told: every option of hws train, as config.json records it.
 *
 * One table names them all; the command line, config.json, and the comparison of a resumed run with its checkpoint are
 * made from it. The option of the setting history_momentum is --history-momentum.
 */
#ifndef HWS_RUN_SETTINGS_H
#define HWS_RUN_SETTINGS_H

#include "core/failure.h"
#include "core/text.h"

#include <jansson.h>
#include <stddef.h>

enum { SETTINGS_KEEP_MAX = 256 };

typedef struct settings_keep {
    int class_label;
    double fraction;
} settings_keep;

typedef struct train_settings {
    const char *data;
    settings_keep keep[SETTINGS_KEEP_MAX]; /* how much of a class is kept for training */
    int keep_count;
    const char *objective;         /* dro | erm | reweight | ohem */
    double beta;                   /* 10 for classification */
    const char *divergence;        /* kl */
    int importance;                /* 0; 1 weighs the losses by p_new / p_old, clipped to [weight_min, weight_max] */
    double weight_min, weight_max; /* 0.1 and 10 */
    double loss_init; /* 10, for volumes 1: loss of the examples not seen yet; large, so that all are seen once first */
    double history_momentum;   /* 0 */
    const char *history;       /* stale | exact */
    double floor, uniform_mix; /* 0 and 0 */
    int replacement;           /* 0 */
    double target_ess;         /* 0: none; else beta is chosen anew at each epoch */
    long long ohem_factor;     /* 2: candidates of online hard example mining per example that is trained on */
    const char *model;         /* wrn-16-1 */
    const char *optimizer;     /* sgd */
    double lr, momentum, weight_decay, clip_norm;
    const char *schedule;         /* constant | poly */
    long long epochs, iterations; /* 6; iterations, if not 0, decide instead */
    long long epoch_length;       /* 0: floor(examples / batch) iterations; 250 for segmentation */
    long long batch;              /* 64; 0, for segmentation, is the plan's */
    long long fold;               /* 0, of segmentation; -1: train and validate on all cases */
    const char *cache;            /* "": hws_cache in the dataset's folder */
    const char *stratify;         /* "": folds as nnU-Net's; else a column of groups.csv whose shares they keep */
    const char *split_volumes;    /* "": no; "D,H,W": volumes are divided into parts of about this size */
    long long look_ahead;         /* 1 */
    double stop_grad_norm;        /* -1: never; 0 measures the norm, too */
    const char *precision;        /* f32 | bf16 */
    const char *conv;             /* auto | direct */
    long long seed;               /* 0 */
    long long threads;            /* 0: all */
    long long loaders;            /* 1: threads that prepare batches */
    long long checkpoint_every;   /* 0: at the end of each epoch only; else also after so many iterations */
    json_t *document;             /* holds the texts of settings that were read from a file */
} train_settings;

/* The defaults: those of the paper for MNIST, and for the segmentation of volumes. */
train_settings settings_default(void);
train_settings settings_default_volumes(void);
void settings_close(train_settings *settings);

typedef enum setting_kind { SETTING_FLAG, SETTING_WHOLE, SETTING_NUMBER, SETTING_TEXT } setting_kind;

typedef struct setting {
    const char *key;
    setting_kind kind;
    size_t offset;
    double low, high;
    int bits; /* 1: decides the bits of the result, so that a resumed run must have the same */
} setting;

/* All but keep, importance and the importance weights' limits, which have a form of their own. */
size_t settings_count(void);
const setting *settings_at(size_t index);

/* The settings as entries of a JSON object, one per line, each but the last followed by a comma. */
void settings_write(const train_settings *settings, text *json);

/* A number in the fewest digits that give it back. */
void settings_number(text *json, double value);
/* A string with quotes and escapes. */
void settings_string(text *json, const char *string);

/*
 * Overwrites the settings that the object holds. Keys that are no settings are refused, but for those that config.json
 * records beside them. The object becomes the settings'. `name` is what messages call it.
 */
status_code settings_read(train_settings *settings, json_t *object, const char *name, failure *failure);
status_code settings_read_file(train_settings *settings, const char *path, failure *failure);

/* The first setting that decides bits and differs; NULL if there is none. With a constant rate the number of epochs
   decides no bits before the end, so that a run can be continued beyond it. */
const char *settings_difference(const train_settings *a, const train_settings *b);

/* Whether they fit together; what follows from them alone. */
status_code settings_check(const train_settings *settings, failure *failure);

#endif
