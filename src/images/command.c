#define _POSIX_C_SOURCE 200809L
#include "images/command.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 126 };

/* In the child: only calls that are safe after a fork. */
static void become(const char *const *arguments, const char *folder, const char *log) {
    if (chdir(folder) != 0) _exit(NOT_STARTED);
    const int in = open("/dev/null", O_RDONLY), out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(NOT_STARTED);
    execvp(arguments[0], (char *const *)(void *)arguments);
    _exit(errno == ENOENT ? COMMAND_MISSING : NOT_STARTED);
}

int command_run(const char *const *arguments, const char *folder, const char *log) {
    const pid_t child = fork();
    if (child < 0) return NOT_STARTED;
    if (child == 0) become(arguments, folder, log);
    int how = 0;
    while (waitpid(child, &how, 0) < 0)
        if (errno != EINTR) return NOT_STARTED;
    return WIFEXITED(how) ? WEXITSTATUS(how) : NOT_STARTED;
}
