/* Another program, started directly and waited for. */
#ifndef HWS_IMAGES_COMMAND_H
#define HWS_IMAGES_COMMAND_H

enum { COMMAND_MISSING = 127 };

/* Runs arguments[0] as found in PATH, in `folder`, with nothing to read and what it says appended to the file `log` in
   that folder. `arguments` ends with NULL. Returns its exit code, COMMAND_MISSING if there is no such program, or 126 if
   it could not be started or was killed. */
int command_run(const char *const *arguments, const char *folder, const char *log);

#endif
