# side_by_side JOBS FILE COMMAND...: calls the command with each line of the file, JOBS at a time. Sourced.
#
# Returns when every process that was begun has ended, also after Ctrl-C or another signal to all of them: hws still writes a
# checkpoint then, and until it has, its run's folder is taken for whoever begins again. xargs alone does not wait for that, so
# all of them hold a pipe (descriptor 9), which is read until the last one has let go of it. What became of them is for the
# caller to find out.
side_by_side() {
    most=$1 lines=$2
    shift 2
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    xargs -P "$most" -I '{}' "$@" '{}' <"$lines" 9>&1 | (trap '' HUP INT TERM; exec cat) || :
    trap - HUP INT TERM
}
