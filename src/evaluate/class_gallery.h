/* The examples that a classifier finds hardest, by group, and those that it is least sure of, with pictures. */
#ifndef HWS_EVALUATE_CLASS_GALLERY_H
#define HWS_EVALUATE_CLASS_GALLERY_H

#include "evaluate/class_scores.h"
#include "images/labelled_images.h"

typedef struct class_gallery {
    const labelled_images *set;
    const float *probabilities; /* [example][class] */
    const double *losses;       /* [example] */
    const char *column;         /* of the groups; NULL: none */
    const char *out;            /* the folder */
} class_gallery;

/* Writes worst.csv (kind, column, value, example, label, prediction, loss, margin) and worst/EXAMPLE.png: of each group
   the examples with the largest losses (`hardest`), and of all those whose two most probable classes are closest
   (`doubtful`; margin is the difference). */
status_code class_gallery_write(const class_gallery *gallery, failure *failure);

#endif
