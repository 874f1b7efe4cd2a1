#!/bin/sh
# Tests the lazy pull study with our own image: its rows, and removal of all
# files and processes
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/oci.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
for tool in lap lapcmp layerpack layermount touchlog docker-registry skopeo \
    umoci ip tc setfattr; do
	have $tool || skip_all "no $tool"
done
unshare --net --mount --pid --fork true 2>/dev/null || skip_all 'no namespaces'
lazy=$SRC/scripts/lazy-pull

# A study's processes have LAZY_TEST in their environment; its containers run
# $sleeping.
LAZY_TEST=$PWD
export LAZY_TEST
sleeping='sleep 295.25'
# left: prints a study's remaining processes and mounts
left() {
	for left_dir in /proc/[0-9]*; do
		[ "${left_dir#/proc/}" != $$ ] || continue
		! grep -q -s -F "LAZY_TEST=$PWD" "$left_dir/environ" ||
		    tr '\0' ' ' 2>/dev/null <"$left_dir/cmdline" |
		    grep -E 'lazy[-]pull|layer[m]ount|docker-[r]egistry|un[s]hare|in[f]inity'
	done
	pgrep -x -f "$sleeping"
	grep -F "$PWD" /proc/[0-9]*/mounts 2>/dev/null
}
none_left() { [ -z "$(left)" ]; }
# nothing: waits until no processes or mounts remain, and prints any that do
nothing() {
	await none_left
	left
}

# An image with two layers, the second of which removes a file from the first
# and hides a directory.
mkdir -p one/bin one/data two/data two/tmp one/hidden two/hidden
for program in sh cat sleep; do
	path=$(command -v $program)
	cp -L "$path" one/bin/
	ldd "$path" | grep -o '/[^ )]*' | while read -r library; do
		mkdir -p "one${library%/*}"
		cp -L "$library" "one$library"
	done
done
seq 200000 >one/data/numbers
head -c 8000000 /dev/urandom >one/data/unread
echo first >one/data/gone
echo first >one/hidden/file
: >two/data/.wh.gone
: >two/hidden/.wh..wh..opq
layers='' diffs='' refs=''
layer one gzip
layer two gzip
manifest image
command="[ ! -e /data/gone ] && [ ! -e /hidden/file ] && cat /data/numbers"

t 'the study' 0 "$lazy" -q -n 1 --image "$PWD/layout:image" \
    --command "$command" --links 'open 50' -o rows.csv \
    --systems 'overlayfs estargz estargz-trace zstd64 ztoc'
shows 'has its table' '^run.estargz-trace  *1 '
shows 'and what it lacks' 'ztoc.open: missing: the layers have whiteouts$'
shows 'and what the image needs' '^run  *[0-9.]* MB in'
is 'all runs are good' "$(col rows.csv exit | tr ' ' '\n' | sort | uniq -c |
    tr -s ' ')" ' 8 0'
# key LABEL NAME: prints the value of a key in the label's row
key() {
	grep -v '^#' rows.csv | grep ",own.run.$1," |
	    sed -n "s/.*[;,]$2=\\([0-9.]*\\).*/\\1/p"
}
# received LABEL: prints the number of bytes received in its run
received() {
	awk -F, -v label="own.run.$1" '/^#/ { next }
	!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
	$at["label"] == label { print $at["rx_B"] }' rows.csv
}
size=$(cat layout/blobs/sha256/* | wc -c)
t 'the whole image was pulled' 0 test "$(received overlayfs.open)" -gt "$size"
for system in estargz estargz-trace zstd64; do
	t "$system: far less" 0 test "$(received $system.open)" -lt $((size / 2))
	t "$system: but something" 0 test "$(received $system.open)" -gt 100000
	t "$system: requests" 0 test "$(key $system.open requests)" -gt 2
	is "$system: nothing was there before" \
	    "$(key $system.open files_before)" 0
done
t 'a trace is fetched by the pull' 0 test \
    "$(key estargz-trace.open pull_B)" -gt "$(key estargz-trace.open run_B)"
# 8 MB at 50 Mbit/s take 1.3 s
is 'the link is shaped' "$(key overlayfs.50 pull_s |
    awk '{ print ($1 >= 8e6 * 8 / 50e6) }')" 1
is 'nothing is left' "$(nothing)" ''
if have gnuplot; then
	is 'charts' "$(grep -l '</svg>' rows-own-open-data.svg \
	    rows-own-open-time.svg rows-own.run.50-pattern.svg | wc -l)" 3
fi
# Two clients with a cache, a distant registry, and the other pullers
others='ztoc'
! have containerd || ! have runc || others='ztoc containerd'
if have python3 && have nginx && have curl; then
	! layermount --help | grep -q -e --key || others="$others cas"
	! have squid || [ "${others% cas}" = "$others" ] ||
	    others="$others cas-squid"
	rows='quick.read.*.open quick.read.*.x2 quick.read.*.x2.cache'
	t 'more systems' 0 "$lazy" -q -n 1 --quick --systems \
	    "estargz-trace zstd-files $others" --clients '1 2' --cache 'no yes' \
	    --delay '0 300' -o more.csv \
	    --rows "$rows quick.read.estargz-trace.open.d300"
	is 'all of their runs are good' \
	    "$(col more.csv exit | tr ' ' '\n' | sort -u)" 0
	# of LABEL COLUMN: prints a value from its row
	of() {
		awk -F, -v label="quick.read.$1" -v name="$2" '/^#/ { next }
		!n { for (n = NF; n > 0; n--) at[$n] = n; n = NF; next }
		$at["label"] == label { print $at[name] }' more.csv
	}
	one=$(of ztoc.open rx_B)
	t 'a ztoc fetches some of the layer' 0 test "$one" -gt 3000000
	t 'two clients fetch it twice' 0 test "$(of ztoc.open.x2 rx_B)" -gt \
	    $((one * 3 / 2))
	t 'but with a cache, once' 0 test "$(of ztoc.open.x2.cache rx_B)" -lt \
	    "$(of ztoc.open.x2 rx_B)"
	t 'files need no registry' 0 test "$(of zstd-files.open rx_B)" -lt \
	    "$one"
	case $others in
	*containerd*)
		t 'two containerds pull twice' 0 test \
		    "$(of containerd.open.x2 rx_B)" -gt \
		    $(($(of containerd.open rx_B) * 3 / 2))
		;;
	esac
	case $others in
	*squid)
		# requests LABEL: prints the number of requests made by its run
		requests() {
			of "$1" keys | sed 's/.*;requests=\([0-9]*\).*/\1/'
		}
		t 'a repository is read by requests' 0 test \
		    "$(requests cas.open)" -gt 10
		is 'but squid has it all' "$(requests cas-squid.open)" 0
		t 'squid near two clients fetches once' 0 test \
		    "$(of cas.open.x2.cache rx_B)" -lt \
		    $(($(of cas.open.x2 rx_B) * 3 / 4))
		;;
	esac
	# at least a connection, the manifest, the index and the trace
	is 'a distant registry takes longer' \
	    "$(of estargz-trace.open.d300 wall_s | awk '{ print ($1 > 1.2) }')" 1
	is 'nothing is left of them' "$(nothing)" ''
else
	skip 'no python3, nginx or curl'
fi

t 'a command that fails' 1 "$lazy" -q -n 1 --image "$PWD/layout:image" \
    --command 'cat /data/gone' --links open -o failed.csv --systems zstd64
shows 'is reported' "run: .*gone: No such file" .t.err

# A container that runs until it is killed, except while the image is built
t 'a study to be stopped' 0 "$lazy" -q -n 1 --image "$PWD/layout:image" \
    --command 'echo ready' --links open --systems estargz-trace \
    -o stop.csv prepare
sed -i "s/^user_command	.*/&; exec $sleeping/" stop.csv.d/plan
asleep() { pgrep -x -f "$sleeping" >/dev/null; }
for signal in INT TERM KILL; do
	# a shell makes background commands ignore INT
	env --default-signal=INT "$lazy" -q -o stop.csv run >/dev/null 2>&1 &
	pid=$!
	t "$signal: the container runs" 0 await asleep
	kill -$signal $pid
	wait $pid 2>/dev/null
	# After SIGKILL the cell continues, as intended; its container is killed
	# here.
	until flock -n stop.csv.d/lock.cell true; do
		pgrep -x -f "$sleeping" | xargs -r kill -9
		sleep 0.1
	done
	is "$signal: nothing is left" "$(nothing)" ''
	rm -rf stop.csv.d/rows
done

# All of the study's processes are killed together after various delays.
for moment in 0.1 0.3 0.6 1 2; do
	setsid "$lazy" -q -o stop.csv run >/dev/null 2>&1 &
	pid=$!
	sleep $moment
	kill -KILL -$pid 2>/dev/null
	wait $pid 2>/dev/null
	is "all killed after $moment s: nothing is left" "$(nothing)" ''
done
done_testing
