#!/bin/sh
# After a signal at any time, a layout or a repository is complete or does not
# exist, and no other files remain; files that remain after SIGKILL are removed
# by the next run.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/fault.sh
. "$SRC/tests/fault.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'
layerpack -h | grep -q -e --image || skip_all 'layerpack has no --image'

mkdir tree work
seq 3000 >tree/numbers
seq 100 >tree/small
layer tree gzip
manifest one
layerpack -q --image -F estargz layout want

left() { find work -mindepth 1 -maxdepth 1 -name '.*'; }

whole() { diff -r want work/out; }

# killed NAME SIGNAL KIND COMMAND...: sends the signal before each call of that
# kind in turn; if the command then leaves work/out, it must be complete
killed() {
	k_name=$1 k_signal=$2 k_kind=$3 k_bad='' k=0
	shift 3
	while :; do
		k=$((k + 1))
		rm -rf work/out
		k_status=0
		COLDPRESS_FAULT=$k_kind:$k:$k_signal COLDPRESS_FAULT_COUNT=n \
		    "$@" >said 2>&1 || k_status=$?
		[ ! -e work/out ] || whole >said ||
		    k_bad="$k_bad $k(partial)"
		if [ "$k_signal" = KILL ]; then
			[ -z "$(left)" ] || k_left=1
		elif [ -n "$(left)" ]; then
			k_bad="$k_bad $k(left)"
			rm -rf work/.[!.]*
		fi
		[ $k_status -gt 128 ] || break
	done
	is "$k_name: SIG$k_signal, $k_kind" "$k_bad" ''
	is "$k_name: the last run ends well" "$k_status" 0
}

set -- layerpack-fault -q -p 2 --image -F estargz layout work/out
for signal in INT TERM HUP PIPE; do
	killed 'a layout' $signal mkdirat "$@"
done
for kind in openat write fsync linkat renameat close; do
	killed 'a layout' TERM $kind "$@"
done
k_left=''
for kind in mkdirat write linkat renameat; do
	killed 'a layout' KILL $kind "$@"
done
is 'SIGKILL left something' "$k_left" 1
rm -rf work/out
t 'the next run' 0 layerpack -q --image -F estargz layout work/out
is 'removes it' "$(left)" ''

if have openssl && openssl genrsa -out key.pem 2048 2>/dev/null &&
    layerpack -q -F cas --name a.test --key key.pem -o repository layer.tar; then
	whole() { layerpack --verify work/out; }
	for kind in openat write renameat; do
		killed 'a repository' TERM $kind layerpack-fault -q -F cas --name a.test \
		    --key key.pem -o work/out layer.tar
	done
else
	skip 'no openssl, or no repositories'
fi

# The files of a run that is still active are not removed.
COLDPRESS_FAULT=write:2:STOP layerpack-fault -q --image -F estargz layout \
    work/slow >said 2>&1 &
slow=$!
stopped() { grep -q '^State:.T' "/proc/$slow/status"; }
t 'a run that is stopped' 0 await stopped
t 'another one' 0 layerpack -q --image -F estargz layout work/fast
kill -CONT $slow
t 'does not disturb it' 0 wait $slow
t 'its layout' 0 diff -r want work/slow
is 'nothing is left' "$(left)" ''
mkdir work/.coldpress-treehouse work/.new-1-2
t 'a third one' 0 layerpack -q --image -F estargz layout work/third
is "leaves others' directories" "$(left | LC_ALL=C sort | tr '\n' ' ')" \
    'work/.coldpress-treehouse work/.new-1-2 '
done_testing
