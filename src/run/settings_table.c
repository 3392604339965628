/* Every setting: see settings.h. */
#include "run/settings.h"

#include <string.h>

static const char *name_at(const char *const *names, int count, int value) { return value < count ? names[value] : 0; }
static const char *history_at(int value) {
    static const char *const NAMES[] = {"stale", "exact"};
    return name_at(NAMES, 2, value);
}
static const char *colour_at(int value) {
    static const char *const NAMES[] = {"auto", "grey", "rgb"};
    return name_at(NAMES, 3, value);
}
static const char *best_at(int value) {
    static const char *const NAMES[] = {"accuracy", "worst-class", "worst-group", "cvar"};
    return name_at(NAMES, 4, value);
}
static const char *precision_at(int value) {
    static const char *const NAMES[] = {"f32", "bf16"};
    return name_at(NAMES, 2, value);
}
static const char *convolution_at(int value) {
    static const char *const NAMES[] = {"auto", "direct"};
    return name_at(NAMES, 2, value);
}
static const char *optimizer_at(int value) {
    return value <= OPTIMIZER_ADAMW ? optimizer_name((optimizer_kind)value) : 0;
}
static const char *schedule_at(int value) {
    return value <= SCHEDULE_POLY_EPOCH ? schedule_name((schedule_kind)value) : 0;
}

#define AT(member) .offset = offsetof(train_settings, member)
#define OBJECTIVE .group = SETTING_OBJECTIVE
#define TRAINING .group = SETTING_TRAINING
#define IMAGES .only = SETTING_FOR_IMAGES
#define VOLUMES .only = SETTING_FOR_VOLUMES
#define OF(name) .objectives = 1u << OBJECTIVE_##name
#define FLAG .kind = SETTING_FLAG
#define WHOLE(from, to) .kind = SETTING_WHOLE, .low = (from), .high = (to)
#define NUMBER(from, to) .kind = SETTING_NUMBER, .low = (from), .high = (to)
#define TEXT .kind = SETTING_TEXT
#define CHOICE(names) .kind = SETTING_CHOICE, .choice = (names)

/* A row per setting. */
/* clang-format off */
static const setting TABLE[] = {
    {"data", TEXT, .group = SETTING_DATA, AT(data), .is_free = 1, .images = ""},

    {"objective", CHOICE(objective_name), OBJECTIVE, AT(objective), .images = "dro", .value = "O",
     .help = "dro: hardness weighted sampling | erm: shuffled epochs | and to compare with:\n"
             "reweight: all classes or groups equally often | group-dro: the same, weighted by their\n"
             "losses | ohem: candidates come in shuffled epochs, and the hardest are trained on |\n"
             "cvar-batch: the hardest --tail of each batch | jtt: train twice, the second time with\n"
             "the errors of the first drawn more often"},
    {"beta", NUMBER(0, 1e15), OBJECTIVE, OF(DRO), AT(beta), .or_none = 1, .instead_of = "tail", .images = "none",
     .paper = "10", .paper_volumes = "100", .before = "10", .before_volumes = "100", .value = "B",
     .help = "instead of --tail: robustness, in units of 1 / loss; 0 is ordinary training"},
    {"tail", NUMBER(1e-9, 1), OBJECTIVE, OF(DRO) | 1u << OBJECTIVE_CVAR_BATCH | 1u << OBJECTIVE_JTT, AT(tail),
     .or_none = 1, .instead_of = "beta", .images = "0.1", .volumes = "0.5", .paper = "none", .before = "none",
     .value = "A", .help = "train for the hardest fraction A; beta follows from the losses"},
    {"warm_up", NUMBER(0, 1), OBJECTIVE, OF(DRO), AT(warm_up), .images = "0", .volumes = "0.5", .paper = "0",
     .before = "0", .value = "F", .help = "dro: draw as erm would for this fraction of the run, recording losses"},
    {"trim", NUMBER(0, 0.999999), OBJECTIVE, OF(DRO), AT(trim), .images = "0", .value = "E",
     .help = "dro: leave the hardest fraction E out of p (E below --tail). --uniform-mix is then 0.1\n"
             "unless it or --floor is given, so that these are still drawn now and then"},
    {"doubt", FLAG, OBJECTIVE, OF(DRO), AT(doubt), .images = "off",
     .help = "dro: count a loss for less if it stays above those of the same label although its\n"
             "example is drawn, as happens with wrong labels; see hws triage",
     .otherwise = ""},
    {"mislabel", NUMBER(0, 1), OBJECTIVE, AT(mislabel), .images = "0", .value = "F",
     .help = "for study: make this fraction of the training labels wrong (RUN/mislabelled.csv)"},
    {"divergence", .kind = SETTING_DIVERGENCE, OBJECTIVE, OF(DRO), AT(divergence), .images = "kl", .value = "D",
     .help = "kl | chi2 | reverse-kl | hellinger | cressie-read:K | js | cvar:A"},
    {"importance", .kind = SETTING_IMPORTANCE, OBJECTIVE, OF(DRO), .images = "off", .paper = "off",
     .paper_volumes = "0.1,10", .before = "off", .before_volumes = "0.1,10", .value = "[KIND,][MIN,MAX]",
     .help = "dro: weight losses by p_new / p_old, clipped to MIN,MAX; --no-importance: do\n"
             "not. KIND says what normalises p_new. paper: the same sum as p_old | normalised: an\n"
             "estimate of the present sum, which keeps the mean weight near 1 where the effective\n"
             "sample size is well above the batch | exact: the sum with this loss replaced"},
    {"target_ess", NUMBER(0, 1e15), OBJECTIVE, OF(DRO), AT(target_ess), .images = "0", .value = "N",
     .help = "choose beta after each epoch so that the effective sample size is N; 0: do not"},
    {"loss_init", .kind = SETTING_LOSS_INIT, .low = -1e30, .high = 1e30, OBJECTIVE, .images = "none", .paper = "10",
     .paper_volumes = "1", .value = "L",
     .help = "what examples without a loss begin with. none: each is drawn before any is drawn twice |\n"
             "a number: this loss, in draws and in weights, as L_init in the paper | a run or its\n"
             "losses.csv: the loss of the example of that name"},
    {"history", CHOICE(history_at), OBJECTIVE, AT(history), .images = "stale", .value = "H",
     .help = "stale: losses as last seen | exact: all computed again before each draw, which is slow\n"
             "and needs --look-ahead 0"},
    {"history_momentum", NUMBER(0, 0.999999), OBJECTIVE, AT(history_momentum), .images = "0", .value = "M",
     .help = "stale = M stale + (1 - M) new"},
    {"floor", NUMBER(0, 1), OBJECTIVE, OF(DRO), AT(floor), .images = "0", .value = "F",
     .help = "draw from max(p, F / n)"},
    {"uniform_mix", NUMBER(0, 1), OBJECTIVE, OF(DRO), AT(uniform_mix), .images = "0", .value = "U",
     .help = "draw from (1 - U) p + U / n"},
    {"replacement", FLAG, OBJECTIVE, OF(DRO), AT(replacement), .images = "off",
     .help = "allow an example to be in a batch twice", .otherwise = ""},
    {"ohem_factor", WHOLE(1, 1000), OBJECTIVE, OF(OHEM), AT(ohem_factor), .images = "2", .value = "K",
     .help = "ohem: candidates per example that is trained on"},
    {"group_step", NUMBER(0, 1e6), OBJECTIVE, OF(GROUP_DRO), AT(group_step), .images = "0.01", .value = "E",
     .help = "group-dro: a group's weight grows by exp(E loss) in an iteration"},
    {"jtt_epochs", WHOLE(1, 1e9), OBJECTIVE, OF(JTT), AT(jtt_epochs), .images = "1", .volumes = "50", .value = "T",
     .help = "jtt: how many of the epochs the first training takes"},
    {"jtt_weight", WHOLE(1, 10000), OBJECTIVE, OF(JTT), AT(jtt_weight), .images = "20", .volumes = "5", .value = "K",
     .help = "jtt: how often each error is in a pass of the second training"},
    {"keep", IMAGES, .kind = SETTING_KEEP, OBJECTIVE, .value = "CLASS=FRACTION", .otherwise = "",
     .help = "keep only this fraction of a class, or of a group (COLUMN:VALUE=FRACTION), for\n"
             "training; may be given several times"},
    {"label", IMAGES, TEXT, TRAINING, AT(label), .images = "", .value = "COLUMN",
     .help = "CSV files: the column of classes", .otherwise = "label"},
    {"group", TEXT, TRAINING, AT(group), .images = "", .value = "COLUMN",
     .help = "CSV files: the column of groups; volumes: the column of groups.csv for reweight and\n"
             "group-dro",
     .otherwise = "CSV files: group, if there is one"},
    {"size", IMAGES, TEXT, TRAINING, AT(size), .images = "", .value = "S|H,W",
     .help = "pictures: resize the shorter side to S and cut the middle out",
     .otherwise = "their own if all have one size, else 224"},
    {"colour", IMAGES, CHOICE(colour_at), TRAINING, AT(colour), .images = "auto", .value = "C",
     .help = "pictures: grey | rgb | auto: rgb if any is in colour"},
    {"greys", IMAGES, TEXT, TRAINING, AT(greys), .images = "", .value = "LOW,HIGH",
     .help = "pictures of 16 bits: the values that become black and white, such as 0,4095", .otherwise = "0,65535"},
    {"picture_memory", IMAGES, NUMBER(-1, 1e9), TRAINING, AT(picture_memory), .is_free = 1, .images = "-1",
     .value = "MB", .help = "pictures: if they take more, they are decoded anew whenever they are needed",
     .otherwise = "half of what is free"},
    {"validation", IMAGES, NUMBER(0, 0.9), TRAINING, AT(validation), .images = "0", .value = "F",
     .help = "images: choose the best weights by this share of each class, which is not trained on (whole\n"
             "patients where the data name them), so that the test part chooses nothing; 0: by the\n"
             "validation part that the data name, if any"},
    {"best", IMAGES, CHOICE(best_at), TRAINING, AT(best), .images = "accuracy", .value = "M",
     .help = "images: which weights are kept, by the validation part: those with the highest accuracy |\n"
             "worst-class, worst-group: with the highest accuracy of the worst class or group | cvar:\n"
             "with the lowest mean loss of the hardest tenth. No validation part: the last weights"},
    {"best_by_test", IMAGES, FLAG, TRAINING, AT(best_by_test), .images = "off", .before = "on", .otherwise = "",
     .help = "images: without a validation part choose by the test part, whose accuracy is then too\n"
             "good"},
    {"flip", IMAGES, FLAG, TRAINING, AT(flip), .images = "off", .otherwise = "",
     .help = "pictures: exchange left and right half of the time"},
    {"crop", IMAGES, WHOLE(0, 4096), TRAINING, AT(crop), .images = "0", .value = "P",
     .help = "pictures: move them by up to P pixels each way; edges continue"},
    {"resized_crop", IMAGES, NUMBER(0, 1), TRAINING, AT(resized_crop), .images = "0", .value = "A",
     .help = "pictures: a random part of at least the share A of the area fills the picture"},
    {"rotate", IMAGES, NUMBER(0, 180), TRAINING, AT(rotate), .images = "0", .value = "D",
     .help = "pictures: turn them by up to D degrees each way"},
    {"jitter", IMAGES, NUMBER(0, 1), TRAINING, AT(jitter), .images = "0", .value = "J",
     .help = "pictures: brightness, contrast and saturation times 1 - J to 1 + J"},
    {"erase", IMAGES, NUMBER(0, 1), TRAINING, AT(erase), .images = "0", .value = "P",
     .help = "pictures: in this share of them, erase a random box"},

    {"model", TEXT, TRAINING, AT(model), .images = "wrn-16-1", .volumes = "unet", .value = "M",
     .help = "images: wrn-D-k | resnet-18, -34, -50 | mlp-L-m; tables: mlp-L-m, mlp-2-64 if it is not\n"
             "given; volumes: unet | resenc-m | resenc-l (nnU-Net's residual encoders), or for slices\n"
             "unet-2d | resenc-m-2d | resenc-l-2d"},
    {"from", TEXT, TRAINING, AT(from), .images = "", .value = "RUN|FILE", .otherwise = "",
     .help = "begin with the best weights of a run, or those of a .safetensors file with PyTorch's\n"
             "names, instead of random ones"},
    {"dropout", IMAGES, NUMBER(0, 0.99), TRAINING, AT(dropout), .images = "0", .value = "F",
     .help = "images: in training, leave each value before the last layer (mlp: behind each hidden\n"
             "layer) out with this probability"},
    {"label_smoothing", IMAGES, NUMBER(0, 0.99), TRAINING, AT(label_smoothing), .images = "0", .value = "F",
     .help = "images: spread this share of each label over all classes alike; losses are those of\n"
             "the smoothed labels"},
    {"optimizer", CHOICE(optimizer_at), TRAINING, AT(optimizer), .images = "sgd", .volumes = "nesterov", .value = "O",
     .help = "sgd | momentum | nesterov | adam | adamw"},
    {"lr", NUMBER(0, 1e6), TRAINING, AT(lr), .images = "0.01", .value = "R", .help = "learning rate"},
    {"momentum", NUMBER(0, 0.999999), TRAINING, AT(momentum), .images = "0.9", .volumes = "0.99", .value = "M",
     .help = "--optimizer momentum and nesterov only"},
    {"weight_decay", NUMBER(0, 1e6), TRAINING, AT(weight_decay), .images = "0", .volumes = "3e-5", .value = "W",
     .help = "L2 penalty; adamw: decoupled"},
    {"clip_norm", NUMBER(0, 1e15), TRAINING, AT(clip_norm), .images = "0", .volumes = "12", .value = "C",
     .help = "scale the gradient down to this norm where it is longer; 0: never"},
    {"schedule", CHOICE(schedule_at), TRAINING, AT(schedule), .images = "constant", .volumes = "poly", .value = "S",
     .help = "constant | poly, cosine: falls to zero at the end | poly-epoch: poly in steps, once per\n"
             "epoch, as nnU-Net and the paper"},
    {"lr_warm_up", WHOLE(0, 1e12), TRAINING, AT(lr_warm_up), .images = "0", .value = "T",
     .help = "iterations in which the learning rate rises to its value first"},
    {"epochs", WHOLE(1, 1e9), TRAINING, AT(epochs), .images = "6", .volumes = "1000", .value = "E",
     .help = "how long to train"},
    {"epoch_length", WHOLE(0, 1e9), TRAINING, AT(epoch_length), .images = "0", .volumes = "250", .value = "N",
     .help = "iterations per epoch; 0: floor(examples / batch)"},
    {"iterations", WHOLE(0, 1e12), TRAINING, AT(iterations), .images = "0", .value = "T",
     .help = "how many iterations to train, instead of --epochs", .otherwise = ""},
    {"budget", TEXT, TRAINING, AT(budget), .images = "", .value = "TIME", .otherwise = "",
     .help = "instead of --epochs and --iterations: the time for all of it, such as 60m, validations\n"
             "and pictures included. A few steps are measured. From them follow the iterations, the\n"
             "validations and, unless you give them (or a --config written by hand does), optimizer,\n"
             "lr, schedule and batch; config.json keeps them. If the machine becomes slower,\n"
             "iterations are cut and the rate follows, so that the run still ends in time"},
    {"budget_costs", TEXT, .group = SETTING_DATA, AT(budget_costs), .is_free = 1, .images = ""},
    {"budget_lengths", TEXT, .group = SETTING_DATA, AT(budget_lengths), .is_free = 1, .images = ""},
    {"batch", WHOLE(0, 1 << 20), TRAINING, AT(batch), .images = "64", .volumes = "0", .value = "B",
     .help = "examples per iteration; 0: the plan's"},
    {"fold", VOLUMES, WHOLE(-1, 1000), TRAINING, AT(fold), .or_all = 1, .images = "0", .value = "F",
     .help = "volumes: which fold (of five, 0 to 4); all, or -1: train and validate on all cases"},
    {"independent_draws", FLAG, TRAINING, AT(independent_draws), .images = "off",
     .help = "erm: draw every example of a batch independently and uniformly, as nnU-Net does, instead\n"
             "of in shuffled epochs",
     .otherwise = ""},
    {"validation_patches", VOLUMES, WHOLE(0, 1e9), TRAINING, AT(validation_patches), .images = "100", .before = "0",
     .value = "N", .help = "volumes: validate on patches of at most N cases at the end of an epoch; 0: of all"},
    {"stratify", VOLUMES, TEXT, TRAINING, AT(stratify), .images = "", .value = "COLUMN", .otherwise = "",
     .help = "volumes: make folds with equal shares of each group in this column of groups.csv,\n"
             "whatever splits_final.json says"},
    {"keep_together", VOLUMES, TEXT, TRAINING, AT(keep_together), .images = "", .value = "COLUMN", .otherwise = "",
     .help = "volumes: make folds in which cases with the same value in this column of groups.csv,\n"
             "such as a patient's, stay together, whatever splits_final.json says"},
    {"split_volumes", VOLUMES, TEXT, TRAINING, AT(split_volumes), .images = "", .value = "D,H,W", .otherwise = "",
     .help = "volumes: divide them into subvolumes of about this size, each with a loss of its own"},
    {"cache", VOLUMES, TEXT, TRAINING, AT(cache), .is_free = 1, .images = "", .value = "CACHE",
     .help = "volumes: the folder of the plan and the preprocessed cases", .otherwise = "DATASET_FOLDER/hws_cache"},
    {"look_ahead", WHOLE(0, 1000), TRAINING, AT(look_ahead), .images = "1", .value = "K",
     .help = "draw each batch K iterations ahead, so that threads can prepare it; 0 is exactly\n"
             "Algorithm 1"},
    {"stop_grad_norm", NUMBER(-1, 1e15), TRAINING, AT(stop_grad_norm), .images = "-1", .value = "E", .otherwise = "",
     .help = "after each epoch, measure the norm of the gradient of the robust loss over the whole\n"
             "training set, and stop when it is below E; 0 only measures"},
    {"precision", CHOICE(precision_at), TRAINING, AT(precision), .images = "f32", .value = "P", .help = "f32 | bf16"},
    {"conv", CHOICE(convolution_at), TRAINING, AT(conv), .images = "auto", .value = "A",
     .help = "auto: Winograd where it is faster, and products of bf16 where the processor has them |\n"
             "direct: neither"},
    {"seed", WHOLE(0, 9007199254740991.0), TRAINING, AT(seed), .images = "0", .value = "S",
     .help = "decides everything random"},
    {"threads", WHOLE(0, 4096), TRAINING, AT(threads), .is_free = 1, .images = "0", .value = "T",
     .help = "the result is the same to the bit for any number", .otherwise = "all"},
    {"loaders", WHOLE(0, 256), TRAINING, AT(loaders), .is_free = 1, .images = "1", .value = "L",
     .help = "threads that prepare batches; the result is the same for any number"},

    {"checkpoint_every", WHOLE(0, 1e12), .group = SETTING_RUN, AT(checkpoint_every), .is_free = 1, .images = "0",
     .value = "N", .help = "write a checkpoint after every N iterations, too", .otherwise = "each epoch"},

    {"tensorboard", FLAG, .group = SETTING_RUN, AT(tensorboard), .is_free = 1, .images = "off",
     .help = "write RUN/tensorboard, which TensorBoard shows: all columns of history.csv, losses,\n"
             "pictures",
     .otherwise = ""},
};
/* clang-format on */

size_t settings_count(void) { return sizeof TABLE / sizeof *TABLE; }
const setting *settings_at(size_t index) { return &TABLE[index]; }

const setting *settings_find(const char *key) {
    for (size_t k = 0; k < settings_count(); k++)
        if (strcmp(TABLE[k].key, key) == 0) return &TABLE[k];
    return 0;
}
