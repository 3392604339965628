#define _GNU_SOURCE /* sched_getaffinity */
#include "ranks/ranks_mpi.h"

#include "core/clock.h"

#include <stdlib.h>
#include <time.h>

#ifdef HWS_HAVE_MPI
#include <mpi.h>
#include <sched.h>
#endif

static int number_in(const char *variable) {
    const char *value = getenv(variable);
    return value ? atoi(value) : 0;
}

/* How many processes a launcher has started with this one, by what it left in the environment; 1 if none has. */
static int launched(void) {
    static const char *const SIZES[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"};
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++)
        if (number_in(SIZES[k]) > 0) return number_in(SIZES[k]);
    /* srun --mpi=pmix says how many there are in a variable of its own. */
    const int tasks = number_in("SLURM_STEP_NUM_TASKS");
    return tasks > 1 && (getenv("PMIX_RANK") || getenv("PMI_RANK")) ? tasks : 1;
}

#ifndef HWS_HAVE_MPI

status_code ranks_mpi_start(failure *failure) {
    if (launched() == 1) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%d processes were started together, but this hws was built without MPI: build it with make MPI=1",
                launched());
}

void ranks_mpi_end(int exit_code, void (*alone)(void)) { (void)exit_code, (void)alone; }

#else

enum { SECONDS_FOR_OTHERS = 5 };

/* Bytes of one message of MPI's, which counts them in an int: what is longer travels in pieces. Tests take fewer. */
#ifndef RANKS_MPI_LONGEST
#define RANKS_MPI_LONGEST (1 << 30)
#endif
static const size_t LONGEST = RANKS_MPI_LONGEST;

static int piece_at(size_t at, size_t size) { return (int)(size - at < LONGEST ? size - at : LONGEST); }

/* Messages under way. */
typedef struct under_way {
    MPI_Request *requests;
    int count, capacity;
} under_way;

/* MPI has no error to return to us: its handler ends all processes. Nor may memory run out here. */
static MPI_Request *next_request(under_way *u) {
    if (u->count == u->capacity) {
        u->capacity = u->capacity ? 2 * u->capacity : 64;
        MPI_Request *grown = realloc(u->requests, (size_t)u->capacity * sizeof *grown);
        if (!grown) MPI_Abort(MPI_COMM_WORLD, 1);
        u->requests = grown;
    }
    return &u->requests[u->count++];
}

static MPI_Request gathering;

/* One rank's bytes after the other's; all is over when it returns. */
static void gather_in_pieces(const ranks *r, char *bytes, const size_t *sizes) {
    for (int k = 0; k < r->count; bytes += sizes[k++])
        for (size_t at = 0; at < sizes[k]; at += LONGEST)
            MPI_Bcast(bytes + at, piece_at(at, sizes[k]), MPI_BYTE, k, MPI_COMM_WORLD);
    gathering = MPI_REQUEST_NULL;
}

static void begin_gather(const ranks *r, void *bytes, const size_t *sizes) {
    static int counts[RANKS_MAX], starts[RANKS_MAX]; /* which MPI reads until the end */
    size_t before = 0, total = 0;
    for (int k = 0; k < r->count; k++) total += sizes[k];
    if (total > LONGEST) {
        gather_in_pieces(r, bytes, sizes);
        return;
    }
    for (int k = 0; k < r->count; k++) {
        counts[k] = (int)sizes[k];
        starts[k] = (int)before;
        before += sizes[k];
    }
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, bytes, counts, starts, MPI_BYTE, MPI_COMM_WORLD, &gathering);
}

static void end_gather(const ranks *r) {
    (void)r;
    MPI_Wait(&gathering, MPI_STATUS_IGNORE);
}

typedef void (*mover)(under_way *u, const ranks_message *piece);

static void send_piece(under_way *u, const ranks_message *m) {
    MPI_Isend(m->bytes, (int)m->size, MPI_BYTE, m->other, m->tag, MPI_COMM_WORLD, next_request(u));
}

static void receive_piece(under_way *u, const ranks_message *m) {
    MPI_Irecv(m->bytes, (int)m->size, MPI_BYTE, m->other, m->tag, MPI_COMM_WORLD, next_request(u));
}

/* Pieces with one tag arrive in their order. */
static void move_pieces(under_way *u, ranks_message m, mover move) {
    for (size_t at = 0; at < m.size; at += LONGEST)
        move(u, &(ranks_message){m.other, m.tag, (char *)m.bytes + at, (size_t)piece_at(at, m.size)});
}

static void send(const ranks *r, ranks_message m) { move_pieces(r->context, m, send_piece); }
static void receive(const ranks *r, ranks_message m) { move_pieces(r->context, m, receive_piece); }

/* MPI moves messages only while it is called. */
static void advance(const ranks *r) {
    int arrived;
    (void)r;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
}

static void wait_all(const ranks *r) {
    under_way *u = r->context;
    for (int k = 0; k < u->count; k++) MPI_Wait(&u->requests[k], MPI_STATUS_IGNORE);
    u->count = 0;
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

typedef struct posted {
    struct posted *next;
    MPI_Request request;
    ranks_note note;
} posted;

static MPI_Comm note_world; /* apart from all messages */
static posted *posts;       /* that may still be under way */

static void forget_sent(void) {
    for (posted **at = &posts; *at;) {
        posted *one = *at;
        int sent;
        MPI_Test(&one->request, &sent, MPI_STATUS_IGNORE);
        if (sent) {
            *at = one->next;
            free(one);
        } else {
            at = &one->next;
        }
    }
}

static void post(const ranks *r, int other, ranks_note note) {
    (void)r;
    forget_sent();
    posted *one = malloc(sizeof *one);
    if (!one) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    *one = (posted){.next = posts, .note = note};
    posts = one;
    MPI_Isend(&one->note, (int)sizeof one->note, MPI_BYTE, other, 0, note_world, &one->request);
}

static int poll_note(const ranks *r, ranks_note *note) {
    int there;
    MPI_Status from;
    (void)r;
    forget_sent();
    MPI_Iprobe(MPI_ANY_SOURCE, 0, note_world, &there, &from);
    if (there) MPI_Recv(note, (int)sizeof *note, MPI_BYTE, from.MPI_SOURCE, 0, note_world, MPI_STATUS_IGNORE);
    return there;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static const ranks_backend MPI_BACKEND = {begin_gather, end_gather, send, receive, advance, wait_all, post, poll_note};
static under_way messages;
static ranks all;
static MPI_Comm end_world; /* for ranks that have ended: whoever still gathers must not take them for one who gathers */

/* How many ranks of a machine may run where this one may: all that are bound to nothing, one
   that is bound to its own. */
static int count_sharers(MPI_Comm machine, int count) {
    cpu_set_t own, all_of_them[RANKS_MAX];
    int sharers = 0;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own);
    MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, all_of_them, (int)sizeof own, MPI_BYTE, machine);
    for (int k = 0; k < count; k++) sharers += CPU_EQUAL(&own, &all_of_them[k]) != 0;
    return sharers;
}

static void meet_neighbours(ranks *r) {
    MPI_Comm machine;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &r->neighbours);
    if (r->neighbours <= RANKS_MAX) parallel_share_processors(count_sharers(machine, r->neighbours));
    MPI_Comm_free(&machine);
}

status_code ranks_mpi_start(failure *failure) {
    int given;
    if (launched() == 1) return STATUS_OK;
    MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &given);
    all = (ranks){.backend = &MPI_BACKEND, .context = &messages};
    MPI_Comm_rank(MPI_COMM_WORLD, &all.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &all.count);
    meet_neighbours(&all);
    MPI_Comm_dup(MPI_COMM_WORLD, &note_world);
    MPI_Comm_dup(MPI_COMM_WORLD, &end_world);
    ranks_set(&all);
    if (given < MPI_THREAD_FUNNELED)
        return fail(failure, STATUS_FAILED, "this MPI does not allow programs with threads");
    if (all.count > RANKS_MAX)
        return fail(failure, STATUS_BAD_INPUT, "%d processes are more than the %d that can work together", all.count,
                    RANKS_MAX);
    return STATUS_OK;
}

/* 1: all have ended; then *first is 1 if the first rank has failed. */
static int all_come(int exit_code, int *first) {
    static int failed; /* which MPI may read later, if the time is over */
    MPI_Request meeting;
    int here = 0;
    const double end = clock_seconds() + SECONDS_FOR_OTHERS;
    failed = all.rank == 0 && exit_code;
    MPI_Iallreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, end_world, &meeting);
    while (!here && (!exit_code || clock_seconds() < end)) {
        MPI_Test(&meeting, &here, MPI_STATUS_IGNORE);
        if (!here) nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
    }
    *first = failed;
    return here;
}

void ranks_mpi_end(int exit_code, void (*alone)(void)) {
    int first_failed;
    if (!all.backend) return;
    const int together = all_come(exit_code, &first_failed);
    if (exit_code && !(together && first_failed)) alone();
    if (!together) MPI_Abort(MPI_COMM_WORLD, exit_code);
    while (posts) forget_sent();
    MPI_Comm_free(&note_world);
    MPI_Comm_free(&end_world);
    MPI_Finalize();
    free(messages.requests);
    messages = (under_way){0};
    ranks_set(0);
}

#endif

int ranks_mpi_built_in(void) {
#ifdef HWS_HAVE_MPI
    return 1;
#else
    return 0;
#endif
}
