/*
 * Messages that are longer than MPI may count: with a limit of a few bytes instead of gigabytes. Started by mpirun, as
 * any number of ranks. Ends with 1 if a byte is not as it should be.
 */
#define RANKS_MPI_LONGEST 7
#include "../../src/ranks/ranks_mpi.c"

#include <stdio.h>
#include <string.h>

enum { MOST = 100, RANKS = 8 };

static unsigned char byte_of(int rank, size_t k) { return (unsigned char)(rank * 61 + (int)k * 7 + 1); }

/* Rank k has `sizes[k]` bytes; messages go on meanwhile, as they do in training. */
static int gathers(const ranks *r, const size_t *sizes) {
    unsigned char bytes[RANKS * MOST] = {0};
    size_t at = 0, wrong = 0;
    for (int k = 0; k < r->count; at += sizes[k++])
        for (size_t b = 0; b < sizes[k] && k == r->rank; b++) bytes[at + b] = byte_of(k, b);
    ranks_begin_gather(r, bytes, sizes);
    ranks_advance(r);
    ranks_end_gather(r);
    at = 0;
    for (int k = 0; k < r->count; at += sizes[k++])
        for (size_t b = 0; b < sizes[k]; b++) wrong += bytes[at + b] != byte_of(k, b);
    return wrong == 0;
}

/* Two messages to the next rank, of which the one that was sent last is received first. */
static int passes_on(const ranks *r, size_t size) {
    const int next = (r->rank + 1) % r->count, before = (r->rank + r->count - 1) % r->count;
    unsigned char sent[2][MOST], got[2][MOST] = {{0}};
    size_t wrong = 0;
    for (int m = 0; m < 2; m++)
        for (size_t b = 0; b < size; b++) sent[m][b] = byte_of(r->rank + 10 * m, b);
    for (int m = 1; m >= 0; m--) ranks_receive(r, (ranks_message){before, m, got[m], size});
    for (int m = 0; m < 2; m++) ranks_send(r, (ranks_message){next, m, sent[m], size});
    ranks_wait(r);
    for (int m = 0; m < 2; m++)
        for (size_t b = 0; b < size; b++) wrong += got[m][b] != byte_of(before + 10 * m, b);
    return wrong == 0;
}

static void say_nothing(void) {}

int main(void) {
    failure why = {0};
    int good = ranks_mpi_start(&why) == STATUS_OK;
    const ranks *r = ranks_here();
    good = good && r->count > 1 && r->count <= RANKS;
    for (size_t size = 0; size <= 30 && good; size++) {
        size_t sizes[RANKS] = {0};
        for (int k = 0; k < r->count; k++) sizes[k] = (size + (size_t)k * 5) % 30;
        good = gathers(r, sizes) && passes_on(r, size);
        if (!good) printf("rank %d: %zu bytes have not arrived as they were sent\n", r->rank, size);
    }
    ranks_mpi_end(!good, say_nothing);
    return !good;
}
