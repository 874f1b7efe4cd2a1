#!/bin/sh
# Every reply from the server is bad: each of a hundred reads fails with EIO in
# time or returns the correct data, and the mount recovers.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/layermount.sh
. "$SRC/tests/layermount.sh"

# fault MODE EVERY [HOW]: mounts, makes the server misbehave in this way, and
# then behave again
fault() {
	mode good 1
	t "$1: mounted" 0 start --prefetch none "$url"
	ls -R mnt >/dev/null
	mode "$1" "$2"
	shift
	survived "$m" ${2+"$2"}
	large "$m"
	mode good 1
	recovered "$m: afterwards"
	t "$m: alive" 0 cmp mnt/dir/text tree/dir/text
	stop
}

for m in 404 416 429 500 stalls silent loops garbage encodes moves basic \
    endless-head; do
	fault $m 1 EIO
done
for m in dies flips short changes deaf; do
	fault $m 1
done
m=vanishes
if [ -r /proc/self/status ] && [ $((0x$(sed -n \
    's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 12 & 1)) = 1 ]; then
	fault vanishes 1 right
else
	skip 'vanishes: no right to repair a socket'
fi

exec 3>&-
wait
done_testing
