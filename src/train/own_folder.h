/* Whether a new run may be written into a folder: what somebody else has put there must not be lost. */
#ifndef HWS_TRAIN_OWN_FOLDER_H
#define HWS_TRAIN_OWN_FOLDER_H

#include "core/failure.h"

/* Fails, naming the first file that a run would replace. A run that was killed while it began has left files
   that may be replaced: those that are written before its config.json, and that are ours. A folder that is
   not there may be written. */
status_code own_folder_check(const char *folder, failure *failure);

#endif
