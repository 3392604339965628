# For tests with ranks, after cli/testing.sh: mpirun on the loopback, bounded in time. Needs $program, $mpirun, $work.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_WAIT_POLICY=passive
export TMPDIR="${TMPDIR:-/tmp}" # Open MPI's sockets want short names
is_open_mpi() { "$mpirun" --version 2>/dev/null | grep -qE 'Open MPI|OpenRTE'; } # mpiexec calls itself OpenRTE
over_loopback="--oversubscribe --bind-to none --mca btl self,vader,tcp --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo"
over_loopback="$over_loopback --mca pml ob1 --mca mpi_yield_when_idle 1 --mca btl_vader_single_copy_mechanism none"
is_open_mpi || over_loopback= # MPICH's needs nothing

launch() { # CODE RANKS ARGUMENTS...
    expected=$1 ranks=$2
    shift 2
    timeout -k 5 300 "$mpirun" $over_loopback -n "$ranks" "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
    code=$?
    [ $code -eq "$expected" ] || fail "mpirun -n $ranks hws $* ended with $code, not $expected: $(cat "$work/err")"
}

start() { # RANKS ARGUMENTS...: in the background; its process is $launched, what it says goes to $work/launched
    ranks=$1
    shift
    timeout -k 5 300 "$mpirun" $over_loopback -n "$ranks" "$program" "$@" >"$work/launched" 2>&1 </dev/null &
    bounded=$!
    launched=
    until_true "mpirun" has_begun
}

has_begun() {
    launched=$(ps -o pid= --ppid "$bounded" | tr -d ' ')
    [ -n "$launched" ] || ! kill -0 "$bounded" 2>/dev/null
}

rank_pid() { # RANK of $launched: its child, or its child's child
    for pid in $(ps -o pid= --ppid "$launched") $(for child in $(ps -o pid= --ppid "$launched"); do ps -o pid= --ppid $child; done); do
        tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qxE "(OMPI_COMM_WORLD|PMI)_RANK=$1" && echo "$pid"
    done
}

patience=120
until_true() { # WHAT COMMAND...: polls for $patience seconds
    what=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt $((10 * patience)) ] || { fail "waited in vain for $what: $(cat "$work/launched")"; return; }
        sleep 0.1
    done
}
