/* Trainers of tiny runs, whose files are fuzzed. */
#ifndef HWS_TESTS_FUZZ_TRAINER_H
#define HWS_TESTS_FUZZ_TRAINER_H

#include "fuzz_folder.h"
#include "points.h"

enum { TRAINER_KINDS = 4 };

/* Runs of different objectives, optimisers and histories, whose checkpoints hold different things. */
static inline train_settings trainer_settings(int kind) {
    static const objective_kind OBJECTIVES[] = {OBJECTIVE_DRO, OBJECTIVE_GROUP_DRO, OBJECTIVE_JTT, OBJECTIVE_ERM};
    static const optimizer_kind OPTIMIZERS[] = {OPTIMIZER_SGD, OPTIMIZER_NESTEROV, OPTIMIZER_MOMENTUM, OPTIMIZER_ADAM};
    train_settings s = points_settings();
    s.objective = OBJECTIVES[kind];
    s.optimizer = OPTIMIZERS[kind];
    s.history = kind == 0 ? HISTORY_EXACT : HISTORY_STALE;
    s.look_ahead = kind == 0 || kind == 3 ? 0 : 2; /* an exact history has none */
    s.loaders = 0;
    s.jtt_epochs = 1;
    s.iterations = 24;
    s.epoch_length = 4;
    return s;
}

static inline trainer *trainer_of(const train_settings *settings, const task *task, const char *folder) {
    trainer *t = NULL;
    failure failure = {0};
    const status_code status = trainer_open(&t, settings, task, folder, &failure);
    if (status != STATUS_OK) fprintf(stderr, "%s\n", failure.message);
    require(status == STATUS_OK);
    return t;
}

#endif
