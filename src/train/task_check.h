/* Refuses settings that do not fit a task, before there are files of the run. */
#ifndef HWS_TRAIN_TASK_CHECK_H
#define HWS_TRAIN_TASK_CHECK_H

#include "run/settings.h"
#include "task/task.h"

status_code task_check(const task *task, const train_settings *settings, failure *failure);

#endif
