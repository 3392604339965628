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

/* "images", "volumes" or "rows". */
const char *train_words_examples(const trainer *trainer);

/* 1:02 or 1:02:03. */
void train_words_duration(double seconds, char words[32]);

/* The command that comes next, once it is trained. `folder` is the run's. */
void train_words_next(const trainer *trainer, text *command);

/* A word of a command line, in quotes where a shell needs them. */
void train_words_quote(const char *word, text *quoted);

#endif
