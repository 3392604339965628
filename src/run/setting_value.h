/* What can be done with a setting's value, by its kind. The target is the settings themselves. */
#ifndef HWS_RUN_SETTING_VALUE_H
#define HWS_RUN_SETTING_VALUE_H

#include "run/settings.h"

/* From the command line; the failure tells the option. */
status_code setting_value_parse(train_settings *settings, const setting *setting, const char *text, failure *failure);

/* From JSON: 1 if the value is of the setting's kind and within its range; then it is taken. */
int setting_value_read(train_settings *settings, const setting *setting, struct json_t *value);

void setting_value_write(const train_settings *settings, const setting *setting, json_writer *json);

int setting_value_same(const train_settings *a, const train_settings *b, const setting *setting);

#endif
