/*
 * A fetal head made of ellipsoids and tubes: which tissue is where.
 *
 * Within the head, lengths are in units of the brain's half length; x goes to the left or right (the two sides mirror
 * each other, nearly), y to the front, z up, and the origin is in the middle of the brain. The world is in mm.
 */
#ifndef HWS_PHANTOM_ANATOMY_H
#define HWS_PHANTOM_ANATOMY_H

#include "phantom/shapes.h"
#include "phantom/smooth_field.h"

typedef enum tissue {
    TISSUE_FLUID,  /* around the fetus */
    TISSUE_MOTHER, /* behind it */
    TISSUE_BODY,   /* face, neck, trunk */
    TISSUE_EYE,
    TISSUE_SCALP,
    TISSUE_SKULL,
    TISSUE_CSF, /* outside of the brain: extra-axial */
    TISSUE_CORTEX,
    TISSUE_WHITE,
    TISSUE_DEEP, /* grey matter: thalami */
    TISSUE_STEM,
    TISSUE_VENTRICLE, /* intra-axial CSF, cavum included */
    TISSUE_CEREBELLUM,
    TISSUE_COUNT
} tissue;

typedef enum diagnosis {
    DIAGNOSIS_NONE,
    DIAGNOSIS_SPINA_BIFIDA,
    DIAGNOSIS_NO_CALLOSUM, /* the bridge between the halves is missing: ventricles apart and wide at the back */
    DIAGNOSIS_ONE_SIDED,   /* one ventricle is wide */
    DIAGNOSIS_FOSSA_CYST   /* much CSF behind a small cerebellum */
} diagnosis;

enum { VENTRICLE_FRONT, VENTRICLE_BODY, VENTRICLE_ATRIUM, VENTRICLE_BACK, VENTRICLE_TEMPLE, VENTRICLE_BALLS };

typedef struct anatomy {
    diagnosis diagnosis;
    double weeks, growth; /* gestational age, and 0 to 1 from the youngest to the oldest */
    double length;        /* of half the brain, mm */
    double turn[3][3], shift[3];
    double bend; /* how much the field bends the head */
    smooth_field bending[3], folds, around;
    double lemon; /* how much narrower the front is */
    double gap, cortex, fold_depth, fissure, fissure_floor;
    ellipsoid cerebrum, insula;
    double base; /* the half height of the brain below its middle */
    ball ventricles[2][VENTRICLE_BALLS];
    int has_cavum;
    ellipsoid cavum, third, fourth, thalamus, cerebellum, vermis, fossa, face;
    double tentorium; /* its height in front; the roof of the posterior fossa */
    ball stem[3], canal[2], trunk[2], eye;
} anatomy;

/* Draws a head at rest and its pose. The stream decides everything else than the diagnosis. */
void anatomy_draw(anatomy *anatomy, diagnosis diagnosis, random_stream *stream);

/* The tissue at a place in the world, mm from the middle of the image. */
tissue anatomy_at(const anatomy *anatomy, const double world[3]);

#endif
