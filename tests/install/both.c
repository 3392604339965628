/* The sampler's library and the one for prediction in one program: neither's names are in the other's way. */
#include <hws.h>
#include <hws_predict.h>

#include <string.h>

int main(void) {
    const float losses[2] = {1, 2};
    const char *nowhere = "nowhere";
    hws_sampler *sampler = NULL;
    hws_predictor *predictor = NULL;
    hws_predict_error error;
    const int sampled = hws_sampler_open(&sampler, 2, losses, NULL, NULL) == HWS_OK;
    const int refused = hws_predict_open(&predictor, &nowhere, 1, NULL, &error) == HWS_PREDICT_ERROR_READ;
    hws_sampler_close(&sampler);
    return !(sampled && refused && !predictor && strcmp(hws_version(), hws_predict_version()) == 0);
}
