#define _POSIX_C_SOURCE 200809L
#include "nn/graph.h"
#include "nn/kernel_set.h"
#include "numbers.h"

/* The sets of this machine, whichever of them serves. */
enum { GENERIC, AVX2, AVX512, AVX512_BF16, SETS };
static const char *const NAMES[SETS] = {"generic", "avx2", "avx512", "avx512-bf16"};

static void find_sets(const kernel_set *sets[SETS]) {
    for (int s = 0; s < SETS; s++)
        if (kernel_set_find(NAMES[s], &sets[s], NULL) != STATUS_OK) sets[s] = NULL;
    assert_non_null(sets[GENERIC]);
}

/* One use of one kernel: sizes, and results that only the inputs (from a seed) and the table decide. */
typedef struct use {
    const kernels *table;
    precision precision;
    int channels, rows, flag; /* flag: accumulate, with bias and addend... */
    uint64_t seed;
    guarded out;
    precision out_precision;
} use;

static guarded stored(use *u, size_t count) { return random_numbers(u->precision, count, &u->seed); }
static guarded floats(use *u, size_t count) { return random_numbers(PRECISION_F32, count, &u->seed); }
static void close_all(guarded *blocks, int count) {
    for (int i = 0; i < count; i++) guarded_close(&blocks[i], "an operand");
}
static void open_result(use *u, precision precision, size_t count) {
    u->out = random_numbers(precision, count, &u->seed);
    u->out_precision = precision;
}

/* More rows and more panels than any set has registers for, and so many channels of the last panel. */
static void use_multiply_taps(use *u) {
    const int rows = 1 + u->rows % 40, taps = 3, depth = u->channels, width = 1 + u->channels % 40;
    const int panels = (width + KERNEL_PANEL - 1) / KERNEL_PANEL, panel_stride = taps * depth * KERNEL_PANEL;
    guarded in[4] = {floats(u, (size_t)((taps + rows) * depth)), floats(u, (size_t)(panels * panel_stride)),
                     floats(u, (size_t)width), stored(u, (size_t)(rows * width))};
    kernel_tap tap[3];
    for (int t = 0; t < taps; t++)
        tap[t] = (kernel_tap){(const float *)in[0].data + t * depth,
                              (const float *)in[1].data + t * depth * KERNEL_PANEL, depth, depth};
    open_result(u, u->precision, (size_t)(rows * width));
    const kernel_results results = {
        {u->flag ? in[2].data : 0, u->rows & 2 ? in[3].data : 0, u->flag}, width, width, u->out.data};
    u->table->multiply_taps(&(kernel_taps){rows, taps, tap, panel_stride}, &results);
    close_all(in, 4);
}

static void use_outer(use *u) {
    const int rows = 1 + u->rows % 40, points = u->channels, panels = 1 + u->rows % 3, width = panels * KERNEL_PANEL;
    const kernel_field field = {
        2, 3, points, 6 * rows * points, 2 * rows * points, rows, 3 * width * points, width * points, width};
    guarded in[2] = {stored(u, (size_t)(12 * rows * points)), stored(u, (size_t)(6 * width * points))};
    open_result(u, PRECISION_F32, (size_t)(rows * width));
    u->table->outer(&field, in[0].data, in[1].data, &(kernel_sums){u->out.data, width, rows, panels});
    close_all(in, 2);
}

/* The same number of rows, of results that have few channels, side by side or apart. */
static void use_dot_taps(use *u) {
    const int rows = 1 + u->rows % 40, taps = 2, columns = 1 + u->channels % KERNEL_MOST_DOTS;
    const int depth = (u->channels + KERNEL_PANEL - 1) / KERNEL_PANEL * KERNEL_PANEL, row = columns + u->rows % 2;
    guarded in[4] = {floats(u, (size_t)((taps + rows) * depth)), floats(u, (size_t)(taps * columns * depth)),
                     floats(u, KERNEL_MOST_DOTS), stored(u, (size_t)(rows * row))};
    const kernel_tap tap[2] = {{in[0].data, in[1].data, depth, depth},
                               {(const float *)in[0].data + depth, (const float *)in[1].data + depth, depth, depth}};
    open_result(u, u->precision, (size_t)(rows * row));
    const kernel_results results = {
        {u->flag ? in[2].data : 0, u->rows & 2 ? in[3].data : 0, u->flag}, columns, row, u->out.data};
    u->table->dot_taps(&(kernel_taps){rows, taps, tap, taps * depth}, &results);
    close_all(in, 4);
}

static void use_outer_runs(use *u) {
    const int points = u->channels, panels = 1 + u->rows % 3, width = panels * KERNEL_PANEL;
    const kernel_runs runs = {1 + u->rows % 7, 1 + u->channels % 18, 2 * (points + 18)};
    const int rows = runs.count * runs.length;
    const kernel_field field = {.planes = 1,
                                .lines = 2,
                                .points = points,
                                .a_line = runs.distance,
                                .a_point = 2,
                                .b_line = width * points,
                                .b_point = width};
    guarded in[2] = {stored(u, (size_t)((runs.count + 1) * runs.distance)), stored(u, (size_t)(2 * width * points))};
    open_result(u, PRECISION_F32, (size_t)(rows * width));
    const kernel_sums sums = {u->out.data, width, rows, panels};
    u->table->outer_runs(&runs, &field, in[0].data, in[1].data, &sums);
    close_all(in, 2);
}

static void use_gather_rows(use *u) {
    const int rows = u->rows, stride = u->channels + 5 * u->flag, together = KERNEL_PANEL * (1 + u->flag);
    const int groups = (u->channels + together - 1) / together;
    const kernel_copy copy = {u->channels, together, stride, rows * together, together};
    guarded from = stored(u, (size_t)((rows - 1) * stride + u->channels));
    open_result(u, PRECISION_F32, (size_t)(groups * rows * together));
    u->table->gather_rows(&copy, (size_t)rows, from.data, u->out.data);
    guarded_close(&from, "rows");
}

static void use_spread_rows(use *u) {
    const int stride = 1 + u->rows % 3, given = (u->rows + stride - 1) / stride;
    guarded in[2] = {floats(u, (size_t)(given * u->channels)), floats(u, (size_t)u->channels)};
    open_result(u, u->precision, (size_t)(u->rows * u->channels));
    const kernel_spread spread = {u->rows, stride, u->channels, u->rows & 2 ? in[1].data : 0, u->flag};
    u->table->spread_rows(&spread, u->rows % 5 ? in[0].data : 0, u->out.data);
    close_all(in, 2);
}

/* So that tiles lie inside, too. */
enum { SIDE = 11 };

/* Of the corner, the middle and the edge of a small image. */
static int place_of(const use *u) { return u->rows % 3 * WINOGRAD_TILE - 1; }

/* One to three tiles side by side, of which the last may lie outside. */
static winograd_tiles tiles_of(const use *u, int top, int left) {
    const int channels = (u->channels + 15) / 16 * 16, count = 1 + u->rows / 2 % 3;
    return (winograd_tiles){.height = SIDE,
                            .width = SIDE,
                            .channels = channels,
                            .top = top,
                            .left = left,
                            .count = count,
                            .tile_stride = channels,
                            .point_stride = count * channels};
}

static void use_winograd_input(use *u) {
    const int channels = (u->channels + 15) / 16 * 16;
    guarded image = stored(u, (size_t)(SIDE * SIDE * channels));
    const winograd_tiles tiles = tiles_of(u, place_of(u), place_of(u) - 4 * u->flag + 3);
    open_result(u, PRECISION_F32, (size_t)(WINOGRAD_POINTS * tiles.point_stride));
    u->table->winograd_input(&tiles, image.data, u->out.data);
    guarded_close(&image, "an image");
}

/* Scaled on reading if there are results to compare with, else before. */
static void scaled_input(use *u, const guarded *before) {
    const int channels = (u->channels + 15) / 16 * 16;
    const size_t numbers = (size_t)(SIDE * SIDE * channels);
    guarded in[3] = {floats(u, numbers), floats(u, (size_t)channels), floats(u, (size_t)channels)};
    winograd_tiles tiles = tiles_of(u, place_of(u), place_of(u) - 4 * u->flag + 3);
    open_result(u, PRECISION_F32, (size_t)(WINOGRAD_POINTS * tiles.point_stride));
    const float slope = (float)(u->rows % 2) * 0.25f;
    if (before) {
        tiles.scaling = (kernel_scaling){in[1].data, in[2].data, slope};
        u->table->winograd_input(&tiles, in[0].data, u->out.data);
        assert_memory_equal(u->out.data, before->data, before->size);
    } else {
        const kernel_norm norm = {
            .rows = SIDE * SIDE, .channels = channels, .scale = in[1].data, .shift = in[2].data, .slope = slope};
        u->table->scale_rows(&norm, in[0].data, in[0].data);
        u->table->winograd_input(&tiles, in[0].data, u->out.data);
    }
    close_all(in, 3);
}

static void inputs_scaled_on_reading_are_as_those_scaled_before(void **state) {
    (void)state;
    const kernel_set *sets[SETS];
    find_sets(sets);
    for (int s = 0; s < SETS; s++)
        for (int rows = 0; sets[s] && rows < 18; rows++) {
            const use like = {.table = sets[s]->f32, .channels = 16 + rows % 2 * 32, .rows = rows, .flag = rows % 2};
            use before = like, on_reading = like;
            scaled_input(&before, 0);
            scaled_input(&on_reading, &before.out);
            guarded_close(&before.out, "points");
            guarded_close(&on_reading.out, "points");
        }
}

static void use_winograd_gradient(use *u) {
    const int channels = (u->channels + 15) / 16 * 16;
    guarded image = stored(u, (size_t)(SIDE * SIDE * channels));
    const winograd_tiles tiles = tiles_of(u, u->rows % 2 * 4, u->flag * 4);
    open_result(u, PRECISION_F32, (size_t)(WINOGRAD_POINTS * tiles.point_stride));
    u->table->winograd_gradient(&tiles, image.data, u->out.data);
    guarded_close(&image, "an image");
}

static void use_winograd_output(use *u) {
    const int channels = (u->channels + 15) / 16 * 16, count = SIDE * SIDE * channels;
    const winograd_tiles tiles = tiles_of(u, u->rows % 2 * 4, u->flag * 4);
    guarded in[3] = {floats(u, (size_t)(WINOGRAD_POINTS * tiles.point_stride)), floats(u, (size_t)channels),
                     stored(u, (size_t)count)};
    open_result(u, u->precision, (size_t)count);
    const kernel_addends addends = {u->flag ? in[1].data : 0, u->rows & 2 ? in[2].data : 0, u->flag};
    u->table->winograd_output(&tiles, in[0].data, &addends, u->out.data);
    close_all(in, 3);
}

static void use_winograd_weights(use *u) {
    if (!u->table->winograd_weights) return;
    guarded taps = floats(u, 9 * KERNEL_PANEL);
    open_result(u, PRECISION_F32, WINOGRAD_POINTS * KERNEL_PANEL);
    u->table->winograd_weights(taps.data, KERNEL_PANEL, u->out.data, KERNEL_PANEL);
    guarded_close(&taps, "taps");
}

static void use_winograd_weights_gradient(use *u) {
    if (!u->table->winograd_weights_gradient) return;
    guarded points = floats(u, WINOGRAD_POINTS * KERNEL_PANEL);
    open_result(u, PRECISION_F32, 9 * KERNEL_PANEL);
    u->table->winograd_weights_gradient(points.data, KERNEL_PANEL, u->out.data, KERNEL_PANEL);
    guarded_close(&points, "points");
}

static void use_store_row(use *u) {
    const size_t channels = (size_t)u->channels;
    guarded in[3] = {floats(u, channels), floats(u, channels), stored(u, channels)};
    open_result(u, u->precision, channels);
    u->table->store_row(in[0].data, u->channels, u->flag ? in[1].data : 0, u->rows & 1 ? in[2].data : 0,
                        u->rows >> 1 & 1, u->out.data);
    close_all(in, 3);
}

static void use_sum_rows(use *u) {
    const size_t stride = (size_t)(u->channels + 3 * u->flag), rows = (size_t)u->rows;
    guarded x = stored(u, (rows - 1) * stride + (size_t)u->channels);
    open_result(u, PRECISION_F32, (size_t)u->channels);
    u->table->sum_rows(x.data, rows, (ptrdiff_t)stride, u->channels, u->out.data);
    guarded_close(&x, "rows");
}

/* The maxima, then which rows they came from. */
static void use_take_larger(use *u) {
    const size_t channels = (size_t)u->channels, rows = (size_t)u->rows;
    guarded x = stored(u, rows * channels);
    open_result(u, PRECISION_F32, 2 * channels);
    float *best = u->out.data;
    uint8_t *where = (uint8_t *)(best + channels);
    memset(best, 0, 2 * channels * sizeof *best);
    for (size_t r = 0; r < rows; r++)
        u->table->take_larger((const char *)x.data + r * channels * precision_bytes(u->precision), u->channels,
                              (uint8_t)(r + 1), best, u->flag ? where : 0);
    guarded_close(&x, "rows");
}

static void use_add_where(use *u) {
    const size_t channels = (size_t)u->channels;
    guarded in[2] = {stored(u, channels), floats(u, channels)};
    uint8_t *where = in[1].data;
    for (size_t c = 0; c < channels; c++) where[c] &= 3;
    open_result(u, PRECISION_F32, channels);
    u->table->add_where(in[0].data, where, u->channels, (uint8_t)(u->rows & 3), u->out.data);
    close_all(in, 2);
}

static void use_moments(use *u) {
    const size_t channels = (size_t)u->channels, rows = (size_t)u->rows;
    guarded x = stored(u, rows * channels);
    open_result(u, PRECISION_F32, 2 * channels);
    u->table->moments(x.data, rows, u->channels, u->out.data, (float *)u->out.data + channels);
    guarded_close(&x, "rows");
}

static float slope_of(const use *u) { return u->flag ? 0.01f : 0; }

static void use_scale_rows(use *u) {
    const size_t channels = (size_t)u->channels, rows = (size_t)u->rows;
    guarded in[4] = {stored(u, rows * channels), floats(u, channels), floats(u, channels), stored(u, rows * channels)};
    open_result(u, u->precision, rows * channels);
    const kernel_norm norm = {rows, u->channels, in[1].data, in[2].data, 0, slope_of(u), u->rows & 1 ? in[3].data : 0,
                              0};
    u->table->scale_rows(&norm, in[0].data, u->out.data);
    close_all(in, 4);
}

static void use_scale_sums(use *u) {
    const size_t channels = (size_t)u->channels, rows = (size_t)u->rows;
    guarded in[5] = {stored(u, rows * channels), stored(u, rows * channels), floats(u, channels), floats(u, channels),
                     floats(u, channels)};
    open_result(u, PRECISION_F32, 2 * channels);
    const kernel_norm norm = {rows,       u->channels, in[2].data, in[3].data,
                              in[4].data, slope_of(u), 0,          u->rows & 2 ? in[1].data : 0};
    u->table->scale_sums(&norm, in[0].data, in[1].data, u->out.data, (float *)u->out.data + channels);
    close_all(in, 5);
}

static void use_scale_backward(use *u) {
    const size_t channels = (size_t)u->channels, rows = (size_t)u->rows;
    guarded in[8];
    for (int i = 0; i < 8; i++) in[i] = i < 2 ? stored(u, rows * channels) : floats(u, channels);
    open_result(u, u->precision, rows * channels);
    const kernel_norm norm = {rows,       u->channels, in[2].data, in[3].data,
                              in[4].data, slope_of(u), 0,          u->rows & 2 ? in[1].data : 0};
    const kernel_norm_gradient gradient = {in[5].data, in[6].data, in[7].data};
    u->table->scale_backward(&norm, &gradient, in[0].data, in[1].data, u->rows & 1, u->out.data);
    close_all(in, 8);
}

static void use_leaky_relu(use *u) {
    const size_t count = (size_t)(u->channels * u->rows);
    guarded x = stored(u, count);
    open_result(u, u->precision, count);
    u->table->leaky_relu(x.data, count, slope_of(u), u->out.data);
    guarded_close(&x, "numbers");
}

static void use_leaky_relu_backward(use *u) {
    const size_t count = (size_t)(u->channels * u->rows);
    guarded in[2] = {stored(u, count), stored(u, count)};
    open_result(u, u->precision, count);
    u->table->leaky_relu_backward(in[0].data, in[1].data, count, slope_of(u), u->rows & 1, u->out.data);
    close_all(in, 2);
}

static void use_add(use *u) {
    const size_t count = (size_t)(u->channels * u->rows);
    guarded from = stored(u, count);
    open_result(u, u->precision, count);
    u->table->add(from.data, count, u->flag, u->out.data);
    guarded_close(&from, "numbers");
}

static void use_to_f32(use *u) {
    const size_t count = (size_t)(u->channels * u->rows);
    guarded from = stored(u, count);
    open_result(u, PRECISION_F32, count);
    u->table->to_f32(from.data, count, u->out.data);
    guarded_close(&from, "numbers");
}

static void use_from_f32(use *u) {
    const size_t count = (size_t)(u->channels * u->rows);
    guarded from = floats(u, count);
    open_result(u, u->precision, count);
    u->table->from_f32(from.data, count, u->out.data);
    guarded_close(&from, "numbers");
}

#define USE(name)                                                                                                      \
    { #name, use_##name }
static const struct recipe {
    const char *name;
    void (*run)(use *u);
} RECIPES[] = {USE(multiply_taps),
               USE(outer),
               USE(dot_taps),
               USE(outer_runs),
               USE(gather_rows),
               USE(spread_rows),
               USE(winograd_input),
               USE(winograd_gradient),
               USE(winograd_output),
               USE(winograd_weights),
               USE(winograd_weights_gradient),
               USE(store_row),
               USE(sum_rows),
               USE(moments),
               USE(take_larger),
               USE(add_where),
               USE(scale_rows),
               USE(scale_sums),
               USE(scale_backward),
               USE(leaky_relu),
               USE(leaky_relu_backward),
               USE(add),
               USE(to_f32),
               USE(from_f32)};
enum { RECIPE_COUNT = sizeof RECIPES / sizeof *RECIPES };

static double largest_of(const use *u) {
    double largest = 0;
    for (size_t i = 0; i < u->out.size / precision_bytes(u->out_precision); i++)
        largest = fmax(largest, fabs(number_at(u->out_precision, u->out.data, i)));
    return largest;
}

/* Up to the order of rounding; a number of bf16 may fall on the other side of a tie. */
static void check_agreement(const char *what, const char *set, const use *a, const use *b) {
    assert_int_equal(a->out.size, b->out.size);
    const double large = largest_of(a);
    for (size_t i = 0; i < a->out.size / precision_bytes(a->out_precision); i++) {
        const double x = number_at(a->out_precision, a->out.data, i), y = number_at(b->out_precision, b->out.data, i);
        if (!(fabs(x - y) <= 2e-6 * large + (a->out_precision == PRECISION_BF16 ? 0x1p-7 * fabs(x) : 0)))
            fail_msg("%s, %d channels, %d rows, flag %d: %s gives %.9g at %zu, generic %.9g", what, a->channels,
                     a->rows, a->flag, set, y, i, x);
    }
}

static void compare_sets(const kernel_set *const sets[SETS], const struct recipe *recipe, use like) {
    use uses[SETS];
    for (int s = 0; s < SETS; s++) {
        uses[s] = like;
        if (!sets[s]) continue;
        uses[s].table = like.precision == PRECISION_F32 ? sets[s]->f32 : sets[s]->bf16;
        recipe->run(&uses[s]);
        if (uses[s].out.data) check_agreement(recipe->name, sets[s]->name, &uses[GENERIC], &uses[s]);
    }
    for (int s = AVX512; s < SETS; s++)
        if (sets[s] && uses[AVX2].out.data && memcmp(uses[AVX2].out.data, uses[s].out.data, uses[AVX2].out.size) != 0)
            fail_msg("%s: AVX2 and %s differ", recipe->name, NAMES[s]);
    for (int s = 0; s < SETS; s++) guarded_close(&uses[s].out, recipe->name);
}

static void all_instruction_sets_agree(void **state) {
    (void)state;
    static const int channels[] = {1, 3, 4, 5, 8, 15, 16, 17, 20, 33, 48},
                     rows[] = {1, 2, 3, 4, 5, 6, 9, 14, 15, 17, 36};
    const kernel_set *sets[SETS];
    find_sets(sets);
    for (int k = 0; k < RECIPE_COUNT; k++)
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
            for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
                for (int variant = 0; variant < 4; variant++)
                    compare_sets(sets, &RECIPES[k],
                                 (use){.precision = variant & 1 ? PRECISION_BF16 : PRECISION_F32,
                                       .channels = channels[c],
                                       .rows = rows[r],
                                       .flag = variant >> 1,
                                       .seed = (uint64_t)(c * 100 + r)});
}

static const char *best_here(void) {
    const kernel_set *best;
    assert_int_equal(kernel_set_find(NULL, &best, NULL), STATUS_OK);
    return best->name;
}

static void the_whole_engine_takes_its_kernels_from_the_set_that_is_asked_for(void **state) {
    (void)state;
    const char *asked = getenv("HWS_KERNELS");
    const kernel_set *set = kernel_set_chosen();
    assert_string_equal(set->name, asked ? asked : best_here());
    assert_string_equal(kernels_name(), set->name);
    assert_ptr_equal(kernels_for(PRECISION_F32), set->f32);
    assert_ptr_equal(kernels_for(PRECISION_BF16), set->bf16);
    assert_ptr_equal(loss_kernels_chosen(), set->losses);
    assert_ptr_equal(bf16_kernels_chosen(), set->products);
    assert_string_equal(set->losses->name, strcmp(set->name, "generic") == 0 ? "generic" : "avx2");
    assert_int_equal(kernel_set_check(NULL), STATUS_OK);
}

static void a_set_that_does_not_exist_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "AVX2", "sse9", "generic "};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const kernel_set *set = NULL;
        failure failure = {.message = ""};
        assert_int_equal(kernel_set_find(wrong[k], &set, &failure), STATUS_BAD_INPUT);
        assert_string_equal(set->name, best_here());
        assert_non_null(strstr(failure.message, "HWS_KERNELS may be generic"));
    }
}

static status_code plan_something(failure *failure) {
    graph *g = graph_open(&(graph_options){.threads = 1});
    graph_output(g, graph_fully_connected(g, "layer", graph_input(g, (shape){1, {1, 1, 1}, 2}), 3, 0));
    const status_code status = graph_plan(g, failure);
    graph_close(&g);
    return status;
}

static void no_network_is_planned_for_kernels_that_do_not_exist(void **state) {
    (void)state;
    const char *asked = getenv("HWS_KERNELS");
    char before[64] = "";
    if (asked) snprintf(before, sizeof before, "%s", asked);
    failure failure = {.message = ""};
    assert_int_equal(plan_something(&failure), STATUS_OK);
    setenv("HWS_KERNELS", "sse9", 1);
    assert_int_equal(plan_something(&failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "'sse9'"));
    if (asked) setenv("HWS_KERNELS", before, 1);
    else unsetenv("HWS_KERNELS");
    assert_int_equal(plan_something(&failure), STATUS_OK);
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int is_nan_bf16(uint16_t half) { return (half & 0x7fff) > 0x7f80; }

/* The nearest of the two neighbours among the halves, the even one at equal distance, by comparing distances. */
static uint16_t nearest_half(uint32_t bits) {
    if ((bits & 0x7fffffff) >= 0x7f800000) return (uint16_t)(bits >> 16);
    const uint32_t below = bits >> 16, above = below + 1, rest = bits & 0xffff;
    if (rest != 0x8000) return (uint16_t)(rest < 0x8000 ? below : above);
    return (uint16_t)(below & 1 ? above : below);
}

static void check_conversion(const kernel_set *set, const uint32_t *bits, size_t count) {
    float *numbers = calloc(count + 1, sizeof *numbers);
    uint16_t *halves = calloc(count + 1, sizeof *halves);
    for (size_t i = 0; i < count; i++) numbers[i] = float_of(bits[i]);
    set->bf16->from_f32(numbers, count, halves);
    for (size_t i = 0; i < count; i++) {
        const uint16_t one = float_to_bf16(numbers[i]);
        if (isnan(numbers[i])) {
            if (!is_nan_bf16(halves[i]) || !is_nan_bf16(one)) fail_msg("the NaN %08x became %04x", bits[i], halves[i]);
        } else if (halves[i] != nearest_half(bits[i]) || one != halves[i])
            fail_msg("%s: %08x became %04x, alone %04x, not %04x", set->name, bits[i], halves[i], one,
                     nearest_half(bits[i]));
    }
    free(numbers);
    free(halves);
}

static void bf16_rounds_to_the_nearest_and_ties_to_even(void **state) {
    (void)state;
    enum { COUNT = 100003 };
    static const uint32_t special[] = {0,          0x80000000, 0x7f800000, 0xff800000, 0x7f800001, 0xff800001,
                                       0x7fffffff, 0xffffffff, 0x7fc00000, 0x7f7fffff, 0xff7fffff, 0x7f7f7fff,
                                       0x7f7f8000, 0x00000001, 0x00008000, 0x00008001, 0x00018000, 0x3f808000,
                                       0x3f818000, 0x3f808001, 0x3f807fff, 0xbf808000, 0x7f80ffff};
    uint32_t *bits = malloc(COUNT * sizeof *bits);
    uint64_t seed = 9;
    for (size_t i = 0; i < COUNT; i++) {
        bits[i] = (uint32_t)test_random(&seed);
        if (i % 3 == 0) bits[i] = (bits[i] & 0xffff0000) | 0x8000; /* ties */
        if (i < sizeof special / sizeof *special) bits[i] = special[i];
    }
    const kernel_set *sets[SETS];
    find_sets(sets);
    for (int s = 0; s < SETS; s++)
        for (size_t count = 0; sets[s] && count < 3 * sizeof special / sizeof *special; count++)
            check_conversion(sets[s], bits, count); /* tails */
    for (int s = 0; s < SETS; s++)
        if (sets[s]) check_conversion(sets[s], bits, COUNT);
    free(bits);
}

static void all_halves_survive_the_way_to_f32_and_back(void **state) {
    (void)state;
    enum { HALVES = 65536 };
    uint16_t *halves = malloc(HALVES * sizeof *halves), *back = malloc(HALVES * sizeof *back);
    float *numbers = calloc(HALVES, sizeof *numbers);
    for (int i = 0; i < HALVES; i++) halves[i] = (uint16_t)i;
    const kernel_set *sets[SETS];
    find_sets(sets);
    for (int s = 0; s < SETS; s++) {
        if (!sets[s]) continue;
        sets[s]->bf16->to_f32(halves, HALVES, numbers);
        sets[s]->bf16->from_f32(numbers, HALVES, back);
        for (int i = 0; i < HALVES; i++)
            if (is_nan_bf16(halves[i]) ? !is_nan_bf16(back[i]) : back[i] != halves[i])
                fail_msg("%s: %04x became %04x", sets[s]->name, halves[i], back[i]);
    }
    free(halves);
    free(back);
    free(numbers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_engine_takes_its_kernels_from_the_set_that_is_asked_for),
        cmocka_unit_test(a_set_that_does_not_exist_is_refused),
        cmocka_unit_test(no_network_is_planned_for_kernels_that_do_not_exist),
        cmocka_unit_test(all_instruction_sets_agree),
        cmocka_unit_test(inputs_scaled_on_reading_are_as_those_scaled_before),
        cmocka_unit_test(bf16_rounds_to_the_nearest_and_ties_to_even),
        cmocka_unit_test(all_halves_survive_the_way_to_f32_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
