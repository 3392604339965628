#define _POSIX_C_SOURCE 200809L
#include "images/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* In the child: only calls that are safe after a fork. */
static void become(const char *const *arguments, const char *folder) {
    const int nothing = open("/dev/null", O_RDWR);
    if (chdir(folder) != 0 || nothing < 0 || dup2(nothing, 0) < 0 || dup2(nothing, 1) < 0) _exit(COMMAND_FAILED);
    execvp(arguments[0], (char *const *)(void *)arguments);
    _exit(errno == ENOENT ? COMMAND_MISSING : COMMAND_FAILED);
}

int command_run(const char *const *arguments, const char *folder, const listener *listener) {
    if (listener_stops(listener)) return COMMAND_FAILED;
    const pid_t child = fork();
    if (child == 0) become(arguments, folder);
    if (child < 0) return COMMAND_FAILED;
    int how = 0;
    /* Asking again and again misses no signal, as a waitpid that blocks does when the signal comes just before it. */
    for (pid_t ended; (ended = waitpid(child, &how, WNOHANG)) != child;) {
        if (ended < 0 && errno != EINTR) return COMMAND_FAILED;
        if (listener_stops(listener)) kill(child, SIGTERM);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return WIFEXITED(how) ? WEXITSTATUS(how) : COMMAND_FAILED;
}
