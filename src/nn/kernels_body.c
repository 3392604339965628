/*
 * One table of kernels: compiled once per instruction set (KERNELS names it) and kind of stored number (bf16 where
 * KERNELS_BF16 is defined, else f32). The headers with the loops are written in terms of
 *
 *     ELEMENT          the type of a stored number
 *     ELEMENT_IS_F32   defined for f32 alone, whose table has kernels that the other does not need
 *     LOAD, STORE      LANES stored numbers from memory to a vector of floats and back
 *     NUMBER           one stored number as a float
 *     TABLE            the name of the table, kernels_SET_f32 or kernels_SET_bf16
 */
#include "nn/kernels.h"
#include "nn/vector.h"

#ifdef KERNELS_BF16
#define ELEMENT uint16_t
#define LOAD vec_load_bf16
#define STORE vec_store_bf16
#define NUMBER float_from_bf16
#define TABLE_NAME(set) kernels_##set##_bf16
#else
#define ELEMENT float
#define ELEMENT_IS_F32
#define LOAD vec_load
#define STORE vec_store
#define NUMBER(x) (x)
#define TABLE_NAME(set) kernels_##set##_f32
#endif

#include "nn/kernels_gemm.h"
#include "nn/kernels_rows.h"
#include "nn/kernels_winograd.h"
#ifdef ELEMENT_IS_F32
#include "nn/kernels_pack.h"
#endif

/* Uses those of the rows. */
#include "nn/kernels_narrow.h"

#define TABLE(set) TABLE_NAME(set)
extern const kernels TABLE(KERNELS);
const kernels TABLE(KERNELS) = {
    .multiply_taps = multiply_taps,
    .outer = outer,
    .dot_taps = dot_taps,
    .outer_runs = outer_runs,
    .gather_rows = gather_rows,
    .spread_rows = spread_rows,
    .winograd_input = winograd_input,
    .winograd_gradient = winograd_gradient,
    .winograd_output = winograd_output,
    .store_row = store_row,
    .sum_rows = sum_rows,
    .take_larger = take_larger,
    .add_where = add_where,
    .moments = moments,
    .scale_rows = scale_rows,
    .scale_sums = scale_sums,
    .scale_backward = scale_backward,
    .multiply_adds = multiply_adds,
    .leaky_relu = leaky_relu,
    .leaky_relu_backward = leaky_relu_backward,
    .to_f32 = to_f32,
    .from_f32 = from_f32,
    .add = add,
#ifdef ELEMENT_IS_F32
    .winograd_weights = winograd_weights,
    .winograd_weights_gradient = winograd_weights_gradient,
    .transpose_panel = transpose_panel,
#endif
};
