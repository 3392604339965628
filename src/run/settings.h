/*
 * What a run is told: every option of hws train.
 *
 * One table (settings_table.c) describes them all: name, kind, range or choices, defaults, help. The command line, its
 * --help, config.json, and the comparison of a resumed run with its checkpoint are made from it; to add a setting, add
 * a member and a row. The option of the setting history_momentum is --history-momentum.
 */
#ifndef HWS_RUN_SETTINGS_H
#define HWS_RUN_SETTINGS_H

#include "core/failure.h"
#include "core/json_writer.h"
#include "core/text.h"
#include "hws.h"
#include "nn/graph.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"
#include "run/objective.h"

#include <stddef.h>

enum { SETTINGS_KEEP_MAX = 256, SETTINGS_KEEP_NAME = 128 };

typedef struct settings_keep {
    char part[SETTINGS_KEEP_NAME]; /* a class's number or name, or COLUMN:VALUE */
    double fraction;
} settings_keep;

typedef enum history_kind {
    HISTORY_STALE, /* losses as they were last seen */
    HISTORY_EXACT  /* losses of all examples, evaluated before each draw */
} history_kind;

/* How losses are weighed for having been drawn with stale losses. */
typedef enum importance_kind {
    IMPORTANCE_OFF,
    IMPORTANCE_PAPER,      /* exp(beta (new - stale)): the normaliser as it was */
    IMPORTANCE_NORMALISED, /* the same over its running mean */
    IMPORTANCE_EXACT       /* the normaliser with this example's loss replaced */
} importance_kind;

typedef enum colour_kind { COLOUR_AUTO, COLOUR_GREY, COLOUR_RGB } colour_kind;

/* Which number of an evaluation says which weights are the best of a run that classifies. */
typedef enum best_kind { BEST_ACCURACY, BEST_WORST_CLASS, BEST_WORST_GROUP, BEST_CVAR } best_kind;

/* Defaults stand in the table; a value in brackets is what "none" or "automatic" looks like. */
typedef struct train_settings {
    const char *data;
    settings_keep keep[SETTINGS_KEEP_MAX]; /* how much of a class or group is kept for training */
    int keep_count;
    const char *label, *group; /* (""): the columns `label` and, if there is one, `group`; volumes: none */
    const char *size;          /* (""): pictures as they are; "S" or "H,W" */
    colour_kind colour;
    const char *greys;     /* (""): all; "LOW,HIGH" of pictures of 16 bits */
    double picture_memory; /* MB of pictures that are kept decoded; (-1): half of what is free */
    double validation;     /* (0); the share of the training images that is only validated on */
    best_kind best;
    int best_by_test; /* 1: the test part chooses the best weights where there is no validation part */
    int flip;         /* augmentation of pictures (images/picture_augment.h) */
    long long crop;
    double resized_crop, rotate, jitter, erase;
    objective_kind objective;
    double beta, tail;             /* one of them is (NaN): beta follows from the losses if there is a tail */
    hws_divergence divergence;     /* none that has callbacks */
    importance_kind importance;    /* of the weights p_new / p_old, clipped to [weight_min, weight_max] */
    double weight_min, weight_max; /* the latter may be infinite */
    double target_ess;             /* (0); else beta is chosen after each epoch */
    double trim;                   /* the hardest fraction that is left out */
    int doubt;                     /* 1: losses of examples whose label is in doubt count for less */
    double mislabel;               /* the fraction of the labels that are made wrong for study */
    double warm_up;                /* of the run: so much of it is drawn as erm would */
    double loss_init;              /* (NaN): examples without a loss are drawn first; else taken for their loss */
    const char *loss_init_file;    /* (""); a losses.csv or a run with losses to begin with */
    history_kind history;
    double history_momentum;
    double floor, uniform_mix;
    int replacement;
    long long ohem_factor; /* candidates of online hard example mining per example that is trained on */
    double group_step;     /* of group-dro: how fast the weights of groups follow their losses */
    long long jtt_epochs;  /* of jtt: how long the training lasts whose errors count */
    long long jtt_weight;  /* of jtt: how often each of them is in a pass of the second training */
    const char *model;
    double dropout, label_smoothing; /* of images; (0): none */
    const char *from;                /* (""): random weights; else a run or a file with those to begin with */
    optimizer_kind optimizer;
    double lr, momentum, weight_decay, clip_norm;
    schedule_kind schedule;
    long long lr_warm_up;         /* iterations in which the learning rate rises */
    long long epochs, iterations; /* iterations, if not (0), decide instead */
    const char *budget;           /* (""); "60m": the time from which these three, and others, were chosen */
    const char *budget_costs;     /* (""); seconds of an iteration, a validation and the end, as measured for it */
    const char *budget_lengths;   /* (""); how the clock changed the number of iterations later (train/pace.h) */
    long long epoch_length;       /* (0): floor(examples / batch) iterations */
    long long batch;              /* (0), for segmentation: the plan's */
    int independent_draws;        /* of erm: with replacement */
    long long validation_patches; /* (0): one of each validation case; else of so many, evenly spread */
    long long fold;               /* of segmentation; -1: train and validate on all cases */
    const char *stratify;         /* (""): folds as nnU-Net's; else a column of groups.csv whose shares they keep */
    const char *keep_together;    /* (""); a column of groups.csv whose groups stay in one fold each */
    const char *split_volumes;    /* (""); "D,H,W": volumes are divided into subvolumes of about this size */
    const char *cache;            /* (""): hws_cache in the dataset's folder */
    long long look_ahead;
    double stop_grad_norm; /* (-1): never; 0 measures the norm, too */
    precision precision;
    convolution_algorithm conv;
    long long seed;
    long long threads;          /* (0): all */
    long long loaders;          /* threads that prepare batches */
    long long checkpoint_every; /* (0): at the end of each epoch only; else also after so many iterations */
    int tensorboard;            /* 1: event files beside history.csv */
    struct json_t *document;    /* holds the texts of settings that were read from a file */
} train_settings;

/* The defaults for images, and for the segmentation of volumes. */
train_settings settings_default(void);
train_settings settings_default_volumes(void);

/* What a setting had before it could be chosen, or before its default was another: of old runs that do not tell. */
train_settings settings_before(int volumes);
void settings_close(train_settings *settings);

/* ---- the table --------------------------------------------------------------------------------------------------- */

typedef enum setting_kind {
    SETTING_FLAG,   /* int */
    SETTING_WHOLE,  /* long long, from low to high */
    SETTING_NUMBER, /* double, from low to high, or NaN where the setting may be "none" */
    SETTING_TEXT,   /* const char * */
    SETTING_CHOICE, /* an enum */
    SETTING_DIVERGENCE,
    SETTING_IMPORTANCE, /* "off", or "KIND", "MIN,MAX", "KIND,MIN,MAX"; importance, weight_min and weight_max */
    SETTING_LOSS_INIT,  /* a number, "none" or a file; loss_init and loss_init_file */
    SETTING_KEEP        /* "CLASS=FRACTION" or "COLUMN:VALUE=FRACTION", several times; keep and keep_count */
} setting_kind;

typedef enum setting_group { SETTING_DATA, SETTING_OBJECTIVE, SETTING_TRAINING, SETTING_RUN } setting_group;

typedef enum setting_use { SETTING_FOR_BOTH, SETTING_FOR_IMAGES, SETTING_FOR_VOLUMES } setting_use;

enum { SETTING_OPTION_SIZE = 64 };

typedef struct setting {
    const char *key;
    setting_kind kind;
    setting_use only;    /* the data that it means something for */
    unsigned objectives; /* those that it means something for, 1 << objective_kind each; 0: all */
    setting_group group; /* where --help tells of it; not of SETTING_DATA */
    size_t offset;       /* in train_settings */
    double low, high;
    const char *(*choice)(int value);    /* the names of the choices; NULL behind the last */
    int is_free;                         /* 1: decides no bit of the result, so that a resumed run may have another */
    int or_all;                          /* 1: a whole number whose lowest value may be called "all" */
    int or_none;                         /* 1: a number that may be "none" */
    const char *instead_of;              /* the setting that becomes "none" when this one is given */
    const char *images, *volumes;        /* the defaults, as one would type them; NULL: the same for volumes */
    const char *paper, *paper_volumes;   /* the same for --recipe paper; NULL: the defaults */
    const char *before, *before_volumes; /* what runs that do not tell had; NULL: the defaults */
    const char *value;                   /* what --help calls the value, e.g. "B"; NULL: a flag */
    const char *help;                    /* lines that explain it */
    const char *otherwise;               /* what --help says in the defaults' place; NULL: the defaults, "": nothing */
} setting;

size_t settings_count(void);
const setting *settings_at(size_t index);
const setting *settings_find(const char *key); /* NULL if there is none */

/* "--history-momentum"; returns `name`. */
const char *setting_option(const setting *setting, char name[SETTING_OPTION_SIZE]);

/* The lines of --help about a group: an option each, with its defaults in brackets. */
void settings_help(setting_group group, text *help);

/* Those about recipes: the options that each stands for. */
void settings_recipes_help(text *help);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/*
 * Sets a value as the command line gives it, which is refused unless it is of the setting's kind and range. A text is
 * not copied. A flag takes "on" and "off"; importance "off", "" (the paper's, with the usual limits), "MIN,MAX" and
 * paper, normalised or exact, with ",MIN,MAX" or without; keep adds to what is there. `key` may be any of the table's.
 */
status_code settings_set(train_settings *settings, const char *key, const char *value, failure *failure);

/* The value of a choice by its name, for verbs that have the option of a setting as well. */
status_code settings_choose(const char *key, const char *name, int *value, failure *failure);

/* Whether a word behind --importance is its value: it need not have one, and DATA may follow. */
int settings_names_importance(const char *word);

/* Sets what a recipe decides: "paper" the objective as the paper has it, "photos" and "xrays" how pictures are
   augmented. */
status_code settings_follow_recipe(train_settings *settings, const char *name, int volumes, failure *failure);

/* Adds all settings to the object that is open. */
void settings_write(const train_settings *settings, json_writer *json);

/* What decides no bit of the result becomes its default. */
void settings_forget_free(train_settings *settings, int volumes);

/* Overwrites the settings that the object holds, which keeps their texts: it must live as long. Keys that are no
   settings are refused. `name` is what messages call it. */
status_code settings_read(train_settings *settings, struct json_t *object, const char *name, failure *failure);

/* The same from an object as text, which the settings keep: what settings_write gave. */
status_code settings_read_text(train_settings *settings, const char *json, const char *name, failure *failure);

/* Whether a run can be continued beyond its epochs: neither the rate nor how the batches are drawn
   follows from their number. */
int settings_may_be_longer(const train_settings *settings);

/* The first setting that decides bits and differs; NULL if there is none. The number of epochs decides none
   where the run may be longer. */
const char *settings_difference(const train_settings *a, const train_settings *b);

/* Whether they fit together; what follows from them alone. */
status_code settings_check(const train_settings *settings, failure *failure);

#endif
