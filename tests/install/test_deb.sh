#!/bin/sh
# The packages that make deb has built: lintian finds no errors, and in a bare Debian 12 they install, train, draw from Python,
# compile and run C programs, and go away without a trace. Needs root for the chroot.
# usage: test_deb.sh PACKAGES SOURCES    the folders with the .deb files and with consumer.c
set -eu
packages=$(cd "$1" && pwd)
sources=$(cd "$2" && pwd)
work=$(mktemp -d)
root=$work/root
mounted=""
end() {
    [ -z "$mounted" ] || umount "$root/proc"
    rm -rf --one-file-system "$work"
}
trap end EXIT
trap 'exit 1' INT TERM
step() { echo "-- $*"; }
die() {
    echo "FAILED: $*" >&2
    exit 1
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    OMP_WAIT_POLICY=passive "$@"; }
install() { inside apt-get install -y -q --no-install-recommends "$@" >"$work/log" 2>&1 || die "apt-get: $(cat "$work/log")"; }

step lintian
lintian --fail-on error --tag-display-limit 0 "$packages"/*.changes || die "lintian finds errors"

step "links of the documents"
dpkg-deb -x "$(ls "$packages"/hws_*_*.deb)" "$work/unpacked"
find "$work/unpacked/usr/share/doc/hws" -name '*.md' | while IFS= read -r page; do
    grep -o '](\(\.\./\)*[A-Za-z][^):#]*[)#]' "$page" | sed 's/^](//; s/.$//' | while IFS= read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "${page##*/}: there is no $link"
    done
done >"$work/dead"
[ ! -s "$work/dead" ] || die "dead links: $(cat "$work/dead")"

# A bare system is kept for the next time: it takes minutes to make.
base=$packages/../debootstrap-bookworm.tar
if [ ! -e "$base" ]; then
    step debootstrap
    mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)}
    debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$work/log" 2>&1 ||
        die "debootstrap: $(tail -n 20 "$work/log")"
    tar -cf "$base.new" -C "$root" --one-file-system .
    mv "$base.new" "$base"
else
    mkdir "$root"
    tar -xf "$base" -C "$root"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
if mount -t proc proc "$root/proc" 2>/dev/null; then mounted=1; fi
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
inside apt-get update -q >"$work/log" 2>&1 || die "apt-get update: $(cat "$work/log")"

step "the library alone needs libc alone"
inside sh -c 'apt-get install -s --no-install-recommends /packages/libhws0.1_*.deb' >"$work/log"
[ "$(grep -c '^Inst' "$work/log")" = 1 ] || die "libhws0.1 brings others: $(grep '^Inst' "$work/log")"

step "the program: a training"
install "/packages/$(basename "$packages"/hws_*_*.deb)"
inside sh -c 'cd /root && hws train digits:2000,500 --epochs 1 --out run' >"$work/train" 2>&1 || die "hws train: $(cat "$work/train")"
tail -n 4 "$work/train"
inside test -s /root/run/best.safetensors -a -s /root/run/history.csv || die "the run has no weights or no history"
for file in /usr/share/man/man1/hws.1.gz /usr/share/man/man1/hws-train.1.gz /usr/share/bash-completion/completions/hws \
    /usr/share/zsh/vendor-completions/_hws /usr/share/fish/vendor_completions.d/hws.fish; do
    [ -e "$root$file" ] || die "the package has no $file"
done

step "the Python package: draws follow the losses"
install "/packages/$(basename "$packages"/python3-hws_*.deb)" "/packages/$(basename "$packages"/libhws0.1_*.deb)"
inside python3 - <<'END' || die "the Python package does not draw as it should"
import hws
from hws import _library
assert _library.library_path == "libhws.so.0.1", _library.library_path
sampler = hws.Sampler(100, beta=10, seed=1)
for _ in range(50):  # example 7 is hard, the others are not
    drawn = sampler.draw(4)
    sampler.update(drawn, [1.0 if example == 7 else 0.0 for example in drawn])
hard = sum(7 in sampler.draw(4) for _ in range(100))
assert hard == 100 and 7 == sampler.hardest(1)[0][0], hard
print("hws", hws.__version__, "drew the hard example in", hard, "of 100 batches")
END

step "the C library: a program"
install "/packages/$(basename "$packages"/libhws-dev_*.deb)" "/packages/$(basename "$packages"/libhws-predict0.1_*.deb)" gcc libc6-dev pkg-config
cp "$sources/consumer.c" "$sources/both.c" "$root/root"
inside sh -eu -c 'cd /root && cc consumer.c -o consumer $(pkg-config --cflags --libs hws) && ./consumer && ldd consumer | grep libhws.so.0.1
    cc both.c -o both $(pkg-config --cflags --libs hws hws_predict) && ./both && ldd both | grep libhws_predict.so.0.1
    cc consumer.c -static -o consumer_static $(pkg-config --cflags --static --libs hws) && ./consumer_static' || die "the C programs fail"

step "gone again"
inside apt-get purge -y -q hws libhws0.1 libhws-predict0.1 libhws-dev python3-hws >"$work/log" 2>&1 || die "apt-get purge: $(cat "$work/log")"
left=$(find "$root/usr" "$root/etc" "$root/var/lib" -name '*hws*')
[ -z "$left" ] || die "left behind: $left"
echo "all is well"
