/* What the files that a trainer is made of share. */
#ifndef HWS_TRAIN_TRAINER_INSIDE_H
#define HWS_TRAIN_TRAINER_INSIDE_H

#include "core/printf_like.h"
#include "train/trainer.h"

/* Something to tell, and tells what there is. */
void trainer_notice(trainer *trainer, const char *format, ...) PRINTF_LIKE(2, 3);
void trainer_tell(trainer *trainer, const listener *listener);

/* The losses of a run or a losses.csv become those of the examples of the same names; what does not fit is in the
   notice (first_losses.c). */
status_code trainer_take_losses(trainer *trainer, const char *path, failure *failure);

/* After an iteration: the length follows the clock, or what is recorded (keep_time.c). */
status_code trainer_keep_time(trainer *trainer, failure *failure);
/* Takes what is recorded for the iterations that are done. */
void trainer_follow_lengths(trainer *trainer);
/* The clock when this share of what is left of the time is over; infinite without a --budget. */
double trainer_time_share(const trainer *trainer, double share);
/* Whether nothing but the end is possible now. */
int trainer_is_late(const trainer *trainer);
status_code trainer_end_late(trainer *trainer, failure *failure);

/* One iteration of Algorithm 1 (step.c); `loss` is the mean loss of the batch. */
status_code trainer_step(trainer *trainer, double *loss, failure *failure);

/* Evaluates all examples as they are, without training, into trainer->all (full_pass.c). */
status_code trainer_all_losses(trainer *trainer, failure *failure);
/* The same, and marks those that the task calls wrong. */
status_code trainer_all_errors(trainer *trainer, uint8_t *wrong, failure *failure);

/* Algorithm 1's theta_0 once more, for the second training of jtt: the run keeps the weights of --from,
   whatever becomes of those. */
status_code trainer_first_weights_again(trainer *trainer, failure *failure);

/* The learning rate of an iteration; each training of jtt has its own schedule. */
double trainer_rate(const trainer *trainer, int64_t iteration);

/* The errors are found, and the second training begins with the first weights (just_train_twice.c). */
status_code trainer_train_again(trainer *trainer, failure *failure);
/* Draws by the errors that are known. */
status_code trainer_upweight_errors(trainer *trainer, failure *failure);

/*
 * The norm of the gradient of R over the whole training set, sum_i p_i grad loss_i with p of the losses at this moment
 * (full_pass.c). Batch normalisation has no gradient of single examples: it works with the statistics of micro-batches,
 * the examples in their order, as in training; its running statistics are left as they were. Losses are taken in the
 * same mode, and p from them. An incomplete last micro-batch is filled up with the first examples, at weight 0.
 */
status_code trainer_gradient_norm(trainer *trainer, double *norm, failure *failure);

/* The row of the epoch, beta for the next one, and history.csv, distribution.csv, losses.csv (epoch.c). STATUS_STOPPED,
   without a row, if the listener stops the evaluation: a resumed run begins with it. */
status_code trainer_end_epoch(trainer *trainer, const double **row, failure *failure);

/* latest.safetensors, with the one before kept as previous.safetensors; best.safetensors (checkpoint.c). */
status_code checkpoint_write(trainer *trainer, failure *failure);
status_code checkpoint_write_best(trainer *trainer, failure *failure);
status_code checkpoint_write_first(trainer *trainer, failure *failure);
status_code checkpoint_read(trainer *trainer, failure *failure);

/* STATUS_NOT_FINITE, and what to do: of an example's loss, which is named, and of the gradient. */
status_code trainer_fail_loss(const trainer *trainer, int64_t example, double loss, failure *failure);
status_code trainer_fail_update(const trainer *trainer, const char *why, failure *failure);

#endif
