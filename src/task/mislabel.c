#include "task/mislabel.h"

#include "core/random.h"
#include "task/purposes.h"

const char *mislabel_kind_name(mislabel_kind kind) {
    return kind == MISLABEL_MISSING ? "missing" : kind == MISLABEL_EXCHANGED ? "exchanged" : "right";
}

/* A choice of floor(fraction x count) of them, all choices as likely, told one by one. */
typedef struct choice {
    random_stream stream;
    int64_t left, wanted;
} choice;

static choice choice_start(int64_t count, double fraction, uint64_t seed) {
    choice c = {.left = count, .wanted = (int64_t)((double)count * fraction + 1e-9)};
    random_start(&c.stream, seed, RANDOM_MISLABEL, 0, 0);
    return c;
}

static int choice_next(choice *c) {
    const int chosen = (int64_t)random_below(&c->stream, (uint64_t)c->left--) < c->wanted;
    c->wanted -= chosen;
    return chosen;
}

static void add_row(const labelled_images *set, int64_t example, int was, text *csv) {
    labelled_images_name_field(set, example, csv);
    text_add(csv, ",");
    labelled_images_class_field(set, was, csv);
    text_add(csv, ",");
    labelled_images_class_field(set, set->labels[example], csv);
    text_add(csv, "\n");
}

status_code mislabel_images(labelled_images *set, double fraction, uint64_t seed, text *csv, failure *failure) {
    if (set->classes < 2)
        return fail(failure, STATUS_BAD_INPUT, "--mislabel: there is only one class, so that no label can be wrong");
    choice c = choice_start(set->count, fraction, seed);
    text_add(csv, "example,label,given\n");
    for (int64_t i = 0; i < set->count; i++) {
        if (!choice_next(&c)) continue;
        const int was = set->labels[i], step = 1 + (int)random_below(&c.stream, (uint64_t)set->classes - 1);
        set->labels[i] = (uint8_t)((was + step) % set->classes);
        add_row(set, i, was, csv);
    }
    return csv->failed ? fail_memory(failure, "the wrong labels") : STATUS_OK;
}

void mislabel_volumes(mislabel_kind *kinds, int64_t count, double fraction, uint64_t seed, int classes) {
    choice c = choice_start(count, fraction, seed);
    for (int64_t i = 0; i < count; i++) {
        kinds[i] = MISLABEL_NOT;
        if (!choice_next(&c)) continue;
        const int exchanged = random_below(&c.stream, 2) == 1 && classes > 2;
        kinds[i] = exchanged ? MISLABEL_EXCHANGED : MISLABEL_MISSING;
    }
}
