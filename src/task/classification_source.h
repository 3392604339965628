/* The images that settings ask for. */
#ifndef HWS_TASK_CLASSIFICATION_SOURCE_H
#define HWS_TASK_CLASSIFICATION_SOURCE_H

#include "images/classification_data.h"
#include "run/config.h"

/* What is to be read: settings data, label, size, colour, greys, picture_memory and threads. */
status_code classification_source_of_settings(classification_source *source, const train_settings *settings,
                                              failure *failure);

/* The same for data that a run is asked about: pictures as its network wants them, and its classes. NULL: the run's own
   data, which classification_is_unchanged is to be asked about. */
status_code classification_source_of_run(classification_source *source, const run_config *run, const char *data,
                                         failure *failure);

/* Thins the training set out as --keep says. */
status_code classification_keep(const train_settings *settings, labelled_images *train, failure *failure);

/* What the settings leave of the data: `keep`, and then `validation`, which is refused where the data name a validation
   part. The listener, which may be NULL, hears of classes of which nothing can be validated on. */
status_code classification_divide(const train_settings *settings, classification_data *data, const listener *listener,
                                  failure *failure);

/* Of all sets, as they are trained on: what a run keeps as its data_fingerprint. */
uint64_t classification_fingerprint(const classification_data *data);

/* Whether a run's own data, divided as above, are those that it was trained on: examples, parts, labels and the
   classes' names. Of runs that keep no fingerprint only the names are compared. */
status_code classification_is_unchanged(const run_config *run, classification_data *data, int *is, failure *failure);

/* The column of groups that the settings name, or `group` if there is one. NULL: there are none. Fails if a column was
   named that the data do not have. */
status_code classification_group(const train_settings *settings, const labelled_images *set, const char **column,
                                 failure *failure);

#endif
