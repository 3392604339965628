/* Another program, started directly (never through a shell) and waited for. */
#ifndef HWS_IMAGES_COMMAND_H
#define HWS_IMAGES_COMMAND_H

#include "core/listener.h"

enum { COMMAND_FAILED = 126, COMMAND_MISSING = 127 };

/*
 * Runs arguments[0] as found in PATH, in `folder`. `arguments` ends with NULL. The program has nothing to read, its
 * output is dropped, and its complaints go to our stderr: nobody knows better what went wrong. Once the listener (which
 * may be NULL) says stop, it is told to end. Returns its exit code, COMMAND_MISSING if there is no such program, or
 * COMMAND_FAILED if it could not be started or was killed.
 */
int command_run(const char *const *arguments, const char *folder, const listener *listener);

#endif
