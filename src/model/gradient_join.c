#include "model/gradient_join.h"

#include "core/memory.h"
#include "nn/optimizer.h"

#include <stdlib.h>
#include <string.h>

/* Buckets are whole chunks of gradient_norm: several for each rank, of at most so many chunks. */
enum { BUCKETS_OF_A_RANK = 4, LARGEST_BUCKET = 64 };

struct gradient_join {
    const ranks *ranks;
    size_t floats, chunk, bucket; /* chunk: of the norm; both in floats */
    int buckets, parts, first, end;
    int *starts;       /* [ranks + 1] */
    float *own;        /* [own part][floats] */
    float *received;   /* [other part][own floats] */
    size_t own_floats; /* of own buckets */
    int *sent;         /* per own part: the buckets from this one on have been sent */
    int receiving;
    int clean; /* the own parts are zeros */
};

static int owner_of(const gradient_join *j, int bucket) { return bucket % j->ranks->count; }
static size_t bucket_first(const gradient_join *j, int bucket) { return (size_t)bucket * j->bucket; }
static size_t bucket_floats(const gradient_join *j, int bucket) {
    const size_t rest = j->floats - bucket_first(j, bucket);
    return rest < j->bucket ? rest : j->bucket;
}

static void cut(gradient_join *j) {
    j->chunk = gradient_norm_chunk(j->floats);
    const size_t chunks = (j->floats + j->chunk - 1) / j->chunk, wanted = (size_t)(BUCKETS_OF_A_RANK * j->ranks->count);
    size_t each = (chunks + wanted - 1) / wanted;
    if (each > LARGEST_BUCKET) each = LARGEST_BUCKET;
    j->bucket = each * j->chunk;
    j->buckets = (int)((j->floats + j->bucket - 1) / j->bucket);
    for (int b = j->ranks->rank; b < j->buckets; b += j->ranks->count) j->own_floats += bucket_floats(j, b);
}

status_code gradient_join_open(gradient_join **opened, const ranks *r, size_t floats, const int *starts,
                               failure *failure) {
    gradient_join *j = *opened = calloc(1, sizeof *j);
    if (!j) return fail_memory(failure, "the gradients of several ranks");
    *j = (gradient_join){
        .ranks = r, .floats = floats, .parts = starts[r->count], .first = starts[r->rank], .end = starts[r->rank + 1]};
    cut(j);
    const size_t mine = (size_t)(j->end - j->first), others = (size_t)j->parts - mine;
    j->starts = malloc((size_t)(r->count + 1) * sizeof *j->starts);
    j->own = memory_open((mine * floats + 64) * sizeof *j->own);
    j->received = memory_open((others * j->own_floats + 64) * sizeof *j->received);
    j->sent = calloc(mine + 1, sizeof *j->sent);
    if (!j->starts || !j->own || !j->received || !j->sent) {
        gradient_join_close(opened);
        return fail_memory(failure, "the gradients of several ranks");
    }
    memcpy(j->starts, starts, (size_t)(r->count + 1) * sizeof *starts);
    return STATUS_OK;
}

void gradient_join_close(gradient_join **opened) {
    if (!opened || !*opened) return;
    gradient_join *j = *opened;
    free(j->starts);
    memory_close(j->own);
    memory_close(j->received);
    free(j->sent);
    free(j);
    *opened = 0;
}

static float *own_part(const gradient_join *j, int k) { return j->own + (size_t)k * j->floats; }

float *gradient_join_part(gradient_join *j, int k) {
    j->clean = 0;
    return own_part(j, k);
}

static float *received_part(const gradient_join *j, int part) {
    return j->received + (size_t)(part < j->first ? part : part - (j->end - j->first)) * j->own_floats;
}

static ranks_message message_of(const gradient_join *j, int other, int part, int bucket, float *floats) {
    return (ranks_message){other, part * j->buckets + bucket, floats, bucket_floats(j, bucket) * sizeof *floats};
}

/* The last buckets are complete first. */
static void receive_all(gradient_join *j) {
    for (int other = 0; other < j->ranks->count; other++)
        for (int part = j->starts[other]; part < j->starts[other + 1] && other != j->ranks->rank; part++) {
            float *to = received_part(j, part);
            for (int b = j->ranks->rank; b < j->buckets; b += j->ranks->count) {
                ranks_receive(j->ranks, message_of(j, other, part, b, to));
                to += bucket_floats(j, b);
            }
        }
    j->receiving = 1;
}

void gradient_join_begin(gradient_join *j) {
    if (!j->clean) memset(j->own, 0, (size_t)(j->end - j->first) * j->floats * sizeof *j->own);
    j->clean = 1;
    for (int k = 0; k < j->end - j->first; k++) j->sent[k] = j->buckets;
    j->receiving = 0;
}

void gradient_join_ready(gradient_join *j, int first, int count, size_t offset) {
    if (!j->receiving) receive_all(j);
    for (int k = first; k < first + count; k++)
        while (j->sent[k] > 0 && bucket_first(j, j->sent[k] - 1) >= offset) {
            const int bucket = --j->sent[k], owner = owner_of(j, bucket);
            if (owner == j->ranks->rank) continue;
            ranks_send(j->ranks, message_of(j, owner, j->first + k, bucket, own_part(j, k) + bucket_first(j, bucket)));
        }
    ranks_advance(j->ranks);
}

/* Adds all parts of the floats [first, end) of an own bucket, in order; those that were received begin `before` floats
   behind the own ones. Few at a time, which stay in the caches until the last part is there. */
static void add_parts(const gradient_join *j, size_t first, size_t end, size_t before, float *restrict gradients) {
    enum { FEW = 4096 };
#pragma omp parallel for schedule(static) if (end - first > 4 * FEW)
    for (size_t some = first; some < end; some += FEW)
        for (int part = 0; part < j->parts; part++) {
            const int is_own = part >= j->first && part < j->end;
            const float *from = is_own ? own_part(j, part - j->first) + first : received_part(j, part) + before;
            for (size_t i = some; i < some + FEW && i < end; i++) gradients[i] += from[i - first];
        }
}

void gradient_join_finish(gradient_join *j, float *gradients) {
    size_t first = 0, end = 0, before = 0;
    gradient_join_ready(j, 0, j->end - j->first, 0);
    ranks_wait(j->ranks);
    while (gradient_join_next(j, &first, &end)) {
        add_parts(j, first, end, before, gradients);
        before += end - first;
    }
}

int gradient_join_next(const gradient_join *j, size_t *first, size_t *end) {
    const int bucket = *end ? (int)(*first / j->bucket) + j->ranks->count : j->ranks->rank;
    if (bucket >= j->buckets) return 0;
    *first = bucket_first(j, bucket);
    *end = *first + bucket_floats(j, bucket);
    return 1;
}

void gradient_join_spread(gradient_join *j, float *values) {
    for (int b = 0; b < j->buckets; b++)
        for (int other = 0; other < j->ranks->count; other++) {
            const ranks_message message = message_of(j, other, j->parts, b, values + bucket_first(j, b));
            if (other == j->ranks->rank) continue;
            if (owner_of(j, b) == j->ranks->rank) ranks_send(j->ranks, message);
            else if (owner_of(j, b) == other) ranks_receive(j->ranks, message);
        }
    ranks_wait(j->ranks);
}

/* Bucket by bucket, as the ranks own them; then in the order of the chunks. */
double gradient_join_norm(gradient_join *j, const float *gradients) {
    double partial[GRADIENT_NORM_CHUNKS] = {0}, gathered[GRADIENT_NORM_CHUNKS];
    size_t sizes[RANKS_MAX] = {0}, first = 0, end = 0, at = 0;
    const size_t each = j->bucket / j->chunk, chunks = (j->floats + j->chunk - 1) / j->chunk;
    for (int rank = 0; rank < j->ranks->count; rank++)
        for (int b = rank; b < j->buckets; b += j->ranks->count)
            sizes[rank] += (bucket_floats(j, b) + j->chunk - 1) / j->chunk * sizeof(double);
    for (int rank = 0; rank < j->ranks->rank; rank++) at += sizes[rank] / sizeof(double);
    while (gradient_join_next(j, &first, &end)) {
        gradient_norm_partials(j->floats, gradients, first / j->chunk, (end + j->chunk - 1) / j->chunk, partial);
        for (size_t k = first / j->chunk; k * j->chunk < end; k++) gathered[at++] = partial[k];
    }
    ranks_gather(j->ranks, gathered, sizes);
    at = 0;
    for (int rank = 0; rank < j->ranks->count; rank++)
        for (int b = rank; b < j->buckets; b += j->ranks->count)
            for (size_t k = (size_t)b * each; k < (size_t)(b + 1) * each && k < chunks; k++)
                partial[k] = gathered[at++];
    return gradient_norm_join(chunks, partial);
}
