/* A sampler that must open. */
#ifndef HWS_TESTS_OPENED_H
#define HWS_TESTS_OPENED_H

#include "hws.h"
#include "testing.h"

static inline hws_sampler *opened(int64_t n, const float *losses, const hws_options *options) {
    hws_sampler *sampler = NULL;
    assert_int_equal(hws_sampler_open(&sampler, n, losses, options, NULL), HWS_OK);
    assert_non_null(sampler);
    assert_int_equal(hws_sampler_size(sampler), n);
    return sampler;
}

#endif
