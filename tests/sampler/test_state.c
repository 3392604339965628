/* Saving and resuming: the same bits afterwards, and nothing but a sampler's own state accepted. */
#define _XOPEN_SOURCE 700 /* mkdtemp, mkfifo, setrlimit */
#include "core/crc64.h"
#include "every_divergence.h"
#include "failing_memory.h"
#include "hws.h"
#include "opened.h"
#include "sampler/sampler.h"
#include "testing.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- helpers --------------------------------------------------------------------------------------------------- */

typedef struct bytes {
    unsigned char *at;
    size_t size;
} bytes;

static char folder[200];

static const char *in_folder(const char *name) {
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int open_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.150s/hws-state-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static int close_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static int files_in_folder(void) {
    DIR *listing = opendir(folder);
    int count = 0;
    while (readdir(listing)) count++;
    closedir(listing);
    return count - 2;
}

static bytes state_of(hws_sampler *sampler) {
    bytes state = {.size = hws_sampler_state_size(sampler)};
    state.at = malloc(state.size);
    assert_int_equal(hws_sampler_state_write(sampler, state.at, state.size), HWS_OK);
    return state;
}

static hws_sampler *read_back(bytes state, const hws_divergence *divergence) {
    hws_sampler *sampler = NULL;
    assert_int_equal(hws_sampler_state_read(&sampler, state.at, state.size, divergence, NULL), HWS_OK);
    assert_non_null(sampler);
    return sampler;
}

/* What the last call of read_status or load_status said. */
static hws_error said;

static hws_status status_of(hws_status status, hws_sampler *sampler) {
    if (status != HWS_OK) assert_null(sampler);
    assert_int_equal(said.status, status);
    assert_true((strlen(said.message) > 0) == (status != HWS_OK));
    assert_true(said.position == -1 && said.example == -1);
    assert_true((said.system_error != 0) == (status == HWS_ERROR_IO));
    hws_sampler_close(&sampler);
    return status;
}

static hws_status read_status(const unsigned char *at, size_t size) {
    hws_sampler *sampler = (hws_sampler *)1;
    const hws_status status = hws_sampler_state_read(&sampler, at, size, NULL, &said);
    return status_of(status, sampler);
}

static hws_status load_status(const char *path) {
    hws_sampler *sampler = (hws_sampler *)1;
    const hws_status status = hws_sampler_load(&sampler, path, NULL, &said);
    return status_of(status, sampler);
}

static void assert_said(const char *words) {
    if (!strstr(said.message, words)) fail_msg("\"%s\" does not say \"%s\"", said.message, words);
}

static void write_file(const char *path, const unsigned char *at, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(at, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void assert_file_holds(const char *path, bytes expected) {
    unsigned char *found = malloc(expected.size + 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, expected.size + 1, file), expected.size);
    fclose(file);
    assert_memory_equal(found, expected.at, expected.size);
    free(found);
}

static void make_checksum_right(bytes state) {
    crc64 *crc = malloc(sizeof *crc);
    crc64_start(crc);
    crc64_add(crc, state.at, state.size - 8);
    for (int k = 0; k < 8; k++) state.at[state.size - 8 + (size_t)k] = (unsigned char)(crc64_value(crc) >> (8 * k));
    free(crc);
}

static void put(bytes state, size_t offset, const void *value, size_t size) { memcpy(state.at + offset, value, size); }

/* ---- continuation ---------------------------------------------------------------------------------------------- */

static void assert_same_history(hws_sampler *a, hws_sampler *b) {
    bytes first = state_of(a), second = state_of(b);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.at, second.at, first.size);
    free(first.at);
    free(second.at);
}

static void iterate(hws_sampler *sampler, int64_t batch, uint64_t *random, int64_t *indices) {
    float losses[8];
    assert_int_equal(hws_sampler_draw(sampler, batch, indices), HWS_OK);
    for (int64_t j = 0; j < batch; j++) losses[j] = (float)(1 + 0.3 * test_normal(random));
    assert_int_equal(hws_sampler_update(sampler, batch, indices, losses), HWS_OK);
}

static void assert_continue_alike(hws_sampler *a, hws_sampler *b, int rounds) {
    uint64_t random_a = 77, random_b = 77;
    for (int t = 0; t < rounds; t++) {
        int64_t drawn_a[8], drawn_b[8];
        iterate(a, 4, &random_a, drawn_a);
        iterate(b, 4, &random_b, drawn_b);
        assert_memory_equal(drawn_a, drawn_b, 4 * sizeof *drawn_a);
    }
    assert_same_history(a, b);
    assert_int_equal(hws_sampler_draws_made(a), hws_sampler_draws_made(b));
    assert_int_equal(hws_sampler_updates_made(a), hws_sampler_updates_made(b));
}

/* What memory gives back, a file must give back too. */
static void assert_file_agrees(hws_sampler *sampler, bytes state) {
    const hws_divergence divergence = hws_sampler_options(sampler).divergence;
    const char *path = in_folder("resumed");
    hws_sampler *loaded = NULL;
    assert_int_equal(hws_sampler_save(sampler, path), HWS_OK);
    assert_file_holds(path, state);
    assert_int_equal(hws_sampler_load(&loaded, path, &divergence, NULL), HWS_OK);
    assert_same_history(sampler, loaded);
    hws_sampler_close(&loaded);
    assert_int_equal(unlink(path), 0);
}

/* Saves `before` iterations after the last change, and goes on for `rounds` more. */
static void assert_resumes(hws_sampler *sampler, int before, int rounds) {
    const hws_divergence divergence = hws_sampler_options(sampler).divergence;
    uint64_t random = 5;
    int64_t indices[8];
    for (int t = 0; t < before; t++) iterate(sampler, 3, &random, indices);
    bytes state = state_of(sampler);
    if (rounds >= 200) assert_file_agrees(sampler, state); /* not always: files are slow */
    hws_sampler *resumed = read_back(state, &divergence);
    assert_int_equal(hws_sampler_size(resumed), hws_sampler_size(sampler));
    assert_same_history(sampler, resumed);
    assert_continue_alike(sampler, resumed, rounds);
    free(state.at);
    hws_sampler_close(&resumed);
}

static hws_options varied_options(hws_divergence divergence, int variant) {
    hws_options options = hws_options_default();
    options.beta = 4;
    options.divergence = divergence;
    options.seed = UINT64_C(0xfedcba9876543210) + (uint64_t)variant;
    options.initial_loss = variant < 4 ? 1 : NAN;
    options.jitter = 0.2;
    options.momentum = variant & 1 ? 0.6 : 0;
    options.keep_counts = variant & 1;
    options.floor = variant == 2 ? 0.2 : 0;
    options.uniform_mix = variant == 3 ? 0.2 : 0;
    options.replacement = variant == 1;
    options.importance = variant & 1 ? HWS_IMPORTANCE_EXACT : HWS_IMPORTANCE_APPROXIMATE;
    options.weight_min = 0.01 * variant;
    options.weight_max = variant ? 10.0 + variant : INFINITY;
    if (variant >= 4 && divergence.kind == HWS_KL) options.importance = HWS_IMPORTANCE_NORMALISED;
    if (variant == 5 && divergence.kind != HWS_REVERSE_KL && divergence.parameter >= 0) options.tail = 0.3;
    if (options.tail > 0 && divergence.kind == HWS_CVAR) options.divergence.parameter = options.tail;
    return options;
}

static void test_continuation(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int variant = 0; variant < 6; variant++)
            for (int64_t n = 30; n <= 300; n += 270) {
                const hws_options options = varied_options(divergence_number(d), variant);
                hws_sampler *sampler = opened(n, NULL, &options);
                assert_resumes(sampler, 0, 30);
                assert_resumes(sampler, 20, 200);
                assert_int_equal(hws_sampler_set_beta(sampler, 7), HWS_OK);
                assert_resumes(sampler, variant, 30);
                assert_int_equal(hws_sampler_grow(sampler, 50, NULL), HWS_OK);
                assert_resumes(sampler, variant, 30);
                const float losses[3] = {2, -1, 0.5f};
                assert_int_equal(hws_sampler_set_losses(sampler, 11, 3, losses), HWS_OK);
                assert_resumes(sampler, 1, 30);
                hws_sampler_close(&sampler);
            }
}

static void test_level_window_is_saved(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = varied_options(divergence_number(d), 0);
        hws_sampler *sampler = opened(700, NULL, &options);
        int64_t indices[2];
        assert_int_equal(hws_sampler_draw(sampler, 2, indices), HWS_OK);
        bytes saved = state_of(sampler);
        const hws_divergence_kind kind = sampler->law.divergence.kind;
        if (kind == HWS_KL || kind == HWS_CHI2 || kind == HWS_CVAR) assert_int_equal(saved.at[12], 0);
        if (kind == HWS_REVERSE_KL || kind == HWS_HELLINGER || kind == HWS_JENSEN_SHANNON || kind == HWS_CUSTOM)
            assert_int_equal(saved.at[12], 2);
        free(saved.at);
        hws_sampler_close(&sampler);
    }
}

static void test_options_come_back(void **state) {
    (void)state;
    for (int variant = 0; variant < 6; variant++) {
        const hws_options options =
            varied_options((hws_divergence){.kind = HWS_CRESSIE_READ, .parameter = 0.25}, variant);
        hws_sampler *sampler = opened(5, NULL, &options);
        bytes saved = state_of(sampler);
        hws_sampler *resumed = read_back(saved, NULL);
        const hws_options found = hws_sampler_options(resumed);
        assert_true(found.beta == (options.tail > 0 ? 0 : options.beta) && found.seed == options.seed);
        assert_true(found.tail == options.tail);
        assert_true(found.divergence.kind == HWS_CRESSIE_READ && found.divergence.parameter == 0.25);
        assert_memory_equal(&found.initial_loss, &options.initial_loss, sizeof found.initial_loss);
        assert_true(found.jitter == options.jitter);
        assert_true(found.momentum == options.momentum && found.replacement == options.replacement);
        assert_true(found.floor == options.floor && found.uniform_mix == options.uniform_mix);
        assert_true(found.importance == options.importance && found.keep_counts == options.keep_counts);
        assert_true(found.weight_min == options.weight_min && found.weight_max == options.weight_max);
        free(saved.at);
        hws_sampler_close(&sampler);
        hws_sampler_close(&resumed);
    }
}

static void test_custom_needs_callbacks(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.divergence = CUSTOM_HELLINGER;
    hws_sampler *sampler = opened(4, NULL, &options), *resumed = (hws_sampler *)1;
    bytes saved = state_of(sampler);
    assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_DIVERGENCE);
    assert_said("the state is of a sampler with a custom divergence");
    assert_int_equal(hws_sampler_state_read(&resumed, saved.at, saved.size, NULL, NULL), HWS_ERROR_DIVERGENCE);
    assert_null(resumed);
    const hws_divergence kl = {.kind = HWS_KL}, empty = {.kind = HWS_CUSTOM};
    assert_int_equal(hws_sampler_state_read(&resumed, saved.at, saved.size, &kl, NULL), HWS_ERROR_DIVERGENCE);
    assert_int_equal(hws_sampler_state_read(&resumed, saved.at, saved.size, &empty, NULL), HWS_ERROR_DIVERGENCE);
    hws_divergence newer = CUSTOM_HELLINGER;
    newer.reserved[2] = 1;
    assert_int_equal(hws_sampler_state_read(&resumed, saved.at, saved.size, &newer, NULL), HWS_ERROR_ARGUMENT);
    assert_null(resumed);
    resumed = read_back(saved, &CUSTOM_HELLINGER);
    hws_sampler_close(&resumed);
    free(saved.at);
    hws_sampler_close(&sampler);

    /* For the others a divergence is ignored. */
    sampler = opened(4, NULL, NULL);
    saved = state_of(sampler);
    resumed = read_back(saved, &CUSTOM_HELLINGER);
    assert_int_equal(hws_sampler_options(resumed).divergence.kind, HWS_KL);
    free(saved.at);
    hws_sampler_close(&sampler);
    hws_sampler_close(&resumed);
}

/* ---- damage ---------------------------------------------------------------------------------------------------- */

static hws_sampler *small_sampler(hws_divergence_kind kind) {
    hws_options options = hws_options_default();
    options.divergence.kind = kind;
    options.initial_loss = 1;
    options.keep_counts = 1;
    const float losses[3] = {1, 2, 3};
    hws_sampler *sampler = opened(3, losses, &options);
    int64_t batch[1];
    assert_int_equal(hws_sampler_draw(sampler, 1, batch), HWS_OK);
    assert_int_equal(hws_sampler_update(sampler, 1, batch, losses), HWS_OK);
    return sampler;
}

static void test_truncated(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL);
    bytes saved = state_of(sampler);
    const char *path = in_folder("truncated");
    for (size_t size = 0; size < saved.size; size++) {
        assert_int_equal(read_status(saved.at, size), HWS_ERROR_CORRUPT);
        assert_said(size > 0 ? "the state is truncated" : "the state is empty");
        write_file(path, saved.at, size);
        assert_int_equal(load_status(path), HWS_ERROR_CORRUPT);
        assert_said(size > 0 ? "/truncated is truncated" : "/truncated is empty");
    }
    assert_int_equal(read_status(saved.at, saved.size), HWS_OK);
    assert_int_equal(unlink(path), 0);
    free(saved.at);
    hws_sampler_close(&sampler);
}

static void test_extended(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_CHI2);
    bytes saved = state_of(sampler);
    const char *path = in_folder("extended");
    unsigned char *longer = calloc(1, saved.size + 100);
    memcpy(longer, saved.at, saved.size);
    for (size_t more = 1; more <= 100; more += 33) {
        assert_int_equal(read_status(longer, saved.size + more), HWS_ERROR_CORRUPT);
        assert_said("the state was altered: it has");
        write_file(path, longer, saved.size + more);
        assert_int_equal(load_status(path), HWS_ERROR_CORRUPT);
        assert_said("/extended was altered: it has");
    }
    assert_int_equal(unlink(path), 0);
    free(longer);
    free(saved.at);
    hws_sampler_close(&sampler);
}

static void test_altered(void **state) {
    (void)state;
    const hws_divergence_kind kinds[] = {HWS_KL, HWS_CVAR, HWS_HELLINGER};
    for (int k = 0; k < 6; k++) {
        hws_options options = hws_options_default();
        options.divergence = (hws_divergence){.kind = kinds[k % 3], .parameter = 0.5};
        if (k < 3) options.initial_loss = 1; /* the first version of the format, else the second */
        const size_t header = k < 3 ? 168 : 232;
        hws_sampler *sampler = opened(3, NULL, &options);
        bytes saved = state_of(sampler);
        const char *path = in_folder("altered");
        for (size_t i = 0; i < saved.size; i++)
            for (int change = 1; change <= 0x80; change += 0x7f) {
                saved.at[i] ^= (unsigned char)change;
                const hws_status status = read_status(saved.at, saved.size);
                /* A higher version may be told from damage; all else is damage. */
                assert_true(status == HWS_ERROR_CORRUPT || (status == HWS_ERROR_VERSION && i >= 8 && i < 12));
                if (i < 8) assert_said("was not written by a sampler");
                if (i >= header) assert_said("was altered: its checksum is wrong");
                write_file(path, saved.at, saved.size);
                assert_int_equal(load_status(path), status);
                if (i >= header) assert_said("/altered was altered: its checksum is wrong");
                saved.at[i] ^= (unsigned char)change;
            }
        assert_int_equal(read_status(saved.at, saved.size), HWS_OK);
        assert_int_equal(unlink(path), 0);
        free(saved.at);
        hws_sampler_close(&sampler);
    }
}

static void test_newer_version(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL);
    bytes saved = state_of(sampler);
    const char *path = in_folder("newer");
    saved.at[8] = 4;
    make_checksum_right(saved);
    assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_VERSION);
    write_file(path, saved.at, saved.size);
    assert_int_equal(load_status(path), HWS_ERROR_VERSION);
    assert_said("/newer was written by a newer version of hws (format 4; ");
    /* A later format may have another header: it is not called truncated. */
    assert_int_equal(read_status(saved.at, 12), HWS_ERROR_VERSION);
    saved.at[8] = 0;
    make_checksum_right(saved);
    assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_CORRUPT);
    assert_said("impossible version");
    assert_int_equal(unlink(path), 0);
    free(saved.at);
    hws_sampler_close(&sampler);
}

/* Fields that no sampler can have, under a checksum that is right. */
static void test_impossible_fields(void **state) {
    (void)state;
    const double nan = NAN, minus = -1, two = 2, infinite = INFINITY;
    const float bad_loss = NAN;
    const uint32_t many = 4000000000u, nine = 9, zero = 0;
    const uint64_t none = 0, future = 1000;
    const struct {
        size_t offset, size;
        const void *value;
    } changes[] = {
        {0, 4, &many},      {12, 4, &many},  {16, 8, &none},      {48, 8, &nan},     {48, 8, &minus},
        {48, 8, &infinite}, {56, 4, &nine},  {56, 4, &many},      {60, 4, &nine},    {72, 8, &infinite},
        {80, 8, &minus},    {88, 8, &two},   {96, 8, &two},       {104, 8, &two},    {112, 8, &infinite},
        {120, 8, &minus},   {128, 4, &many}, {168, 4, &bad_loss}, {180, 8, &future}, {8, 4, &zero},
    };
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        hws_sampler *sampler = small_sampler(HWS_KL);
        bytes saved = state_of(sampler);
        put(saved, changes[k].offset, changes[k].value, changes[k].size);
        make_checksum_right(saved);
        if (read_status(saved.at, saved.size) != HWS_ERROR_CORRUPT) fail_msg("change %zu is accepted", k);
        assert_said(changes[k].offset == 0 ? "was not written by a sampler" : "was altered: ");
        if (changes[k].offset == 48) assert_said("beta is ");
        free(saved.at);
        hws_sampler_close(&sampler);
    }
}

/* What the second version of the format has added. */
static void test_impossible_later_fields(void **state) {
    (void)state;
    const double nan = NAN, minus = -1, two = 2, infinite = INFINITY;
    const uint32_t nine_or_more = 9, minus_one = 0xbf800000, other_nan = 0x7fc00002, signalling = 0x7f800001,
                   infinity = 0x7f800000;
    const struct {
        size_t offset, size;
        const void *value;
    } changes[] = {
        {168, 8, &nan},        {168, 8, &minus},    {168, 8, &two},      {184, 4, &nine_or_more}, {188, 4, &minus_one},
        {188, 4, &other_nan},  {188, 4, &infinity}, {200, 8, &infinite}, {200, 8, &nan},          {208, 8, &minus},
        {208, 8, &infinite},   {208, 8, &nan},      {216, 8, &nan},      {224, 8, &infinite},     {232, 4, &other_nan},
        {236, 4, &signalling}, {240, 4, &infinity},
    };
    const float losses[3] = {1, NAN, 3};
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
        hws_options options = hws_options_default();
        options.importance = HWS_IMPORTANCE_NORMALISED;
        options.tail = 0.5;
        hws_sampler *sampler = opened(3, losses, &options);
        bytes saved = state_of(sampler);
        assert_int_equal(saved.at[8], 2);
        assert_int_equal(read_status(saved.at, saved.size), HWS_OK);
        put(saved, changes[k].offset, changes[k].value, changes[k].size);
        make_checksum_right(saved);
        if (read_status(saved.at, saved.size) != HWS_ERROR_CORRUPT) fail_msg("change %zu is accepted", k);
        assert_said("was altered: ");
        free(saved.at);
        hws_sampler_close(&sampler);
    }
}

/* States that were written before the square was followed have 0 in its place: beta follows all the same. */
static void test_states_without_the_square_of_the_radius(void **state) {
    (void)state;
    enum { N = 2000, BATCH = 32 };
    hws_options options = hws_options_default();
    options.tail = 0.2;
    uint64_t seed = 3;
    float losses[N];
    for (int i = 0; i < N; i++) losses[i] = (float)test_normal(&seed);
    hws_sampler *sampler = opened(N, losses, &options);
    bytes saved = state_of(sampler);
    const uint32_t zero = 0;
    assert_true(memcmp(saved.at + 188, &zero, 4) != 0);
    put(saved, 188, &zero, 4);
    make_checksum_right(saved);
    hws_sampler_close(&sampler);
    assert_int_equal(hws_sampler_state_read(&sampler, saved.at, saved.size, NULL, NULL), HWS_OK);
    for (int t = 0; t < 50; t++) {
        int64_t indices[BATCH];
        assert_int_equal(hws_sampler_draw(sampler, BATCH, indices), HWS_OK);
        for (int j = 0; j < BATCH; j++) losses[j] = (float)test_normal(&seed);
        assert_int_equal(hws_sampler_update(sampler, BATCH, indices, losses), HWS_OK);
        hws_statistics statistics;
        assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
        assert_true(fabs(statistics.kl_to_uniform / log(5) - 1) < 0.0201);
    }
    free(saved.at);
    hws_sampler_close(&sampler);
}

/* A sampler that uses nothing of the second version writes the first, which older libraries read. */
static void test_the_first_version_is_written_where_it_suffices(void **state) {
    (void)state;
    for (int which = 0; which < 5; which++) {
        hws_options options = hws_options_default();
        options.initial_loss = which == 1 ? NAN : 1;
        options.tail = which == 2 ? 0.5 : 0;
        if (which == 3) options.importance = HWS_IMPORTANCE_NORMALISED;
        hws_sampler *sampler = opened(3, NULL, &options);
        const float none = NAN;
        if (which == 4) assert_int_equal(hws_sampler_set_losses(sampler, 1, 1, &none), HWS_OK);
        bytes saved = state_of(sampler);
        assert_int_equal(saved.at[8], which == 0 ? 1 : 2);
        assert_int_equal(saved.size, (which == 0 ? 168 : 232) + 3 * 4 + 8);
        free(saved.at);
        hws_sampler_close(&sampler);
    }
}

/* Options are told by a sampler as by the one that is loaded from its state. */
static void test_options_are_the_same_after_loading(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.doubt = 0.5;
    options.replacement = 7;
    options.keep_counts = 3;
    hws_sampler *sampler = opened(2, NULL, &options);
    bytes saved = state_of(sampler);
    hws_sampler *back = read_back(saved, NULL);
    const hws_options before = hws_sampler_options(sampler), after = hws_sampler_options(back);
    assert_int_equal(before.keep_record, 1);
    assert_int_equal(after.keep_record, 1);
    assert_int_equal(before.replacement, after.replacement);
    assert_int_equal(before.keep_counts, after.keep_counts);
    free(saved.at);
    hws_sampler_close(&back);
    hws_sampler_close(&sampler);
}

/* The running mean of normalised weights is kept while another kind of weights is in use. */
static void test_the_mean_of_ratios_is_kept(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.beta = 1;
    options.initial_loss = 5;
    options.importance = HWS_IMPORTANCE_NORMALISED;
    hws_sampler *sampler = opened(8, NULL, &options);
    const float losses[4] = {4, 4, 4.5f, 4}, loss = 3;
    assert_int_equal(hws_sampler_update(sampler, 4, (int64_t[]){0, 1, 2, 3}, losses), HWS_OK);
    assert_int_equal(hws_sampler_set_importance(sampler, HWS_IMPORTANCE_APPROXIMATE), HWS_OK);
    bytes saved = state_of(sampler);
    hws_sampler *back = read_back(saved, NULL), *both[2] = {sampler, back};
    float weights[2];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(hws_sampler_set_importance(both[k], HWS_IMPORTANCE_NORMALISED), HWS_OK);
        assert_int_equal(hws_sampler_importance(both[k], 1, &(int64_t){5}, &loss, &weights[k]), HWS_OK);
    }
    assert_true(weights[0] == weights[1]);
    free(saved.at);
    hws_sampler_close(&back);
    hws_sampler_close(&sampler);
}

/* A level window for a divergence that has none, or one that is no window. */
static void test_impossible_windows(void **state) {
    (void)state;
    const double places[][3] = {{NAN, 0, 0.1}, {1, NAN, 0.1},   {1, 0, NAN},        {1, 0, 0},
                                {1, 0, -1},    {1, 1e300, 0.1}, {INFINITY, 0, 0.1}, {1, 0, 50}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        hws_sampler *sampler = small_sampler(HWS_HELLINGER);
        bytes saved = state_of(sampler);
        saved.at[12] |= 2;
        put(saved, 136, places[k], sizeof places[k]);
        make_checksum_right(saved);
        assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_CORRUPT);
        free(saved.at);
        hws_sampler_close(&sampler);
    }
    hws_sampler *sampler = small_sampler(HWS_KL);
    bytes saved = state_of(sampler);
    const double sane[3] = {1, 0, 0.1};
    saved.at[12] |= 2;
    put(saved, 136, sane, sizeof sane);
    make_checksum_right(saved);
    assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_CORRUPT);
    free(saved.at);
    hws_sampler_close(&sampler);
}

/* A window that no sampler can have had is refused even with a right checksum: interpolating in
   it would give another p. */
static void test_invented_windows(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.divergence.kind = HWS_HELLINGER;
    options.beta = 3;
    uint64_t seed = 4;
    float losses[700];
    for (int i = 0; i < 700; i++) losses[i] = (float)test_normal(&seed);
    hws_sampler *sampler = opened(700, losses, &options);
    int64_t drawn[2];
    assert_int_equal(hws_sampler_draw(sampler, 2, drawn), HWS_OK);
    const window_place own = sampler->law.window.place;
    assert_true(sampler->law.window.valid && own.error > 0);
    const window_place invented[] = {{own.reference, own.center, 1, own.error},
                                     {own.reference, own.center, own.half, own.error / 2},
                                     {own.reference, own.center, own.half, 0},
                                     {own.reference, own.center, own.half, 1}};
    for (size_t k = 0; k < sizeof invented / sizeof *invented; k++) {
        bytes saved = state_of(sampler);
        assert_int_equal(read_status(saved.at, saved.size), HWS_OK);
        put(saved, 136, &invented[k], sizeof invented[k]);
        make_checksum_right(saved);
        assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_CORRUPT);
        assert_said("level window");
        free(saved.at);
    }
    hws_sampler_close(&sampler);
}

/* Whatever is accepted can be saved and read again. */
static void test_updates_near_the_end(void **state) {
    (void)state;
    const uint64_t possible[] = {(UINT64_C(1) << 63) - 1, UINT64_C(1) << 63},
                   impossible[] = {UINT64_MAX, possible[1] + 1};
    const int64_t example = 1;
    const float loss = 2;
    hws_sampler *sampler = small_sampler(HWS_KL);
    bytes saved = state_of(sampler);
    for (int k = 0; k < 2; k++) {
        put(saved, 32, &impossible[k], 8);
        make_checksum_right(saved);
        assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_CORRUPT);
        assert_said("number of updates");
        put(saved, 32, &possible[k], 8);
        make_checksum_right(saved);
        hws_sampler *resumed = read_back(saved, NULL);
        for (int again = 0; again < 3; again++) {
            assert_int_equal(hws_sampler_update(resumed, 1, &example, &loss), HWS_OK);
            bytes later = state_of(resumed);
            assert_int_equal(read_status(later.at, later.size), HWS_OK);
            free(later.at);
        }
        hws_sampler_close(&resumed);
    }
    free(saved.at);
    hws_sampler_close(&sampler);
}

/* 200 bytes that say they are four thousand million examples: nothing of that size may be asked for. */
static void test_size_is_checked_before_memory(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.initial_loss = 1;
    hws_sampler *sampler = opened(6, NULL, &options);
    bytes saved = state_of(sampler);
    assert_int_equal(saved.size, 200);
    const uint64_t sizes[] = {2147483648,        2147483649,         4294967295, UINT64_MAX,
                              UINT64_C(1) << 62, UINT64_MAX / 4 + 7, 7,          5};
    const char *path = in_folder("giant");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (unsigned char counts = 0; counts < 2; counts++) {
            put(saved, 16, &sizes[k], 8);
            saved.at[12] = counts;
            make_checksum_right(saved);
            (void)memory_fail_after(0);
            assert_int_equal(read_status(saved.at, saved.size), HWS_ERROR_CORRUPT);
            write_file(path, saved.at, saved.size);
            assert_int_equal(load_status(path), HWS_ERROR_CORRUPT);
            assert_int_equal(memory_fail_after(-1), 0);
        }
    assert_int_equal(unlink(path), 0);
    free(saved.at);
    hws_sampler_close(&sampler);
}

static void test_arguments(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL), *loaded = (hws_sampler *)1;
    bytes saved = state_of(sampler);
    assert_int_equal(hws_sampler_state_read(NULL, saved.at, saved.size, NULL, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_state_read(&loaded, NULL, saved.size, NULL, NULL), HWS_ERROR_ARGUMENT);
    assert_null(loaded);
    loaded = (hws_sampler *)1;
    assert_int_equal(hws_sampler_load(&loaded, NULL, NULL, NULL), HWS_ERROR_ARGUMENT);
    assert_null(loaded);
    assert_int_equal(hws_sampler_load(NULL, "x", NULL, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_save(sampler, NULL), HWS_ERROR_ARGUMENT);
    unsigned char small[10] = "untouched";
    assert_int_equal(hws_sampler_state_write(sampler, small, sizeof small), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_state_write(sampler, saved.at, saved.size + 1), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_state_write(sampler, NULL, saved.size), HWS_ERROR_ARGUMENT);
    assert_string_equal((char *)small, "untouched");
    free(saved.at);
    hws_sampler_close(&sampler);
}

/* ---- files that cannot be -------------------------------------------------------------------------------------- */

static void assert_save_fails(hws_sampler *sampler, const char *path) {
    assert_int_equal(hws_sampler_save(sampler, path), HWS_ERROR_IO);
    const hws_error *error = hws_sampler_error(sampler);
    assert_int_equal(error->status, HWS_ERROR_IO);
    assert_true(error->position == -1 && error->example == -1);
    assert_true(error->system_error != 0);
    assert_non_null(strstr(error->message, "cannot write"));
    assert_non_null(strstr(error->message, strerror(error->system_error)));
}

static void assert_load_fails(const char *path, hws_status expected) {
    assert_int_equal(load_status(path), expected);
    assert_said("cannot read ");
    assert_said(strerror(said.system_error));
}

static void test_bad_paths(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL);
    bytes saved = state_of(sampler);
    assert_save_fails(sampler, "");
    assert_save_fails(sampler, folder);
    assert_save_fails(sampler, in_folder("missing/file"));
    assert_save_fails(sampler, in_folder(""));
    char *long_path = malloc(10000);
    memset(long_path, 'x', 9999);
    long_path[9999] = 0;
    assert_save_fails(sampler, long_path);
    memcpy(long_path + 9995, "/end", 4);
    assert_load_fails(long_path, HWS_ERROR_IO);
    assert_int_equal(said.system_error, ENAMETOOLONG);
    assert_said("cannot read ...xxx");
    assert_said("xxx/end: ");
    free(long_path);
    assert_load_fails("", HWS_ERROR_IO);
    assert_load_fails(folder, HWS_ERROR_IO);
    assert_int_equal(said.system_error, EISDIR);
    assert_load_fails(in_folder("missing"), HWS_ERROR_IO);
    assert_int_equal(said.system_error, ENOENT);
    assert_said("/missing: No such file");
    assert_load_fails("/dev/null", HWS_ERROR_IO);
    assert_int_equal(files_in_folder(), 0);
    bytes after = state_of(sampler);
    assert_memory_equal(saved.at, after.at, saved.size);
    free(saved.at);
    free(after.at);
    hws_sampler_close(&sampler);
}

/* Saving must neither write to a device or pipe nor put a file in its place, not even as root. */
static void test_special_files(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL);
    const char *path = in_folder("pipe");
    struct stat info;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_save_fails(sampler, path);
    assert_load_fails(path, HWS_ERROR_IO);
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISFIFO(info.st_mode));
    assert_int_equal(unlink(path), 0);
    if (stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode)) {
        assert_save_fails(sampler, "/dev/full");
        assert_int_equal(stat("/dev/full", &info), 0);
        assert_true(S_ISCHR(info.st_mode));
    }
    assert_int_equal(files_in_folder(), 0);
    hws_sampler_close(&sampler);
}

static void test_unwritable_folder(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL);
    assert_int_equal(chmod(folder, 0500), 0);
    if (geteuid() != 0) assert_save_fails(sampler, in_folder("state"));
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(files_in_folder(), 0);
    hws_sampler_close(&sampler);
}

/* A disk that is full, played by a limit on the size of files. */
static void test_failed_save_leaves_the_old_file(void **state) {
    (void)state;
    struct rlimit before, limited;
    const char *path = in_folder("kept");
    hws_sampler *sampler = opened(20000, NULL, NULL);
    assert_int_equal(hws_sampler_save(sampler, path), HWS_OK);
    bytes old = state_of(sampler);
    const int64_t example = 5;
    const float loss = 9;
    assert_int_equal(hws_sampler_update(sampler, 1, &example, &loss), HWS_OK);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const rlim_t limits[] = {0, 100, 65536, 80000};
    for (int k = 0; k < 4; k++) {
        limited = before;
        limited.rlim_cur = limits[k];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limited), 0);
        const hws_status status = hws_sampler_save(sampler, path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, HWS_ERROR_IO);
        assert_file_holds(path, old);
        assert_int_equal(files_in_folder(), 1);
    }
    signal(SIGXFSZ, handler);
    assert_int_equal(hws_sampler_save(sampler, path), HWS_OK);
    free(old.at);
    old = state_of(sampler);
    assert_file_holds(path, old);
    assert_int_equal(files_in_folder(), 1);
    assert_int_equal(unlink(path), 0);
    free(old.at);
    hws_sampler_close(&sampler);
}

/* What looks like a temporary file but was not made by hws is somebody else's. */
static void test_files_of_others_stay(void **state) {
    (void)state;
    hws_sampler *sampler = small_sampler(HWS_KL);
    char taken[400];
    snprintf(taken, sizeof taken, "%s/state.tmp%ld.0", folder, (long)getpid());
    write_file(taken, (const unsigned char *)"x", 1);
    assert_int_equal(hws_sampler_save(sampler, in_folder("state")), HWS_OK);
    bytes leftover = {(unsigned char[]){'x'}, 1};
    assert_file_holds(taken, leftover);
    assert_int_equal(files_in_folder(), 2);
    assert_int_equal(unlink(taken), 0);
    assert_int_equal(unlink(in_folder("state")), 0);
    hws_sampler_close(&sampler);
}

static void test_save_in_the_current_folder(void **state) {
    (void)state;
    char before[1000];
    assert_non_null(getcwd(before, sizeof before));
    hws_sampler *sampler = small_sampler(HWS_KL), *loaded = NULL;
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(hws_sampler_save(sampler, "plain"), HWS_OK);
    assert_int_equal(hws_sampler_load(&loaded, "plain", NULL, NULL), HWS_OK);
    assert_int_equal(unlink("plain"), 0);
    assert_int_equal(chdir(before), 0);
    assert_same_history(sampler, loaded);
    assert_int_equal(files_in_folder(), 0);
    hws_sampler_close(&sampler);
    hws_sampler_close(&loaded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_continuation),
        cmocka_unit_test(test_level_window_is_saved),
        cmocka_unit_test(test_options_come_back),
        cmocka_unit_test(test_custom_needs_callbacks),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_extended),
        cmocka_unit_test(test_altered),
        cmocka_unit_test(test_newer_version),
        cmocka_unit_test(test_impossible_fields),
        cmocka_unit_test(test_impossible_later_fields),
        cmocka_unit_test(test_states_without_the_square_of_the_radius),
        cmocka_unit_test(test_the_first_version_is_written_where_it_suffices),
        cmocka_unit_test(test_options_are_the_same_after_loading),
        cmocka_unit_test(test_the_mean_of_ratios_is_kept),
        cmocka_unit_test(test_impossible_windows),
        cmocka_unit_test(test_invented_windows),
        cmocka_unit_test(test_updates_near_the_end),
        cmocka_unit_test(test_size_is_checked_before_memory),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_bad_paths),
        cmocka_unit_test(test_special_files),
        cmocka_unit_test(test_unwritable_folder),
        cmocka_unit_test(test_failed_save_leaves_the_old_file),
        cmocka_unit_test(test_files_of_others_stay),
        cmocka_unit_test(test_save_in_the_current_folder),
    };
    return cmocka_run_group_tests_name("state", tests, open_folder, close_folder);
}
