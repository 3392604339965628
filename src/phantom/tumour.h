/*
 * Brain-tumour-like images of four sequences with label maps, made up on the spot like the heads of phantom.h:
 * data to try regions and several channels with. They are drawings. Nothing that is measured on them says
 * anything about patients.
 *
 * Labels, as the BraTS challenges have them, with a gap: 1 necrosis and core that does not enhance, 2 oedema,
 * 4 enhancing tumour, 0 everything else. So three regions lie one within the other: the whole tumour (1, 2,
 * 4), its core (1, 4) and its enhancing part (4), which tumours of low grade lack. What is outside of the
 * brain is 0 in all channels.
 *
 * Four centres; the last one is rare, and its images have less contrast and more noise.
 */
#ifndef HWS_PHANTOM_TUMOUR_H
#define HWS_PHANTOM_TUMOUR_H

#include "phantom/phantom.h"

enum { TUMOUR_CHANNELS = 4, TUMOUR_CENTRES = 4 }; /* T1, T1 with contrast agent, T2, FLAIR */

typedef struct tumour_facts {
    int centre;    /* 1 to TUMOUR_CENTRES */
    int low_grade; /* 1: nothing enhances */
} tumour_facts;

/* Makes a case from seed, split and index of the key. Close image and labels when STATUS_OK;
   otherwise they are zeroed. */
status_code tumour_make(const phantom_key *key, const volume_grid *grid, volume *image, label_map *labels,
                        tumour_facts *facts, failure *failure);

#endif
