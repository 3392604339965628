/*
 * hws_predict: segmentation of 3D images, and classification of pictures, by networks that hws has trained
 *
 * This header is the manual of libhws_predict. The library needs zlib, jansson, libpng, libjpeg, an OpenMP runtime and
 * libm; it is apart from libhws, and a program may use both.
 *
 * WHAT IT DOES
 *
 * A predictor holds one trained network, or several of one plan (folds, seeds) as an ensemble. It takes an image of any
 * size and voxel spacing, from memory or from NIfTI files, and says for each voxel which class it belongs to, or how
 * likely each class is. Cropping, normalisation, resampling to the spacing that the network was trained at, overlapping
 * windows, mirror images and the way back are done as in training and in `hws predict`, which gives the same labels.
 *
 * A classifier holds one or several networks that were trained on pictures with labels. It takes a PNG or JPEG file, or
 * pixels from memory, and says how likely each class is for the whole picture (see "classification of pictures" below).
 *
 * FROM A FILE TO A FILE
 *
 *     hws_predictor *predictor = NULL;
 *     hws_predict_error error;
 *     const char *model = "runs/dro-f0", *image = "case_0000.nii.gz";
 *     hws_predict_status status = hws_predict_open(&predictor, &model, 1, NULL, &error);
 *     if (status == HWS_PREDICT_OK) status = hws_predict_file(predictor, &image, 1, "labels.nii.gz", &error);
 *     if (status != HWS_PREDICT_OK) fprintf(stderr, "%s\n", error.message);
 *     hws_predict_close(&predictor);
 *
 * FROM MEMORY TO MEMORY
 *
 *     hws_predict_image image = {.voxels = voxels, .channels = 1, .size = {256, 256, 120}, .spacing = {0.5, 0.5, 1.2}};
 *     int16_t *labels = malloc(256 * 256 * 120 * sizeof *labels);
 *     status = hws_predict_labels(predictor, &image, labels, &error);
 *
 * WHAT A MODEL IS
 *
 * The folder of a run that segments volumes (`hws train DATASET --out RUN`), or an exported model: a folder with
 *
 *     plans.json              the plan: channels, classes, spacing, patch, network (docs/formats.md)
 *     best.safetensors        the weights under PyTorch's names; if there is no file of this name, the only
 *                             .safetensors file of the folder
 *     config.json             optional, as a run has it: tells the names of the labels
 *
 * Copying plans.json and best.safetensors out of a run's folder exports it. The model of a classifier is the folder of
 * a run that classifies pictures.
 *
 * RULES THAT HOLD EVERYWHERE
 *
 * - Every function that can fail returns an hws_predict_status; HWS_PREDICT_OK is 0. It takes an hws_predict_error *,
 *   which may be NULL, and fills it: what is wrong, where, and what to do. After success the message is empty.
 * - NULL where something is needed, impossible sizes and the like are refused; a pointer that is neither NULL nor
 *   valid is not noticed.
 * - The library never prints, never exits, installs no signal handlers, and keeps no state outside its predictors but a
 *   list of the files that it has mapped. The OpenMP runtime keeps its threads; if the system refuses to start one, as
 *   where a limit on processes is reached, it prints so and ends the program: ask for fewer threads there. A predictor
 *   that computes in bf16 on a processor with AMX asks Linux for its tiles, for as long as the process lives: signal
 *   stacks (sigaltstack) must then have more than 8 KB, and where one has not, bf16 is computed without tiles.
 * - Threads do not survive fork(). In a child, a predictor that its parent opened works with one thread only, and is
 *   refused with more; and a child whose parent has predicted with several threads should itself use one. Fork before
 *   the first prediction, or start a new program.
 * - Arrays belong to the caller and are read or written only during the call. Texts belong to the predictor and live as
 *   long as it does. A predictor belongs to the caller from hws_predict_open to hws_predict_close.
 * - One predictor must be used by one thread at a time, queries included. Different predictors are independent and may
 *   be used by different threads at once. Functions without a predictor may be called by any thread.
 * - Equal images give equal results, however many threads there are.
 * - Files that are written appear whole or not at all.
 *
 * PROGRAMS AND LIBRARIES OF DIFFERENT AGE
 *
 * A program goes on working with every later library of the same soname. The soname is libhws_predict.so.0.1 in 0.1 and
 * 0.2 alike: it names the oldest version whose programs still work, and changes only when they no longer do.
 *
 * - hws_predict_options may grow at its end. Its first member is the size that it has in the program;
 *   hws_predict_options_default sets it. Options that a smaller struct lacks have their defaults. Of a larger struct,
 *   the bytes that the library does not know must be 0: anything else is an option that this library cannot obey, and
 *   is refused.
 * - hws_predict_image and hws_predict_error keep their size and end in reserved members, which are 0 until later
 *   versions use them. In an image, which the caller fills, anything else is refused: begin with {0} or a designated
 *   initialiser.
 * - Status codes and the meaning of members do not change.
 */
#ifndef HWS_PREDICT_H
#define HWS_PREDICT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the shared library exports. */
#if defined(__GNUC__) || defined(__clang__)
#define HWS_PREDICT_API __attribute__((visibility("default")))
#else
#define HWS_PREDICT_API
#endif

/* The version of the library that is linked, as "major.minor.patch"; the same as that of hws. */
HWS_PREDICT_API const char *hws_predict_version(void);

/* ---- status codes ------------------------------------------------------------------------------------------------ */

/* Name, value, meaning. The values are fixed for all versions; new codes are added at the end. */
#define HWS_PREDICT_STATUS_LIST(X)                                                                                     \
    X(HWS_PREDICT_OK, 0, "done")                                                                                       \
    X(HWS_PREDICT_ERROR_ARGUMENT, 1, "an argument, an option or an image cannot be right")                             \
    X(HWS_PREDICT_ERROR_CORRUPT, 2, "a file is damaged, or not what it should be")                                     \
    X(HWS_PREDICT_ERROR_READ, 3, "a file or folder is missing or cannot be read")                                      \
    X(HWS_PREDICT_ERROR_WRITE, 4, "a file cannot be written")                                                          \
    X(HWS_PREDICT_ERROR_MEMORY, 5, "out of memory")                                                                    \
    X(HWS_PREDICT_ERROR_NOT_FINITE, 6, "a voxel is NaN or infinite")                                                   \
    X(HWS_PREDICT_CANCELLED, 7, "cancelled by the caller")                                                             \
    X(HWS_PREDICT_ERROR_FAILED, 8, "the prediction failed")

typedef enum hws_predict_status {
#define HWS_PREDICT_STATUS_ENUMERATOR(name, value, text) name = value,
    HWS_PREDICT_STATUS_LIST(HWS_PREDICT_STATUS_ENUMERATOR)
#undef HWS_PREDICT_STATUS_ENUMERATOR
} hws_predict_status;

/* The meaning of a status as an English phrase without a full stop; never NULL. */
HWS_PREDICT_API const char *hws_predict_status_text(hws_predict_status status);

/* Why a call failed. Needs nothing in it beforehand; every call that takes one fills all of it. */
typedef struct hws_predict_error {
    hws_predict_status status; /* what the call returned */
    char message[1024];        /* what, where, what to do; empty after success */
    uint64_t reserved[4];      /* 0 */
} hws_predict_error;

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Beside each option stands its default, then what it means. */
typedef struct hws_predict_options {
    /* clang-format off */
    size_t size; /*       sizeof(hws_predict_options) as the program knows it; hws_predict_options_default sets it */
    int threads; /* 0     at most 4096; 0: one for each processor */
    int bf16;    /* 0     1: activations are kept in bfloat16: half of the memory, and a few labels change */
    int mirror;  /* 1     0: no mirror images are averaged: up to eight times faster (slices: four), a little worse */
    int latest;  /* 0     1: a run's latest weights instead of its best ones */
    double step; /* 0.5   windows are at most this share of a window apart; above 0, at most 1 */
    /* clang-format on */

    /* A folder for files that have no name: class scores that would take more than half of the free memory go there.
       NULL: they stay in memory. The text is copied. */
    const char *temporary;

    /*
     * Called during predictions by the thread that predicts; either may be NULL. `progress` is told after each window
     * how many of all are done. `cancel` is asked after each window: 1 ends the call soon with HWS_PREDICT_CANCELLED,
     * and the predictor can be used again. They must not call back into the predictor. `context` is handed through and
     * stays the caller's.
     */
    void (*progress)(void *context, size_t done, size_t total);
    int (*cancel)(void *context);
    void *context;
} hws_predict_options;

/* Fills a struct of this size with the defaults that stand beside the members; what the library does not know is 0. */
HWS_PREDICT_API void hws_predict_options_init(hws_predict_options *options, size_t size);

/* The defaults, in a struct of the size that the program was compiled with. Begin with it, then set what differs. */
static inline hws_predict_options hws_predict_options_default(void) {
    hws_predict_options options;
    hws_predict_options_init(&options, sizeof options);
    return options;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

typedef struct hws_predictor hws_predictor;

/*
 * Opens `count` models, at least one; their plans must agree. `options` may be NULL for the defaults. On failure
 * *predictor is NULL. Reads the folders once: they may change or vanish afterwards. Takes the memory of one network and
 * of all models' weights.
 */
HWS_PREDICT_API hws_predict_status hws_predict_open(hws_predictor **predictor, const char *const *models, int count,
                                                    const hws_predict_options *options, hws_predict_error *error);

/* Frees the predictor and sets *predictor to NULL. Accepts NULL and a pointer to NULL. */
HWS_PREDICT_API void hws_predict_close(hws_predictor **predictor);

/* How many channels images must have, and how many classes there are, the background being class 0. 0 for NULL. */
HWS_PREDICT_API int hws_predict_channels(const hws_predictor *predictor);
HWS_PREDICT_API int hws_predict_classes(const hws_predictor *predictor);

/* 1 if the classes are regions, which may overlap (a whole tumour and its core) and have no background among them; else
   0, also for NULL. */
HWS_PREDICT_API int hws_predict_has_regions(const hws_predictor *predictor);

/* What label maps hold where this class is: the value that the training labels had. Mostly the class's number, but
   values may have gaps (0, 1, 2, 4), and a region has the value that is written where no later region is. -1 if there
   is no such class. */
HWS_PREDICT_API int hws_predict_class_label(const hws_predictor *predictor, int which);

/* What the plan calls a channel, and config.json a class ("background", "hippocampus"); its number where the model does
   not tell. NULL if there is no such channel or class. The predictor owns the text. */
HWS_PREDICT_API const char *hws_predict_channel_name(const hws_predictor *predictor, int channel);
HWS_PREDICT_API const char *hws_predict_class_name(const hws_predictor *predictor, int which);

/* ---- images ------------------------------------------------------------------------------------------------------ */

/*
 * A 3D image of one or several channels.
 *
 * Voxels lie as NIfTI stores them, x fastest: voxel (x, y, z) of channel c is
 * voxels[((c * size[2] + z) * size[1] + y) * size[0] + x]. Arrays of other libraries that are indexed [z][y][x] with x
 * fastest (NumPy's C order, SimpleITK's) lie like this. Axes must be those of the training images: nothing is turned.
 *
 * The spacing decides how the image is resampled. The affine only says where the voxels are, and goes into the files
 * that are written: row by row a 4x4 matrix from voxel indices to millimetres in the scanner's right, anterior,
 * superior (from an origin o, unit direction vectors d of the axes and the spacing: column k is d_k * spacing[k],
 * column 3 is o; the last row is 0 0 0 1). If the affine is all 0, it is the spacing alone. If the spacing is all 0, it
 * is the length of the affine's columns. If both are there they must agree to a thousandth.
 */
typedef struct hws_predict_image {
    const float *voxels; /* all must be finite */
    int channels;
    int size[3];       /* voxels along x, y, z, each at least 1 */
    double spacing[3]; /* millimetres between voxels along x, y, z */
    double affine[16];
    const void *header;   /* what hws_predict_read noted of the file; NULL for images of your own */
    uint64_t reserved[4]; /* must be 0 */
} hws_predict_image;

/*
 * Reads an image from NIfTI files (.nii, .nii.gz): one file with all channels (3D, or 4D), or one file for each
 * channel, in the plan's order, on one grid. All of *image is filled; hws_predict_free frees it, and does nothing to an
 * image that was zeroed. On failure *image is zeroed.
 */
HWS_PREDICT_API hws_predict_status hws_predict_read(hws_predict_image *image, const char *const *files, int count,
                                                    hws_predict_error *error);
/* Only for images of hws_predict_read. Leaves zeros. */
HWS_PREDICT_API void hws_predict_free(hws_predict_image *image);

/* ---- prediction -------------------------------------------------------------------------------------------------- */

/*
 * The label of each voxel, on the image's own grid, in the order of its voxels: `labels` has
 * size[0] * size[1] * size[2] numbers. It is that of the class with the highest mean logit, the first of equal ones; of
 * regions that of the last one whose probability is above one half, and 0 where none is. Where the image is empty (0 in
 * all channels) around what it shows, the label is 0. After a failure the labels are undefined.
 */
HWS_PREDICT_API hws_predict_status hws_predict_labels(hws_predictor *predictor, const hws_predict_image *image,
                                                      int16_t *labels, hws_predict_error *error);

/*
 * The probability of each class at each voxel: `probabilities` has hws_predict_classes blocks of as many numbers as the
 * image has voxels, class 0 first, each in the order of the voxels. The softmax of the mean logits: logits are averaged
 * over models, mirror images and overlapping windows, then resampled to the image's grid, then exponentiated and
 * normalised. They sum to 1 at each voxel (to rounding), and none is larger than that of the label. Those of regions
 * are the sigmoids of their mean logits, each for itself. `labels` may be NULL; if not, it gets what hws_predict_labels
 * gives. Takes memory for the scores on the network's grid beside the result.
 */
HWS_PREDICT_API hws_predict_status hws_predict_probabilities(hws_predictor *predictor, const hws_predict_image *image,
                                                             float *probabilities, int16_t *labels,
                                                             hws_predict_error *error);

/* Reads, predicts and writes a label map: hws_predict_read, _labels and _write_labels in one. The image is never
   overwritten: refused if `labels_file` is one of `files`. */
HWS_PREDICT_API hws_predict_status hws_predict_file(hws_predictor *predictor, const char *const *files, int count,
                                                    const char *labels_file, hws_predict_error *error);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/*
 * Write NIfTI files on the image's grid, with the header that the image's file had unless size, spacing or affine were
 * changed since. Names must end in .nii, or in .nii.gz for compressed files. Labels become uint8 where they fit, and
 * int16 otherwise; probabilities become float32, in a 4D file with one volume for each class. Of the image only grid
 * and header are used; its voxels may be NULL.
 */
HWS_PREDICT_API hws_predict_status hws_predict_write_labels(const hws_predict_image *image, const int16_t *labels,
                                                            const char *file, hws_predict_error *error);
HWS_PREDICT_API hws_predict_status hws_predict_write_probabilities(const hws_predict_image *image, int classes,
                                                                   const float *probabilities, const char *file,
                                                                   hws_predict_error *error);

/* ---- classification of pictures ---------------------------------------------------------------------------------- */

/*
 * Networks that say what a whole picture shows: runs of hws train on pictures with labels.
 *
 *     hws_predict_classifier *classifier;
 *     const char *model = "runs/xrays";
 *     float p[2];
 *     status = hws_predict_classifier_open(&classifier, &model, 1, 0, &error);
 *     if (status == HWS_PREDICT_OK) status = hws_predict_classify_file(classifier, "image.jpeg", p, &error);
 *     hws_predict_classifier_close(&classifier);
 *
 * The rules above hold for classifiers as they do for predictors.
 */
typedef struct hws_predict_classifier hws_predict_classifier;

/* Opens the best weights of `count` runs, whose probabilities are averaged; they must know the same classes. `threads`:
   0 to 4096, 0 being one for each processor. On failure *classifier is NULL. */
HWS_PREDICT_API hws_predict_status hws_predict_classifier_open(hws_predict_classifier **classifier,
                                                               const char *const *models, int count, int threads,
                                                               hws_predict_error *error);
/* Accepts NULL and a pointer to NULL; sets it to NULL. */
HWS_PREDICT_API void hws_predict_classifier_close(hws_predict_classifier **classifier);

/* How many classes there are, 0 for NULL; and what they are called, NULL if there is none of this number. */
HWS_PREDICT_API int hws_predict_classifier_classes(const hws_predict_classifier *classifier);
HWS_PREDICT_API const char *hws_predict_classifier_class_name(const hws_predict_classifier *classifier, int which);

/* The probability of each class for a PNG or JPEG file, read, turned upright, resized and cropped as in training:
   `probabilities` has hws_predict_classifier_classes numbers, which sum to 1. */
HWS_PREDICT_API hws_predict_status hws_predict_classify_file(hws_predict_classifier *classifier, const char *file,
                                                             float *probabilities, hws_predict_error *error);

/* The same for a picture in memory: size is height, width, channels (1: grey, 3: red, green, blue), the pixels are
   bytes, row by row from the top without padding. For a network trained with --greys LOW,HIGH the caller must have
   scaled the 16-bit samples to bytes that way. */
HWS_PREDICT_API hws_predict_status hws_predict_classify_pixels(hws_predict_classifier *classifier,
                                                               const uint8_t *pixels, const int size[3],
                                                               float *probabilities, hws_predict_error *error);

#ifdef __cplusplus
}
#endif

#endif
