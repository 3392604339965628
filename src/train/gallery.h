/*
 * A table of examples with a picture of some of them: hardest.csv with hardest/, triage.csv with triage/.
 *
 * The pictures come first, then the table, and what is left of earlier pictures goes last: so whoever is stopped in
 * between leaves a table that does not fit, and gallery_complete sees it.
 */
#ifndef HWS_TRAIN_GALLERY_H
#define HWS_TRAIN_GALLERY_H

#include "run/run_folder.h"
#include "train/trainer.h"

typedef struct gallery {
    run_file table, pictures;
    const char *drawing; /* what is being done, for the listener */
    int count;           /* of pictures, at most */
    double until;        /* the clock: no batch of pictures is begun later */
    int draws;           /* otherwise its rows are only made to be compared, without what the network says */
    int missing;         /* pictures that are not there, if it does not draw */
    text csv;            /* the table */
    text drawn;          /* the names of its pictures: /a.png/b.png/ */
} gallery;

/* Adds all rows, the header first. */
typedef status_code gallery_fill(trainer *trainer, gallery *gallery, failure *failure);

/* How many pictures are drawn between two looks at the clock, in one pass of the network. */
int gallery_batch(const trainer *trainer);

/* For `fill`: shows these examples, a batch at a time, and tells what the network says about each; nothing
   about those whose turn comes after the run was told to stop and the time for pictures is over: their
   verdicts stay as they are. */
status_code gallery_show(trainer *trainer, gallery *gallery, const int64_t *examples, int64_t count,
                         task_verdict *verdicts, failure *failure);

status_code gallery_write(trainer *trainer, gallery gallery, gallery_fill *fill, failure *failure);

/* The same, unless the table says already what it would say and its pictures are there. */
status_code gallery_complete(trainer *trainer, gallery gallery, gallery_fill *fill, failure *failure);

#endif
