/* A program that uses the installed library: opens, draws, updates, closes. */
#include <hws.h>

#include <stdio.h>

int main(void) {
    hws_sampler *sampler = NULL;
    int64_t batch[4];
    const float losses[4] = {0.5f, 0.25f, 2, 1};
    hws_options options = hws_options_default();
    hws_error error;
    options.beta = 10;
    hws_status status = hws_sampler_open(&sampler, 100, NULL, &options, &error);
    if (status == HWS_OK) status = hws_sampler_draw(sampler, 4, batch);
    if (status == HWS_OK) status = hws_sampler_update(sampler, 4, batch, losses);
    hws_sampler_close(&sampler);
    printf("hws %s: %s\n", hws_version(), hws_status_text(status));
    return status != HWS_OK;
}
