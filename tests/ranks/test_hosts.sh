#!/bin/sh
# Two hosts, which are network namespaces joined by a cable of limited rate and some delay: the bits of one process. Where this
# is not allowed, or tools are missing, it is skipped (77). usage: test_hosts.sh PROGRAM MPIRUN [RATE...]
# With rates, such as 100mbit 1gbit: prints the milliseconds of a training step at each, medians of five that were taken by turns,
# beside those without a limit.
set -u
program=$1
mpirun=$2
shift 2
. "$(dirname "$0")/../cli/testing.sh"
. "$(dirname "$0")/launch.sh"

for tool in ip tc; do command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }; done
a=hws$$a b=hws$$b
clear_up() { ip netns del $a; ip netns del $b; rm -rf "$work"; }
ip netns add $a 2>/dev/null || { echo "skipped: network namespaces cannot be made here"; exit 77; }
trap 'clear_up 2>/dev/null' EXIT
ip netns add $b && ip -n $a link add cable type veth peer name cable netns $b || { echo "skipped: no veth"; exit 77; }
ip -n $a addr add 10.77.0.1/24 dev cable
ip -n $b addr add 10.77.0.2/24 dev cable
for host in $a $b; do
    ip -n $host link set lo up
    ip -n $host link set cable up
done

limit() { # RATE: of both directions, with a delay of 50 microseconds where there is netem
    for host in $a $b; do
        ip netns exec $host tc qdisc replace dev cable root netem rate "$1" delay 50us limit 100000 2>/dev/null ||
            ip netns exec $host tc qdisc replace dev cable root tbf rate "$1" burst 128kb latency 100ms || return 1
    done
}

# In the place of ssh, which MPICH gives an option.
cat >"$work/agent" <<END
#!/bin/sh
[ "\$1" != -x ] || shift
case \$1 in 10.77.0.1) host=$a ;; *) host=$b ;; esac
shift
exec ip netns exec \$host sh -c "\$*"
END
chmod +x "$work/agent"

over_cable="-launcher ssh -launcher-exec $work/agent -iface cable -ppn 1 -hosts 10.77.0.1,10.77.0.2"
! is_open_mpi || over_cable="--oversubscribe --bind-to none --map-by node -H 10.77.0.1,10.77.0.2 --mca plm_rsh_agent $work/agent \
    --mca plm rsh --mca btl self,tcp --mca btl_tcp_if_include cable --mca oob_tcp_if_include cable --mca mpi_yield_when_idle 1"
on_hosts() { # ARGUMENTS...: one rank on each
    timeout -k 5 300 ip netns exec $a "$mpirun" $over_cable -n 2 "$program" "$@" >"$work/out" 2>"$work/err" </dev/null
}

limit 1gbit 2>/dev/null || { echo "without netem and tbf the cable has no limits here"; set --; }
how="digits:120,40 --model wrn-10-1 --batch 8 --iterations 4 --epoch-length 4 --quiet --threads 1"
run 0 train $how --out "$work/alone"
on_hosts train $how --out "$work/hosts" || fail "two hosts: $(cat "$work/err")"
same "$work/alone/latest.safetensors" "$work/hosts/latest.safetensors"

measure() { # RATE MODEL
    if [ "$1" = none ]; then
        for host in $a $b; do ip netns exec $host tc qdisc del dev cable root 2>/dev/null; done
    else
        limit "$1" || fail "the rate $1"
    fi
    on_hosts bench train --model "$2" --threads 1 --seconds 4 --json || fail "at $1: $(cat "$work/err")"
    sed 's/.*"ms_per_iteration": \([0-9.]*\).*/\1/' "$work/out" >>"$work/$2-$1"
}
[ $# -eq 0 ] || set -- none "$@"
for round in 1 2 3 4 5; do
    for rate in "$@"; do
        for model in unet wrn-16-1 mlp-3-2048; do measure "$rate" $model; done
    done
done
for rate in "$@"; do
    for model in unet wrn-16-1 mlp-3-2048; do
        echo "$model $rate $(sort -g "$work/$model-$rate" | sed -n 3p) ms"
    done
done
[ $failures -eq 0 ]
