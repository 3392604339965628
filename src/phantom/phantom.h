/*
 * Fetal-brain-like T2 images with label maps, made up on the spot: data for tests and for the experiment with a rare
 * group, without any patient's images. They are drawings. Nothing that is measured on them says anything about fetuses.
 *
 * Labels: 1 white matter, 2 intra-axial CSF (ventricles and cavum), 3 cerebellum, 0 everything else: cortex, deep grey
 * matter, brain stem, CSF around the brain, skull, the fetus's body, the mother's tissue and the fluid between.
 *
 * Conditions: controls; spina bifida (a small cerebellum drawn downwards, without CSF around it, and wide ventricles);
 * others (no corpus callosum, one wide ventricle, or a cyst behind the cerebellum). Ages from 21 to 36 weeks, poses,
 * shapes, folds, contrasts, bias fields, blur and noise vary.
 *
 * A case follows from (seed, split, index) and its condition alone, to the bit on every machine, whatever other cases
 * there are.
 */
#ifndef HWS_PHANTOM_PHANTOM_H
#define HWS_PHANTOM_PHANTOM_H

#include "nifti/volume.h"

enum { PHANTOM_LABELS = 4 };

typedef enum phantom_split { PHANTOM_TRAIN = 0, PHANTOM_TEST = 1 } phantom_split;

typedef enum phantom_condition {
    PHANTOM_CONTROL,
    PHANTOM_SPINA_BIFIDA,
    PHANTOM_OTHER,
    PHANTOM_CONDITIONS
} phantom_condition;

/* "control", "spina_bifida", "other". */
const char *phantom_condition_name(phantom_condition condition);

/* What a case follows from. */
typedef struct phantom_key {
    uint64_t seed;
    phantom_split split;
    uint32_t index;
    phantom_condition condition;
} phantom_key;

typedef struct phantom_facts {
    phantom_condition condition;
    const char *diagnosis; /* one word, finer than the condition */
    double weeks;          /* gestational age */
} phantom_facts;

/* A grid whose middle is the origin. */
volume_grid phantom_grid(const int size[3], double spacing);

/* Makes a case. Close image and labels when STATUS_OK; otherwise they are zeroed. */
status_code phantom_make(const phantom_key *key, const volume_grid *grid, volume *image, label_map *labels,
                         phantom_facts *facts, failure *failure);

#endif
