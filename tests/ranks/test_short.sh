#!/bin/sh
# A little of everything on two ranks, for programs with sanitizers, which must find nothing of ours. What MPI has not given back
# at the end is not ours: a leak counts if our code has allocated it. usage: test_short.sh PROGRAM MPIRUN
set -u
program=$1
mpirun=$2
. "$(dirname "$0")/../cli/testing.sh"
. "$(dirname "$0")/launch.sh"
log=log_path=$work/sanitizer # also of ranks that do not speak
export ASAN_OPTIONS=$log LSAN_OPTIONS=exitcode=0 UBSAN_OPTIONS=$log TSAN_OPTIONS=$log:ignore_noninstrumented_modules=1

clean() {
    ours='^ *#1 .* in [^ ]* .*(src|cli)/.*[.]c:'
    cat "$work"/sanitizer.* >"$work/found" 2>/dev/null
    grep -E -A8 "ERROR: AddressSanitizer|WARNING: ThreadSanitizer|runtime error|$ours" "$work/found" >"$work/complaints" || return 0
    fail "a sanitizer complains: $(head -n 40 "$work/complaints")"
}
check() { # NAME OPTIONS...
    name=$1
    shift
    run 0 train "$@" --quiet --threads 2 --out "$work/$name-alone"
    launch 0 2 train "$@" --quiet --threads 2 --out "$work/$name"
    clean
    same "$work/$name-alone/latest.safetensors" "$work/$name/latest.safetensors"
}
check wrn digits:80,30 --model wrn-10-1 --batch 8 --iterations 3 --epoch-length 2 --importance
run 0 phantom --out "$work/data" --cases 6 --size 16,24,16 --spacing 6 --threads 2
check unet "$work/data" --iterations 2 --epoch-length 1 --batch 2 --importance --look-ahead 2
launch 0 2 plan "$work/data" --out "$work/cache" --threads 2
clean
launch 0 2 predict "$work/unet" --input "$work/data/imagesTr" --output "$work/labels" --no-mirror --threads 2
clean
launch 0 2 evaluate --pred "$work/labels" --ref "$work/data/labelsTr" --out "$work/scores" --threads 2
clean
launch 2 2 evaluate --pred "$work/labels" --ref "$work/nowhere"
clean
[ $failures -eq 0 ]
