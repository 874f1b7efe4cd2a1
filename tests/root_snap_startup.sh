#!/bin/sh
# Tests the snap study with our own program: its rows, and removal of its files
# and processes
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2120
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in lap lapcmp coldwalk winwait touchlog sqpack mksquashfs; do
	have $tool || skip_all "no $tool"
done
unshare --pid --fork --mount true 2>/dev/null || skip_all 'no namespaces'
snap=$SRC/scripts/snap-startup

mkdir tree
seq 200000 >tree/numbers
seq 800000 >tree/unread
cp "$snap" 'tree/a b'
cat >mine.app <<EOF
tree=$PWD/tree
host=yes
criterion=line
match=^ready
command=cat "\$ROOT/numbers" >/dev/null; echo ready; exec sleep 295.5
EOF
mkdir try
mksquashfs try try.sqsh -no-progress >/dev/null 2>&1
mkdir mnt
mount -t squashfs -o loop,ro try.sqsh mnt 2>/dev/null || skip_all 'no squashfs'
umount mnt

# left: prints the mounts and attached devices under this folder, and the
# running program
left() {
	grep -F "$PWD" /proc/*/mounts 2>/dev/null
	losetup -a | grep -F "$PWD"
	pgrep -x -f 'sleep 295.5'
}
# gone: waits until all mounts and processes of the study are gone
gone() {
	gone_tries=0
	while [ -n "$(left)" ] && [ $gone_tries -lt 3000 ]; do
		sleep 0.1
		gone_tries=$((gone_tries + 1))
	done
	left
}

t 'a dry run' 0 "$snap" -q -n 2 --from mine.app -o dry.csv --dry-run
shows 'says how long it would take' 'cells of launches, .* about .* hours$'
t 'the study' 0 "$snap" -q -n 1 --quick --from mine.app -o rows.csv \
    --rows 'mine.try mine.gzip mine.gzip.walk'
shows 'has its table' '^gzip .* | *1 .*'
shows 'and what a launch costs' '^mine.gzip  *1 '
if have gnuplot; then
	is 'and charts' "$(grep -l '</svg>' rows-mine-launches.svg \
	    rows-mine-walks.svg rows-ratios.svg rows-cpu.svg rows-files.svg |
	    wc -l)" 5
else
	shows 'and says what is lost' '^Charts: not drawn'
fi
t 'it is compared with another' 0 "$snap" report rows.csv rows.csv.d
shows 'in columns' '^mine.gzip  *[0-9]*  *[0-9]* |'
is 'one row each' "$(col rows.csv label | tr ' ' '\n' | sort | tr '\n' ' ')" \
    'mine.gzip.dropped mine.gzip.first mine.gzip.second mine.gzip.walk.app.coldwalk mine.gzip.walk.app.mount mine.try.dropped mine.try.first mine.try.second '
is 'all of them good' "$(col rows.csv exit | tr ' ' '\n' | sort -u)" 0
rows=rows.csv
# key LABEL NAME: prints the value of a key in the label's row
key() {
	grep -v '^#' $rows | grep ",$1," | grep -o "[;,]$2=[0-9]*" |
	    sed 's/.*=//'
}
is 'the image was cold' "$(key mine.gzip.first before_B)" 0
t 'and on request' 0 test "$(key mine.gzip.first loop_B)" -gt 100000
t 'once' 0 test "$(key mine.gzip.second loop_B)" -lt 100000
t 'and once more when dropped' 0 test "$(key mine.gzip.dropped loop_B)" \
    -gt 100000
is 'nothing is left' "$(gone)" ''

# A program that looks at the mount for a moment does not end the study, nor
# does one that stays.
# busy SECONDS: mounts an image that is in use for this long; $! is the user
busy() {
	mkdir -p rows.csv.d/mount/app
	mount -t squashfs -o loop,ro try.sqsh rows.csv.d/mount/app
	(cd rows.csv.d/mount/app && exec sleep "$1") &
	until [ "$(readlink /proc/$!/cwd)" = "$PWD/rows.csv.d/mount/app" ]; do
		sleep 0.01
	done
}
busy 2
t 'a mount that is in use' 0 "$snap" -o rows.csv call parts_unmount
t 'is unmounted when it is free' 1 kill -0 $!
busy 1000
t 'one that stays in use' 0 "$snap" -o rows.csv call parts_unmount
shows 'is logged' 'umount.*busy' rows.csv.d/log
t 'by a program that goes on' 0 kill $!
wait $! || :
is 'nothing is left of either' "$(gone)" ''

# Tests pre-warming, and an image in launch order.
t 'a study of these' 0 "$snap" -q -n 1 --from mine.app -o warm.csv \
    --rows 'mine.zstd15 mine.zstd15.prewarm mine.zstd15.sorted'
rows=warm.csv
warm=mine.zstd15.prewarm
t 'a launch is preloaded' 0 test "$(key $warm.touched loop_B)" -gt 50000
t 'and no more' 0 test "$(key $warm.all loop_B)" -gt \
    $((2 * $(key $warm.touched loop_B)))
t 'the launch then reads next to nothing' 0 test \
    "$(key $warm.after-touched loop_B)" -lt \
    $(($(key mine.zstd15.first loop_B) / 100))
t 'the memory held is reported' 0 test "$(key $warm.touched held_B)" \
    -gt 1000000
t 'the order of a launch' 0 test "$(key mine.zstd15.sorted.first loop_B)" \
    -gt 50000
is 'nothing is left of it' "$(gone)" ''

# This program never becomes ready, so the script is in a launch when it is
# stopped.
cp mine.app slow.app
mkfifo started.fifo
sed -i 's,^command=.*,command=echo >'"$PWD"'/started.fifo; exec sleep 295.5,' \
    slow.app
for signal in INT TERM KILL; do
	# a shell makes background commands ignore INT
	env --default-signal=INT "$snap" -q -n 1 --quick --from slow.app \
	    --apps slow --timeout 20 -o $signal.csv --rows slow.gzip >/dev/null 2>&1 &
	pid=$!
	read -r _ <started.fifo
	t "$signal: the program runs" 0 test -n "$(left)"
	kill -$signal $pid
	wait $pid 2>/dev/null
	# After SIGKILL the cell continues, as intended; its programs are killed
	# here.
	until flock -n $signal.csv.d/lock.cell true; do
		pgrep -x -f 'sleep 295.5' | xargs -r kill -9
		sleep 0.1
	done
	is "$signal: nothing is left" "$(gone)" ''
done

# All of the script's processes are killed together at various times.
for moment in 0.2 0.5 1 1.5 2 3; do
	setsid "$snap" -q -n 1 --quick --from slow.app --apps slow --timeout 20 \
	    -o all.csv --rows slow.gzip >/dev/null 2>&1 &
	pid=$!
	sleep $moment
	kill -KILL -$pid 2>/dev/null
	wait $pid 2>/dev/null
	is "all killed after $moment s: nothing is left" "$(gone)" ''
done
done_testing
