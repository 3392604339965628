/* What hws train says about a run, in words. */
#ifndef HWS_CLI_TRAIN_WORDS_H
#define HWS_CLI_TRAIN_WORDS_H

#include "train/train.h"

/* Lines before the first iteration: what is learnt from what, how, and for how long. Without the last line's end. */
void train_words_summary(const trainer *trainer, text *lines);

/* The metric that is shown, as "test accuracy" or "val Dice". */
void train_words_metric(const trainer *trainer, text *words);

/* The value that chose the weights that are kept, as "val accuracy 91.20% (epoch 7)"; nothing if none did. */
void train_words_best(const trainer *trainer, text *words);

/* That a run of images or rows is too short to learn much, and which options would make it longer; nothing if it is
   not, if it was asked for by its iterations or its time, or if it begins with trained weights. */
void train_words_short(const trainer *trainer, text *words);

/* How to go on with a run that is finished. */
void train_words_longer(const trainer *trainer, text *words);

/* Whether a run is counted in iterations: it was given so many, or time for them, and need not end with an epoch. */
int train_words_counts_iterations(const trainer *trainer);

/* "images", "volumes" or "rows". */
const char *train_words_examples(const trainer *trainer);

/* 1:02 or 1:02:03. */
void train_words_duration(double seconds, char words[32]);

/* The command that comes next, once it is trained. `folder` is the run's. */
void train_words_next(const trainer *trainer, text *command);

#endif
