/* How many examples each class has in each part: what is told before a training begins, and
   what cannot be learnt from. */
#ifndef HWS_TASK_CLASS_CENSUS_H
#define HWS_TASK_CLASS_CENSUS_H

#include "images/classification_data.h"

/*
 * Fails where the training part holds one class only; `name` is what the message calls the data. The listener, which
 * may be NULL, hears of classes without a training example and of those with very few beside much larger ones, whose
 * names are perhaps mistyped.
 */
status_code class_census_check(const classification_data *data, const char *name, const listener *listener,
                               failure *failure);

/* Adds a line: the classes with their examples to train, validate and test on; of many, the
   rarest and the most frequent. */
void class_census_words(const classification_data *data, text *line);

#endif
