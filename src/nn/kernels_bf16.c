/* The products of bf16, compiled once for AVX512_BF16 and once for AMX (KERNELS_AMX), under the name KERNELS. */
#include "nn/kernels_bf16.h"
#include "nn/vector.h"

enum { ROWS = KERNEL_PANEL, BLOCK_ROWS = 2 * ROWS, SUM_STRIDE = BF16_PANELS * KERNEL_PANEL, ROW_GROUP = 8 };

/* Up to two tiles of rows of a block of sums, the second at `second` numbers behind the first in a, and at
   `sum_second` among the sums. */
typedef struct block {
    int rows[2], panels, fresh;
    ptrdiff_t panel_stride, sum_stride, sum_second;
    float *sums;
} block;

/* Where the rows of a block begin in a run. */
typedef struct block_rows {
    const uint16_t *first, *second;
} block_rows;

#ifdef KERNELS_AMX

/* Tiles 0 to 3 hold sums, 4 and 5 rows of a, 6 and 7 panels of b. */
typedef struct tile_layout {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_layout;

typedef struct tiles {
    int rows[2];
} tiles;

/* gcc does not know what tile instructions read: what is written before must be in memory. */
static inline void written(const void *memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

static void tiles_shape(tiles *t, const int rows[2]) {
    if (t->rows[0] == rows[0] && t->rows[1] == rows[1]) return;
    tile_layout layout = {.palette = 1};
    for (int k = 0; k < 8; k++) {
        const int own = k < 4 ? rows[k >> 1] : k < 6 ? rows[k - 4] : ROWS;
        layout.bytes[k] = 64;
        layout.rows[k] = (uint8_t)(own ? own : 1);
    }
    written(&layout);
    _tile_loadconfig(&layout);
    t->rows[0] = rows[0];
    t->rows[1] = rows[1];
}

static void tiles_release(void) { _tile_release(); }

#define SUM_BYTES (b->sum_stride * (ptrdiff_t)sizeof(float))
#define BEGIN_TILE(TILE, AT)                                                                                           \
    do {                                                                                                               \
        if (b->fresh) _tile_zero(TILE);                                                                                \
        else _tile_loadd(TILE, AT, SUM_BYTES);                                                                         \
    } while (0)

/* TWO_ROWS and TWO_PANELS are constants: a function for each. */
#define BLOCK_FUNCTION(NAME, TWO_ROWS, TWO_PANELS)                                                                     \
    static void NAME(const block *b, const bf16_run *runs, const block_rows *starts, int count) {                      \
        float *const sums = b->sums, *const below = sums + b->sum_second;                                              \
        BEGIN_TILE(0, sums);                                                                                           \
        if (TWO_PANELS) BEGIN_TILE(1, sums + KERNEL_PANEL);                                                            \
        if (TWO_ROWS) BEGIN_TILE(2, below);                                                                            \
        if (TWO_ROWS && TWO_PANELS) BEGIN_TILE(3, below + KERNEL_PANEL);                                               \
        for (int k = 0; k < count; k++) {                                                                              \
            const uint16_t *first = starts[k].first, *second = starts[k].second, *right = runs[k].b;                   \
            const ptrdiff_t bytes = runs[k].row_stride * (ptrdiff_t)sizeof *first;                                     \
            for (int pairs = runs[k].pairs; pairs > 0; pairs -= BF16_STEP / 2) {                                       \
                _tile_loadd(6, right, 64);                                                                             \
                _tile_loadd(4, first, bytes);                                                                          \
                _tile_dpbf16ps(0, 4, 6);                                                                               \
                if (TWO_ROWS) {                                                                                        \
                    _tile_loadd(5, second, bytes);                                                                     \
                    _tile_dpbf16ps(2, 5, 6);                                                                           \
                }                                                                                                      \
                if (TWO_PANELS) {                                                                                      \
                    _tile_loadd(7, right + b->panel_stride, 64);                                                       \
                    _tile_dpbf16ps(1, 4, 7);                                                                           \
                    if (TWO_ROWS) _tile_dpbf16ps(3, 5, 7);                                                             \
                }                                                                                                      \
                first += BF16_STEP;                                                                                    \
                if (TWO_ROWS) second += BF16_STEP;                                                                     \
                right += BF16_PANEL_STEP;                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        _tile_stored(0, sums, SUM_BYTES);                                                                              \
        if (TWO_PANELS) _tile_stored(1, sums + KERNEL_PANEL, SUM_BYTES);                                               \
        if (TWO_ROWS) _tile_stored(2, below, SUM_BYTES);                                                               \
        if (TWO_ROWS && TWO_PANELS) _tile_stored(3, below + KERNEL_PANEL, SUM_BYTES);                                  \
    }
BLOCK_FUNCTION(block_of_four, 1, 1)
BLOCK_FUNCTION(block_of_rows, 1, 0)
BLOCK_FUNCTION(block_of_panels, 0, 1)
BLOCK_FUNCTION(block_of_one, 0, 0)

static void add_block(tiles *t, const block *b, const bf16_run *runs, const block_rows *starts, int count) {
    tiles_shape(t, b->rows);
    written(b->sums);
    const int two_panels = b->panels > 1;
    if (b->rows[1]) (two_panels ? block_of_four : block_of_rows)(b, runs, starts, count);
    else (two_panels ? block_of_panels : block_of_one)(b, runs, starts, count);
}

#else

typedef struct tiles {
    int rows[2];
} tiles;

static void tiles_release(void) {}

static inline __m512i broadcast_pair(const uint16_t *from) {
    int pair;
    memcpy(&pair, from, sizeof pair);
    return _mm512_set1_epi32(pair);
}

/* Some rows of the first or of the second tile of a block. */
typedef struct row_group {
    int second, from, rows;
} row_group;

/* Up to ROW_GROUP rows by PANELS panels; where there are fewer rows the last one is taken several times. */
#define GROUP_FUNCTION(NAME, PANELS)                                                                                   \
    static void NAME(const block *b, const bf16_run *runs, const block_rows *starts, int count, row_group group) {     \
        float *const sums = b->sums + (group.second ? b->sum_second : 0) + group.from * b->sum_stride;                 \
        const int rows = group.rows;                                                                                   \
        __m512 sum[ROW_GROUP][PANELS];                                                                                 \
        for (int r = 0; r < ROW_GROUP; r++)                                                                            \
            for (int p = 0; p < PANELS; p++)                                                                           \
                sum[r][p] = b->fresh || r >= rows ? _mm512_setzero_ps()                                                \
                                                  : _mm512_loadu_ps(sums + r * b->sum_stride + p * KERNEL_PANEL);      \
        for (int k = 0; k < count; k++) {                                                                              \
            const uint16_t *a[ROW_GROUP], *right = runs[k].b;                                                          \
            for (int r = 0; r < ROW_GROUP; r++)                                                                        \
                a[r] = (group.second ? starts[k].second : starts[k].first) +                                           \
                       (group.from + (r < rows ? r : rows - 1)) * runs[k].row_stride;                                  \
            for (int pair = 0; pair < runs[k].pairs; pair++, right += 2 * KERNEL_PANEL) {                              \
                __m512i column[PANELS];                                                                                \
                for (int p = 0; p < PANELS; p++) column[p] = _mm512_load_si512(right + p * b->panel_stride);           \
                _Pragma("GCC unroll 8") for (int r = 0; r < ROW_GROUP; r++) {                                          \
                    const __m512bh left = (__m512bh)broadcast_pair(a[r] + 2 * pair);                                   \
                    for (int p = 0; p < PANELS; p++)                                                                   \
                        sum[r][p] = _mm512_dpbf16_ps(sum[r][p], left, (__m512bh)column[p]);                            \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        for (int r = 0; r < rows; r++)                                                                                 \
            for (int p = 0; p < PANELS; p++) _mm512_storeu_ps(sums + r * b->sum_stride + p * KERNEL_PANEL, sum[r][p]); \
    }
GROUP_FUNCTION(group_of_two, 2)
GROUP_FUNCTION(group_of_one, 1)

static void add_block(tiles *t, const block *b, const bf16_run *runs, const block_rows *starts, int count) {
    (void)t;
    for (int second = 0; second < 2; second++)
        for (int from = 0; from < b->rows[second]; from += ROW_GROUP) {
            const int left = b->rows[second] - from;
            const row_group group = {second, from, left < ROW_GROUP ? left : ROW_GROUP};
            (b->panels > 1 ? group_of_two : group_of_one)(b, runs, starts, count, group);
        }
}

#endif

static inline __mmask16 lanes_of(int count) { return (__mmask16)(count >= LANES ? 0xffff : (1 << count) - 1); }

static inline vec load_half(const uint16_t *from, __mmask16 lanes) {
    return vec_from_bf16((half_bits)_mm256_maskz_loadu_epi16(lanes, from));
}

static inline __m256i to_halves(vec value) { return (__m256i)_mm512_cvtneps_pbh(value); }

/* One row of sums to its place. */
static inline void store_sums(const bf16_results *to, const float *sums, ptrdiff_t at) {
    uint16_t *const image = (uint16_t *)to->image + at;
    const uint16_t *const addend = to->addends.addend ? (const uint16_t *)to->addends.addend + at : 0;
    for (int c = 0; c < to->channels; c += LANES) {
        const __mmask16 lanes = lanes_of(to->channels - c);
        vec value = vec_load(sums + c);
        if (to->addends.bias) value += _mm512_maskz_loadu_ps(lanes, to->addends.bias + c);
        if (addend) value += load_half(addend + c, lanes);
        if (to->addends.accumulate) value += load_half(image + c, lanes);
        _mm256_mask_storeu_epi16(image + c, lanes, to_halves(value));
    }
}

/* The rows [first, first + count) of all. */
static void store_block(const bf16_results *to, const float *sums, int first, int count) {
    int line = first / to->pitch, point = first % to->pitch;
    for (int r = 0; r < count; r++, sums += SUM_STRIDE) {
        if (point < to->points) store_sums(to, sums, line * to->line_stride + point * to->point_stride);
        if (++point == to->pitch) {
            point = 0;
            line++;
        }
    }
}

static inline int at_most(int count, int most) { return count < most ? count : most; }

enum { RUNS_AT_ONCE = 64 };

static void multiply(const bf16_runs *runs, const bf16_results *results) {
    _Alignas(64) float sums[BLOCK_ROWS * SUM_STRIDE];
    const bf16_results to = *results;
    const int rows = (to.lines - 1) * to.pitch + to.points;
    tiles t = {{0, 0}};
    block b = {.panels = runs->panels,
               .panel_stride = runs->panel_stride,
               .sum_stride = SUM_STRIDE,
               .sum_second = ROWS * SUM_STRIDE,
               .sums = sums};
    if (!runs->count) memset(sums, 0, sizeof sums);
    for (int first = 0; first < rows; first += BLOCK_ROWS) {
        const int some = at_most(rows - first, BLOCK_ROWS);
        b.rows[0] = at_most(some, ROWS);
        b.rows[1] = some - b.rows[0];
        for (int k = 0; k < runs->count; k += RUNS_AT_ONCE) {
            const int count = at_most(runs->count - k, RUNS_AT_ONCE);
            block_rows starts[RUNS_AT_ONCE];
            for (int i = 0; i < count; i++) {
                const bf16_run *run = &runs->run[k + i];
                starts[i].first = run->a + first * run->row_stride;
                starts[i].second = starts[i].first + ROWS * run->row_stride;
            }
            b.fresh = k == 0;
            add_block(&t, &b, runs->run + k, starts, count);
        }
        store_block(&to, sums, first, some);
    }
    tiles_release();
}

static void outer(const bf16_products *products, int fresh) {
    const bf16_products p = *products;
    tiles t = {{0, 0}};
    block b = {.panels = p.panels,
               .panel_stride = p.panel_stride,
               .fresh = fresh,
               .sum_stride = p.sum_stride,
               .sum_second = ROWS * p.sum_stride};
    for (int k = 0; k < p.count; k += 2) {
        const int two = k + 1 < p.count;
        const block_rows starts = {p.run.a + p.rows[k].offset, two ? p.run.a + p.rows[k + 1].offset : 0};
        b.rows[0] = p.rows[k].count;
        b.rows[1] = two ? p.rows[k + 1].count : 0;
        b.sums = p.sums + k * b.sum_second;
        add_block(&t, &b, &p.run, &starts, 1);
    }
    tiles_release();
}

/* The numbers of bf16 in the lower halves of 32 bits. */
static inline __m512i rounded(vec value) { return _mm512_cvtepu16_epi32(to_halves(value)); }

static inline __m512i paired(__m512i even, __m512i odd) { return _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)); }

static void pair_weights(const float *even, const float *odd, int count, uint16_t *pair) {
    const __mmask16 lanes = lanes_of(count);
    const vec none = vec_all(0);
    const vec first = even ? (vec)_mm512_maskz_loadu_ps(lanes, even) : none;
    const vec second = odd ? (vec)_mm512_maskz_loadu_ps(lanes, odd) : none;
    _mm512_storeu_si512(pair, paired(rounded(first), rounded(second)));
}

static void pair_rows(const uint16_t *rows, ptrdiff_t row_stride, int pairs, int count, uint16_t *to) {
    const __mmask16 lanes = lanes_of(count);
    for (int k = 0; k < pairs; k++, rows += 2 * row_stride, to += 2 * KERNEL_PANEL)
        _mm512_storeu_si512(to, paired(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, rows)),
                                       _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, rows + row_stride))));
}

/* Rows become columns, of 16 numbers of 32 bits: pairs of rows change places in blocks of 1, 2, 4 and 8. */
static inline void turn(__m512i row[16]) {
    __m512i half[16];
    for (int k = 0; k < 16; k += 4) {
        const __m512i a = _mm512_unpacklo_epi32(row[k], row[k + 1]), b = _mm512_unpackhi_epi32(row[k], row[k + 1]);
        const __m512i c = _mm512_unpacklo_epi32(row[k + 2], row[k + 3]),
                      d = _mm512_unpackhi_epi32(row[k + 2], row[k + 3]);
        half[k] = _mm512_unpacklo_epi64(a, c);
        half[k + 1] = _mm512_unpackhi_epi64(a, c);
        half[k + 2] = _mm512_unpacklo_epi64(b, d);
        half[k + 3] = _mm512_unpackhi_epi64(b, d);
    }
    for (int k = 0; k < 4; k++) {
        const __m512i a = _mm512_shuffle_i32x4(half[k], half[k + 4], 0x88),
                      b = _mm512_shuffle_i32x4(half[k], half[k + 4], 0xdd);
        const __m512i c = _mm512_shuffle_i32x4(half[k + 8], half[k + 12], 0x88),
                      d = _mm512_shuffle_i32x4(half[k + 8], half[k + 12], 0xdd);
        row[k] = _mm512_shuffle_i32x4(a, c, 0x88);
        row[k + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        row[k + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        row[k + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

static void pair_columns(const float *columns, ptrdiff_t column_stride, int count, int depth, uint16_t *to) {
    __m512i row[16];
    const __mmask16 low = lanes_of(depth), high = lanes_of(depth > LANES ? depth - LANES : 0);
    for (int k = 0; k < 16; k++) {
        if (k >= count) {
            row[k] = _mm512_setzero_si512();
            continue;
        }
        const float *column = columns + k * column_stride;
        const __m512 first = _mm512_maskz_loadu_ps(low, column), second = _mm512_maskz_loadu_ps(high, column + LANES);
        row[k] = (__m512i)_mm512_cvtne2ps_pbh(second, first);
    }
    turn(row);
    for (int k = 0; k < 16; k++) _mm512_storeu_si512(to + k * 2 * KERNEL_PANEL, row[k]);
}

/* 16 rows of up to 32 channels, as pairs of channels: column k has those of channels 2k and 2k + 1. */
static inline void turn_rows(const uint16_t *from, int channels, __mmask32 lanes, __m512i row[16]) {
    for (int r = 0; r < 16; r++) row[r] = _mm512_maskz_loadu_epi16(lanes, from + r * channels);
    turn(row);
}

static void transpose(const uint16_t *from, int rows, int channels, uint16_t *to, ptrdiff_t to_stride) {
    const __m512i step = _mm512_set1_epi32(0x00020002);
    __m512i even = _mm512_setzero_si512();
    for (int k = 0; k < 16; k++)
        even = _mm512_mask_mov_epi32(even, (__mmask16)(1 << k), _mm512_set1_epi32((4 * k) | (4 * k + 2) << 16));
    const __m512i odd = _mm512_add_epi16(even, _mm512_srli_epi16(step, 1));
    for (int r = 0; r < rows; r += BF16_STEP)
        for (int c = 0; c < channels; c += 32) {
            const int some = at_most(channels - c, 32);
            const __mmask32 lanes = some == 32 ? 0xffffffffu : ((__mmask32)1 << some) - 1;
            __m512i first[16], second[16];
            turn_rows(from + (ptrdiff_t)r * channels + c, channels, lanes, first);
            turn_rows(from + (ptrdiff_t)(r + 16) * channels + c, channels, lanes, second);
            uint16_t *column = to + c * to_stride + r;
            for (int k = 0; 2 * k < some; k++, column += 2 * to_stride) {
                _mm512_storeu_si512(column, _mm512_permutex2var_epi16(first[k], even, second[k]));
                if (2 * k + 1 < some)
                    _mm512_storeu_si512(column + to_stride, _mm512_permutex2var_epi16(first[k], odd, second[k]));
            }
        }
}

#define TABLE_NAME(set) bf16_kernels_##set
#define TABLE(set) TABLE_NAME(set)
extern const bf16_kernels TABLE(KERNELS);
const bf16_kernels TABLE(KERNELS) = {
    .multiply = multiply,
    .outer = outer,
    .pair_weights = pair_weights,
    .pair_rows = pair_rows,
    .pair_columns = pair_columns,
    .transpose = transpose,
};
