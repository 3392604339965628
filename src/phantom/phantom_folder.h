/*
 * A dataset folder of phantoms in nnU-Net v2's layout:
 *
 *     dataset.json  imagesTr/  labelsTr/   phantom_001 and so on
 *     imagesTs/  labelsTs/                 test_001 and so on, if a test set is asked for
 *     groups.csv                           case, condition, gestational_age (a range of weeks)
 *     phantoms.csv                         case, condition, diagnosis, weeks
 *
 * Tumours (tumour.h) have four channels, labels that are regions, and in groups.csv their centre and grade; there is no
 * phantoms.csv.
 */
#ifndef HWS_PHANTOM_PHANTOM_FOLDER_H
#define HWS_PHANTOM_PHANTOM_FOLDER_H

#include "core/listener.h"
#include "phantom/phantom.h"

enum { PHANTOM_MAX_CASES = 100000 };

typedef struct phantom_options {
    int tumours;             /* 0: fetal heads; 1: tumours, which have no spina bifida and no others */
    int cases;               /* 60 */
    int spina_bifida, other; /* 3 and 3: how many of them; which ones is drawn from the seed */
    int test;                /* 0: cases of a test set, a third of each condition */
    int size[3];             /* 40, 48, 40: voxels along x, y, z */
    double spacing;          /* 3: mm */
    uint64_t seed;           /* 0 */
    int threads;             /* 1 */
} phantom_options;

phantom_options phantom_options_default(void);

/*
 * The folder must not exist or be empty, and is so again after a failure. The same options give the same files, for any
 * number of threads. The listener may be NULL.
 */
status_code phantom_write_folder(const char *folder, const phantom_options *options, const listener *listener,
                                 failure *failure);

#endif
