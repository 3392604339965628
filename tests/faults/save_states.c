/* Saves the state of a sampler over and over, or says whether a file holds one. usage: save_states save FILE | check
   FILE After "check" it prints how many updates the state has seen; a file that does not open is code 1. */
#include "hws.h"

#include <stdio.h>
#include <string.h>

static int save(const char *path) {
    hws_sampler *sampler;
    hws_error error;
    hws_options options = hws_options_default();
    options.initial_loss = 1;
    if (hws_sampler_open(&sampler, 500, NULL, &options, &error) != HWS_OK) return 1;
    int good = 1;
    for (int k = 0; k < 12 && good; k++) {
        int64_t drawn[4];
        const float losses[4] = {(float)k, 1, 2, 3};
        good = hws_sampler_draw(sampler, 4, drawn) == HWS_OK &&
               hws_sampler_update(sampler, 4, drawn, losses) == HWS_OK && hws_sampler_save(sampler, path) == HWS_OK;
    }
    hws_sampler_close(&sampler);
    return !good;
}

static int check(const char *path) {
    hws_sampler *sampler;
    hws_error error;
    if (hws_sampler_load(&sampler, path, NULL, &error) != HWS_OK) return fprintf(stderr, "%s\n", error.message), 1;
    printf("%llu\n", (unsigned long long)hws_sampler_updates_made(sampler));
    hws_sampler_close(&sampler);
    return 0;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    return strcmp(arguments[1], "save") == 0 ? save(arguments[2]) : check(arguments[2]);
}
