#include "model/image_classifier.h"

#include "core/parallel.h"

#include <math.h>

status_code image_classifier_network(const labelled_images *like, const char *model, int batch,
                                     learner_options *options, failure *failure) {
    const status_code status = model_parse(model, &options->model, failure);
    if (status != STATUS_OK) return status;
    if (options->model.kind == MODEL_UNET)
        return fail(failure, STATUS_BAD_INPUT,
                    "a U-Net does not classify images: choose one such as wrn-16-1, resnet-18 or mlp-2-64");
    options->model.input = options->model.kind == MODEL_MLP
                               ? (shape){batch, {1, 1, 1}, (int)labelled_images_stride(like)}
                               : (shape){batch, {1, like->height, like->width}, like->channels};
    options->model.classes = like->classes;
    options->loss = LOSS_CROSS_ENTROPY;
    options->graph.recompute |= options->model.kind == MODEL_RESNET; /* whose activations are large */
    return STATUS_OK;
}

static void softmax(const float *logits, int classes, float *probabilities) {
    double largest = (double)logits[0], sum = 0;
    for (int k = 1; k < classes; k++) largest = fmax(largest, (double)logits[k]);
    for (int k = 0; k < classes; k++) sum += exp((double)logits[k] - largest);
    for (int k = 0; k < classes; k++) probabilities[k] = (float)(exp((double)logits[k] - largest) / sum);
}

typedef struct loading {
    learner *learner;
    const pixel_scale *scale;
    const labelled_images *set;
    int64_t first;
} loading;

static status_code load_one(void *context, size_t k, failure *failure) {
    const loading *l = context;
    float *input = learner_input(l->learner) + k * labelled_images_stride(l->set);
    return pixel_scale_example(l->scale, l->set, l->first + (int64_t)k, input, failure);
}

/* Images and labels (0 where they are not known), from the image `first` on. */
static status_code load(learner *l, const pixel_scale *scale, const labelled_images *set, int64_t first, int count,
                        failure *failure) {
    loading job = {l, scale, set, first};
    status_code status = STATUS_OK;
    for (int k = 0; k < count; k++) learner_labels(l)[k] = set->labels ? set->labels[first + k] : 0;
    if (labelled_images_is_lazy(set))
        return parallel_run(&(parallel_work){.run = load_one, .context = &job}, (size_t)count,
                            learner_settings(l)->graph.threads, failure);
    for (int k = 0; k < count && status == STATUS_OK; k++) status = load_one(&job, (size_t)k, failure);
    return status;
}

static status_code evaluate_some(learner *l, const pixel_scale *scale, const labelled_images *set,
                                 const image_scores *scores, failure *failure) {
    const ranks *r = learner_ranks(l);
    const int64_t first = ranks_start(r, set->count, r->rank), end = ranks_start(r, set->count, r->rank + 1);
    const int most = learner_micro_batch(l), classes = graph_output_shape(learner_graph(l), 0).channels;
    for (int64_t done = first; done < end; done += most) {
        const int count = (int)(end - done < most ? end - done : most);
        if (listener_stops(scores->listener)) return fail(failure, STATUS_STOPPED, "stopped while it was evaluated");
        status_code status = load(l, scale, set, done, count, failure);
        if (status == STATUS_OK)
            status = learner_evaluate(l, count, scores->losses ? scores->losses + done : 0, failure);
        if (status != STATUS_OK) return status;
        const float *logits = graph_output_values(learner_graph(l), 0);
        for (int k = 0; k < count && scores->probabilities; k++)
            softmax(logits + (size_t)k * (size_t)classes, classes,
                    scores->probabilities + ((size_t)done + (size_t)k) * (size_t)classes);
    }
    return STATUS_OK;
}

static void gather(const ranks *r, int64_t count, void *values, size_t size) {
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < r->count; k++)
        sizes[k] = (size_t)(ranks_start(r, count, k + 1) - ranks_start(r, count, k)) * size;
    if (values) ranks_gather(r, values, sizes);
}

status_code image_classifier_evaluate(learner *l, const pixel_scale *scale, const labelled_images *set,
                                      const image_scores *scores, failure *failure) {
    const ranks *r = learner_ranks(l);
    const size_t classes = (size_t)graph_output_shape(learner_graph(l), 0).channels;
    const status_code status = ranks_agree(r, evaluate_some(l, scale, set, scores, failure), failure);
    if (status != STATUS_OK) return status;
    gather(r, set->count, scores->losses, sizeof *scores->losses);
    gather(r, set->count, scores->probabilities, classes * sizeof *scores->probabilities);
    return STATUS_OK;
}
