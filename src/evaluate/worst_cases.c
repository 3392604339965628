#define _POSIX_C_SOURCE 200809L
#include "evaluate/worst_cases.h"

#include "core/csv.h"
#include "evaluate/case_sheet.h"
#include "run/run_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which ---- */

static double dice_of(const scores *scores, size_t which, size_t region) {
    return scores_at(scores, which, region)[METRIC_DICE];
}

double case_mean_dice(const scores *scores, size_t which) {
    double sum = 0;
    size_t count = 0;
    for (size_t region = 0; region < scores->regions.count; region++) {
        const double dice = dice_of(scores, which, region);
        if (isnan(dice)) continue;
        sum += dice;
        count++;
    }
    return count ? sum / (double)count : (double)NAN;
}

size_t worst_cases(const scores *scores, size_t capacity, size_t *positions) {
    size_t count = 0;
    for (size_t which = 0; which < scores->cases; which++) {
        const double dice = case_mean_dice(scores, which);
        size_t place = count;
        if (isnan(dice)) continue;
        while (place > 0 && case_mean_dice(scores, positions[place - 1]) > dice) place--;
        if (place == capacity) continue;
        if (count < capacity) count++;
        memmove(positions + place + 1, positions + place, (count - 1 - place) * sizeof *positions);
        positions[place] = which;
    }
    return count;
}

static size_t worst_region(const scores *scores, size_t which) {
    size_t worst = 0;
    for (size_t region = 1; region < scores->regions.count; region++) {
        const double dice = dice_of(scores, which, region), lowest = dice_of(scores, which, worst);
        if (dice < lowest || isnan(lowest)) worst = region;
    }
    return worst;
}

/* ---- pictures ---- */

/* `folder` may be NULL. */
static int find_image(const char *folder, const char *name, char path[PATH_SIZE]) {
    static const char *const ENDINGS[] = {"_0000.nii.gz", "_0000.nii", ".nii.gz", ".nii"};
    for (size_t k = 0; folder && k < sizeof ENDINGS / sizeof *ENDINGS; k++)
        if (path_format(path, NULL, "%s/%s%s", folder, name, ENDINGS[k]) == STATUS_OK && path_exists(path)) return 1;
    return 0;
}

static status_code read_case(case_volume *shown, const scored_case *one, int ignored, const char *images,
                             failure *failure) {
    char found[PATH_SIZE];
    if (!one->image && !find_image(images, one->name, found))
        return fail(failure, STATUS_CANNOT_READ, "there is no image of %.200s in %.300s", one->name,
                    images ? images : "the dataset");
    const case_files files = {.image = one->image ? one->image : found,
                              .reference = one->reference,
                              .predictions = {one->prediction},
                              .methods = 1,
                              .ignored = ignored};
    return case_volume_open(shown, &files, failure);
}

static status_code draw(const scores *scores, size_t which, const case_volume *shown, const char *path,
                        failure *failure) {
    const size_t count = scores->regions.count;
    double *dice = malloc(count * sizeof *dice);
    if (!dice) return fail_memory(failure, "a picture");
    for (size_t k = 0; k < count; k++) dice[k] = dice_of(scores, which, k);
    const case_sheet sheet = {shown, scores->list[which].name, &scores->regions, dice};
    const status_code status = case_sheet_save(&sheet, path, failure);
    free(dice);
    return status;
}

typedef struct gallery {
    const scores *scores;
    const char *images, *folder;
    text *notes;
    size_t drawn[WORST_LISTED], count; /* the cases that have a new picture */
} gallery;

/* A picture that cannot be made is told; one that cannot be written is a failure, and so is memory that runs out. */
static status_code show(gallery *g, size_t which, failure *failure) {
    const scored_case *one = &g->scores->list[which];
    case_volume shown = {0};
    char path[PATH_SIZE];
    struct failure why = {0};
    status_code status = read_case(&shown, one, g->scores->ignored, g->images, &why);
    if (status == STATUS_OUT_OF_MEMORY) status = fail_memory(failure, "a picture");
    else if (status != STATUS_OK) {
        text_format(g->notes, "%sno picture: %s", g->notes->size ? "; " : "", why.message);
        status = STATUS_OK;
    } else {
        status = run_picture_path(path, g->folder, RUN_WORST_PICTURES, one->name, failure);
        if (status == STATUS_OK) status = draw(g->scores, which, &shown, path, failure);
        g->drawn[g->count++] = which;
    }
    case_volume_close(&shown);
    return status;
}

/* ---- files ---- */

static status_code write_list(const scores *scores, const size_t *worst, size_t count, const char *folder,
                              failure *failure) {
    text csv = {0};
    text_add(&csv, "rank,example,dice,label,label_dice\n");
    for (size_t k = 0; k < count; k++) {
        const size_t region = worst_region(scores, worst[k]);
        text_format(&csv, "%zu,", k + 1);
        csv_add_field(&csv, scores->list[worst[k]].name);
        text_format(&csv, ",%.9g,", case_mean_dice(scores, worst[k]));
        csv_add_field(&csv, scores->regions.regions[region].name);
        text_format(&csv, ",%.9g\n", dice_of(scores, worst[k], region));
    }
    const status_code status = run_write(folder, RUN_WORST, &csv, failure);
    text_close(&csv);
    return status;
}

static int is_drawn(const gallery *g, size_t which) {
    for (size_t k = 0; k < g->count; k++)
        if (g->drawn[k] == which) return 1;
    return 0;
}

/* Pictures of an earlier evaluation. Other files in the folder may be the user's. */
static void remove_others(const gallery *g) {
    char path[PATH_SIZE];
    for (size_t k = 0; k < g->scores->cases; k++)
        if (!is_drawn(g, k) &&
            run_picture_path(path, g->folder, RUN_WORST_PICTURES, g->scores->list[k].name, NULL) == STATUS_OK)
            unlink(path);
}

static int has_images(const scores *scores) {
    for (size_t k = 0; k < scores->cases; k++)
        if (scores->list[k].image) return 1;
    return 0;
}

status_code worst_write(const scores *scores, const char *images, const char *folder, text *notes, failure *failure) {
    size_t worst[WORST_LISTED];
    char pictures[PATH_SIZE];
    gallery g = {.scores = scores, .images = images, .folder = folder, .notes = notes};
    const size_t count = worst_cases(scores, WORST_LISTED, worst);
    const int draws = images || has_images(scores);
    status_code status = run_path(pictures, folder, RUN_WORST_PICTURES, failure);
    if (status == STATUS_OK && draws) status = folder_make(pictures, failure);
    for (size_t k = 0; k < count && draws && status == STATUS_OK; k++) status = show(&g, worst[k], failure);
    if (status == STATUS_OK) status = write_list(scores, worst, count, folder, failure);
    if (status == STATUS_OK) remove_others(&g);
    return status;
}
