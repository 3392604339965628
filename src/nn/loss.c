#include "nn/loss.h"

#include "nn/loss_kernels.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const NAMES[] = {"ce", "dice-ce", "dice", "regions"};
enum { KINDS = sizeof NAMES / sizeof *NAMES };

/* Chunks of whole blocks are what threads share out: a fixed division, with one record of sums each. */
enum { CHUNKS = 256, MOST_CLASSES = INT16_MAX, SMALL = 16384 };

static const double SMOOTH = 1e-5;

static int has_dice(const loss *loss) {
    return loss->kind == LOSS_DICE_CE || loss->kind == LOSS_DICE || loss->kind == LOSS_REGIONS;
}

/* The first class whose Dice counts: the background's does not, and regions have none. */
static size_t first_scored(const loss *loss) { return loss->kind == LOSS_REGIONS ? 0 : 1; }
static double scored(const loss *loss) { return (double)(loss->classes - first_scored(loss)); }

/* Labels are below. */
static double label_end(const loss *loss) {
    return loss->kind == LOSS_REGIONS ? (double)(1u << loss->classes) : (double)loss->classes;
}

status_code loss_check(const loss *loss, failure *failure) {
    if ((int)loss->kind < 0 || (int)loss->kind >= KINDS)
        return fail(failure, STATUS_BAD_INPUT, "there is no loss of kind %d", (int)loss->kind);
    const size_t fewest = has_dice(loss) ? 1 + first_scored(loss) : 1;
    const int most = loss->kind == LOSS_REGIONS ? LOSS_MAX_REGIONS : MOST_CLASSES;
    if (loss->classes < fewest || loss->classes > (size_t)most)
        return fail(failure, STATUS_BAD_INPUT, "the loss %s is asked for with %zu classes, but needs %zu to %d",
                    NAMES[loss->kind], loss->classes, fewest, most);
    if (loss->positions < 1 || loss->positions > SIZE_MAX / 16 / loss->classes)
        return fail(failure, STATUS_BAD_INPUT, "a loss cannot be taken over %zu positions", loss->positions);
    if (!(loss->smoothing >= 0 && loss->smoothing < 1) || (loss->smoothing > 0 && loss->kind != LOSS_CROSS_ENTROPY))
        return fail(failure, STATUS_BAD_INPUT,
                    "labels can be smoothed by 0 to below 1 where the loss is cross entropy, not by %g of %s",
                    loss->smoothing, NAMES[loss->kind]);
    return STATUS_OK;
}

/* How one example is divided. */
typedef struct division {
    size_t chunk, chunks;
} division;

static division divide(const loss *loss) {
    const size_t blocks = (loss->positions + LOSS_BLOCK - 1) / LOSS_BLOCK;
    const size_t chunk = (blocks + CHUNKS - 1) / CHUNKS * LOSS_BLOCK;
    return (division){chunk, (loss->positions + chunk - 1) / chunk};
}

/* The workspace: one record of sums for the total and each chunk, then the slopes, then the probabilities. */
static size_t record_size(const loss *loss) { return 3 + (has_dice(loss) ? 3 * loss->classes : 0); }
static size_t line_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t slopes_bytes(const loss *loss) { return has_dice(loss) ? line_up(2 * loss->classes * sizeof(float)) : 0; }

static size_t records_bytes(const loss *loss) {
    return line_up((divide(loss).chunks + 1) * record_size(loss) * sizeof(double));
}

static size_t probabilities_bytes(const loss *loss) {
    return (loss->positions + LOSS_LANES) * loss->classes * sizeof(float);
}

size_t loss_workspace(const loss *loss) {
    return records_bytes(loss) + slopes_bytes(loss) + line_up(probabilities_bytes(loss));
}

static float *slopes_in(const loss *loss, void *workspace) {
    return (float *)(void *)((char *)workspace + records_bytes(loss));
}

static float *probabilities_in(const loss *loss, void *workspace) {
    return (float *)(void *)((char *)workspace + records_bytes(loss) + slopes_bytes(loss));
}

static loss_sums record_at(const loss *loss, double *records, size_t index) {
    double *record = records + index * record_size(loss), *rows = has_dice(loss) ? record + 3 : NULL;
    return (loss_sums){record[0],
                       record[1],
                       record[2],
                       rows,
                       rows ? rows + loss->classes : NULL,
                       rows ? rows + 2 * loss->classes : NULL};
}

static void keep_record(const loss *loss, double *records, size_t index, const loss_sums *sums) {
    double *record = records + index * record_size(loss);
    record[0] = sums->cross_entropy;
    record[1] = sums->counted;
    record[2] = sums->highest;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

typedef struct forward_pass {
    const loss *loss;
    division division;
    const float *logits;
    const int16_t *labels;
    double *records;
    float *probabilities;
} forward_pass;

static void forward_chunk(const forward_pass *p, size_t chunk) {
    const loss_kernels *kernels = loss_kernels_chosen();
    const loss *loss = p->loss;
    const size_t length = p->division.chunk, end = smaller(loss->positions, (chunk + 1) * length);
    memset(p->records + (chunk + 1) * record_size(loss), 0, record_size(loss) * sizeof(double));
    loss_sums sums = record_at(loss, p->records, chunk + 1);
    loss_forward_kernel *const forward = loss->kind == LOSS_REGIONS ? kernels->sigmoid : kernels->softmax;
    for (size_t i = chunk * length; i < end; i += LOSS_BLOCK) {
        const size_t at = i * loss->classes;
        forward(smaller(LOSS_BLOCK, end - i), loss->classes, p->logits + at, p->labels + i, p->probabilities + at,
                &sums);
    }
    keep_record(loss, p->records, chunk + 1, &sums);
}

/* The total, in record 0: chunks in their order. */
static void add_chunks(const loss *loss, size_t chunks, double *records) {
    const size_t size = record_size(loss);
    memset(records, 0, size * sizeof *records);
    for (size_t k = 1; k <= chunks; k++)
        for (size_t j = 0; j < size; j++) {
            const double value = records[k * size + j];
            if (j == 2) records[j] = value > records[j] ? value : records[j];
            else records[j] += value;
        }
}

static double dice_of(const loss_sums *sums, size_t c) {
    return (2 * sums->hit[c] + SMOOTH) / (sums->predicted[c] + sums->present[c] + SMOOTH);
}

static double value_of(const loss *loss, const loss_sums *sums) {
    double dice = 0;
    const double each = loss->kind == LOSS_REGIONS ? (double)loss->classes : 1;
    const double cross_entropy = sums->counted > 0 ? sums->cross_entropy / sums->counted / each : 0;
    for (size_t c = first_scored(loss); has_dice(loss) && c < loss->classes; c++)
        dice += dice_of(sums, c) / scored(loss);
    return loss->kind == LOSS_DICE ? -dice : cross_entropy - dice;
}

/* What smoothing adds to the cross entropy: the share times (logit of the label - mean logit), on average. */
static double smoothed(const loss *loss, const float *logits, const int16_t *labels, double counted) {
    double sum = 0;
    for (size_t i = 0; i < loss->positions; i++) {
        const float *row = logits + i * loss->classes;
        double mean = 0;
        if (labels[i] < 0) continue;
        for (size_t c = 0; c < loss->classes; c++) mean += (double)row[c] / (double)loss->classes;
        sum += (double)row[labels[i]] - mean;
    }
    return counted > 0 ? loss->smoothing * sum / counted : 0;
}

static void smooth_gradient(const loss *loss, const int16_t *labels, double slope, float *gradient) {
    const float all = (float)(slope * loss->smoothing / (double)loss->classes), own = (float)(slope * loss->smoothing);
    for (size_t i = 0; i < loss->positions; i++) {
        float *row = gradient + i * loss->classes;
        if (labels[i] < 0) continue;
        for (size_t c = 0; c < loss->classes; c++) row[c] -= all;
        row[labels[i]] += own;
    }
}

status_code loss_forward(const loss *loss, const float *logits, const int16_t *labels, void *workspace, double *value,
                         failure *failure) {
    assert(loss_check(loss, NULL) == STATUS_OK);
    const forward_pass p = {loss, divide(loss), logits, labels, workspace, probabilities_in(loss, workspace)};
    const size_t chunks = p.division.chunks;
#pragma omp parallel for schedule(static) if (loss->positions * loss->classes > SMALL)
    for (size_t k = 0; k < chunks; k++) forward_chunk(&p, k);
    add_chunks(loss, chunks, workspace);
    const loss_sums sums = record_at(loss, workspace, 0);
    if (sums.highest >= label_end(loss))
        return fail(failure, STATUS_BAD_INPUT, "there is a label %.0f, but only %zu %s: correct the labels",
                    sums.highest, loss->classes, loss->kind == LOSS_REGIONS ? "regions" : "classes");
    *value = value_of(loss, &sums);
    if (loss->smoothing > 0) *value += smoothed(loss, logits, labels, sums.counted);
    return STATUS_OK;
}

/* dDice/dp is (2 y - Dice) / (sum(p) + sum(y) + smooth). */
static void dice_slopes(const loss *loss, const loss_sums *sums, double weight, float *at_label, float *always) {
    const double share = weight / scored(loss);
    at_label[0] = always[0] = 0;
    for (size_t c = first_scored(loss); c < loss->classes; c++) {
        const double size = sums->predicted[c] + sums->present[c] + SMOOTH;
        at_label[c] = (float)(-2 * share / size);
        always[c] = (float)(share * dice_of(sums, c) / size);
    }
}

static loss_slopes slopes_of(const loss *loss, void *workspace, double weight) {
    const loss_sums sums = record_at(loss, workspace, 0);
    loss_slopes slopes = {.entropy = 0};
    const double each = loss->kind == LOSS_REGIONS ? (double)loss->classes : 1;
    if (loss->kind != LOSS_DICE && sums.counted > 0) slopes.entropy = (float)(weight / sums.counted / each);
    if (!has_dice(loss)) return slopes;
    float *rows = slopes_in(loss, workspace);
    dice_slopes(loss, &sums, weight, rows, rows + loss->classes);
    slopes.at_label = rows;
    slopes.always = rows + loss->classes;
    return slopes;
}

void loss_backward(const loss *loss, const int16_t *labels, void *workspace, double weight, float *gradient) {
    const loss_kernels *kernels = loss_kernels_chosen();
    loss_gradient *gradient_of = loss->kind == LOSS_REGIONS ? kernels->region_gradient : kernels->gradient;
    const loss_slopes slopes = slopes_of(loss, workspace, weight);
    const float *probabilities = probabilities_in(loss, workspace);
    const size_t positions = loss->positions, classes = loss->classes;
#pragma omp parallel for schedule(static) if (positions * classes > SMALL)
    for (size_t i = 0; i < positions; i += LOSS_BLOCK)
        gradient_of(smaller(LOSS_BLOCK, positions - i), classes, labels + i, probabilities + i * classes, &slopes,
                    gradient + i * classes);
    if (loss->smoothing > 0) smooth_gradient(loss, labels, (double)slopes.entropy, gradient);
}
