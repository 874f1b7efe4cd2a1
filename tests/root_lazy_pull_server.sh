#!/bin/sh
# The lazy pull study with its server on another machine; this is our own sshd
# in a network namespace, because the server's ports are fixed
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/sshd.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
PATH=$PATH:/usr/sbin:/sbin
for tool in lap lapcmp layerpack layermount touchlog docker-registry skopeo \
    umoci ip tc nginx sshd ssh ssh-keygen; do
	have $tool || skip_all "no $tool"
done
# sysfs shows the interfaces of the namespace in which it was mounted.
[ -n "${LAZY_NET-}" ] || {
	unshare --net --mount true 2>/dev/null || skip_all 'no namespaces'
	# shellcheck disable=SC2016
	LAZY_NET=yes exec unshare --net --mount --propagation slave \
	    sh -c 'mount -t sysfs sysfs /sys && ip link set lo up && exec sh "$0"' \
	    "$0"
}
trap sshd_end EXIT
trap 'exit 1' HUP INT TERM
far=$PWD/far
mkdir "$far"
sshd_start "$BIN:/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=$far"
t 'sshd answers' 0 sshd_try
lazy=$SRC/scripts/lazy-pull

t 'a shaped link' 1 "$lazy" --quick --server 127.0.0.1 --links 100
shows 'is no link to another machine' 'only open' .t.err
t 'an unreachable server' 1 env COLDPRESS_SSH=false "$lazy" -q --quick \
    --server 127.0.0.1 -o none.csv
shows 'is reported' 'cannot be reached' .t.err

systems='overlayfs zstd-trace zstd-files cas'
t 'the study' 0 "$lazy" -q --quick -n 1 --server 127.0.0.1 -o rows.csv \
    --systems "$systems" --rows 'quick.read.*'
# of LABEL COLUMN: prints a value from its row
of() {
	awk -F, -v label="quick.read.$1.open" -v name="$2" '/^#/ { next }
	!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
	$at["label"] == label { print $at[name] }' rows.csv
}
for system in $systems; do
	is "$system: the run is good" "$(of "$system" exit)" 0
	requests=$(of "$system" keys | sed 's/.*;requests=\([0-9]*\).*/\1/')
	t "$system: requests at the server" 0 test "$requests" -gt 2
done
t 'lazy starts receive less' 0 test "$(of zstd-trace rx_B)" -lt \
    $(($(of overlayfs rx_B) / 2))
is 'nothing is left on the server' "$(ls "$far")" ''

# If the client is killed in the middle of a cell, the server's processes also
# exit.
serving() { pgrep -f "docker-registry serve $far/" >/dev/null; }
not_serving() { ! serving; }
t 'more runs' 0 "$lazy" -q -n 3 -o rows.csv prepare
setsid "$lazy" -q -o rows.csv run >/dev/null 2>&1 &
pid=$!
t 'the server serves' 0 await serving
kill -KILL -$pid
wait $pid 2>/dev/null
t 'killed: the server ends' 0 await not_serving
only_images() { [ -z "$(cd "$far"/* && ls -d serving 2>/dev/null)" ]; }
t 'and keeps only the images' 0 await only_images
t 'resumed' 0 "$lazy" -q -o rows.csv run
is 'nothing is left on the server again' "$(ls "$far")" ''
done_testing
