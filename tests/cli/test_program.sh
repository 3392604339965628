#!/bin/sh
# The hws program: what it prints where, and its exit codes. usage: test_program.sh PROGRAM VERSION
set -u
program=$1
version=$2
. "$(dirname "$0")/testing.sh"

complains() { head -n 1 "$work/err" | grep -q "^hws: .*$1" || fail "stderr does not begin with 'hws: ...$1'"; }

# refused WORDS ARGUMENTS...: a usage error that says WORDS.
refused() {
    words=$1
    shift
    run 2 "$@"
    complains "$words"
    is_silent out
}

for option in --help -h help; do
    run 0 $option
    prints '^usage: hws VERB'
    prints 'bench sampler'
    is_silent err
done
run 0 --version
prints "^hws $version\$"
is_silent err
run 2
is_silent out
grep -q 'usage:' "$work/err" || fail "no usage on stderr"

refused "there is no verb 'fly'" fly
refused "''" ''
refused 'bench what' bench
refused 'bench what' bench trainer
run 0 bench --help
prints '^usage: hws bench sampler'
run 0 bench sampler --help
prints '--divergence'

refused "no option '--wrong'" bench sampler --wrong
refused "no option 'extra'" bench sampler --n 10 extra
for option in --n --batch --beta --tail --drift --divergence; do
    refused "$option needs a value" bench sampler $option
done
refused '--batch needs a value, and --n is an option' bench sampler --batch --n 100
for sizes in '' 0 -5 abc 1e2x 2.5 nan inf 1e99 ',' '10,,20' ',10' '1e2;1e3' 4294967295; do
    refused '--n' bench sampler --n "$sizes"
done
for batch in '' 0 -1 1.5 abc 2x nan inf 1e9; do
    refused '--batch' bench sampler --n 100 --batch "$batch"
done
for beta in '' -1 abc nan inf 1e16 1x; do
    refused '--beta' bench sampler --n 100 --beta "$beta"
done
for tail in '' 0 -1 2 abc nan inf 1x; do
    refused '--tail' bench sampler --n 100 --tail "$tail"
done
run 0 bench sampler --n 100 --tail 0.1
for drift in '' -1 2 abc nan inf 1x; do
    refused '--drift' bench sampler --n 100 --drift "$drift"
done
run 0 bench sampler --n 100 --tail 0.1 --drift 0.03
for divergence in '' KL cvar cvar:0 cvar:2 cressie-read: custom 'kl '; do
    refused '--divergence' bench sampler --n 100 --divergence "$divergence"
done
refused 'larger than n' bench sampler --n 10 --batch 11
refused 'larger than n' bench sampler --n 1000,10 --batch 11

# A run that cannot be done is not a usage error.
run 1 bench sampler --n 100 --batch 50 --divergence cvar:0.01
complains 'n = 100'

run 0 bench sampler --n 1e1,20
is_silent err
prints 'examples.*ns/iteration'
[ "$(wc -l <"$work/out")" -eq 3 ] || fail "a heading and two rows were expected"
prints '^ *10  *[0-9]'
prints '^ *20  *[0-9]'

run 0 predict --help
prints '^  --input FILE|DIR .*needed'
prints '^  --output DIR|FILE.csv .*needed'
prints '^  --out DIR|FILE.csv '

# The report of a run's folder.
run 0 report --help
prints '^usage: hws report RUN'
refused 'which run' report
refused "no option '--wrong'" report "$work" --wrong
refused '--out needs' report "$work" --out
refused "no config.json" report "$work" --out "$work/x.html"
refused "/no/such/run: is not a run's folder" report /no/such/run
mkdir "$work/run"
echo '{' >"$work/run/config.json"
refused 'config.json, line' report "$work/run"
echo '{"objective": "erm"}' >"$work/run/config.json"
refused 'several runs need --out' report "$work/run" "$work/run"
run 0 report "$work/run"
prints "run/report.html\$"
is_silent err
grep -q '<title>ERM</title>' "$work/run/report.html" || fail "no title in the report"
cp -r "$work/run" "$work/again"
run 0 report "$work/run" "$work/again" --out "$work/x.html"
grep -q '<title>2 runs</title>' "$work/x.html" || fail "no title in the report of two"
run 1 report "$work/run" --out /no/such/folder/x.html
complains 'cannot be written'

number='-\{0,1\}[0-9][0-9]*\(\.[0-9]*\)\{0,1\}\([eE][-+]\{0,1\}[0-9]*\)\{0,1\}'
for divergence in kl chi2 reverse-kl hellinger cressie-read:0.5 js cvar:0.5; do
    run 0 bench sampler --n 10,20 --batch 4 --beta 1 --divergence $divergence --json
    is_silent err
    [ "$(wc -l <"$work/out")" -eq 2 ] || fail "two lines of JSON were expected"
    for n in 10 20; do
        times="\"iteration_ns\": $number, \"least_ns\": $number, \"low_ns\": $number, \"high_ns\": $number"
        grep -q "^{\"n\": $n, \"batch\": 4, $times, \"bytes_per_example\": $number}\$" "$work/out" ||
            fail "no such object for n = $n ($divergence)"
    done
done

# Help, man pages and completions know the same verbs and options.
for verb in $("$program" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | sort -u); do
    run 0 help "$verb"
    cp "$work/out" "$work/helped"
    run 0 "$verb" --help
    same "$work/out" "$work/helped"
    run 0 help --man "$verb"
    prints "^[.]TH HWS-"
    prints '^[.]SH SYNOPSIS'
    for shell in bash zsh fish; do
        run 0 help --complete $shell
        prints "$verb"
    done
done
for shell in bash zsh fish; do
    run 0 help --complete $shell
    prints 'history-momentum'
    prints 'onnx'
done
run 0 help --complete bash
bash -n "$work/out" 2>/dev/null || ! command -v bash >/dev/null || fail "bash cannot read its completions"
run 0 help --man
prints 'export; see\|[.]B export'
run 2 help --complete csh
run 2 help tran
complains "did you mean train"
run 2 trian
complains "did you mean train"
run 2 xyzzy
complains "there is no verb 'xyzzy'; hws --help"
run 2 train --epoch 3
complains "did you mean --epochs"
run 0 info
for words in '^processor' '^kernels  *[ag]' '^threads' '^MPI'; do prints "$words"; done

if [ -c /dev/full ]; then
    for arguments in --help --version 'bench --help' 'bench sampler --n 10' 'bench sampler --n 10 --json'; do
        # shellcheck disable=SC2086
        "$program" $arguments >/dev/full 2>"$work/err"
        code=$?
        : >"$work/out"
        [ $code -eq 1 ] || fail "hws $arguments on a full disk: exit code $code, expected 1"
        complains 'standard output'
    done
fi

[ $failures -eq 0 ] && echo "all is well"
exit $((failures > 0))
