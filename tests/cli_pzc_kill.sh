# shellcheck shell=sh
# INT, TERM, HUP and KILL at any moment: under the final name stands nothing,
# or all of it; and the input goes only after that.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 400000 >text
pzc -1 <text >text.gz
pzc -F zstd <text >text.zst

# check NAME: what stands there now is in order
check() {
	if [ -e "$out" ] && ! pzc -dcf "$out" | cmp -s - text; then
		not_ok "$1: partial $out"
		bad=1
	elif [ ! -e "$out" ] && ! cmp -s "$in" "$keep"; then
		not_ok "$1: nothing is left"
		bad=1
	elif [ -e "$in" ] && ! cmp -s "$in" "$keep"; then
		not_ok "$1: the input has changed"
		bad=1
	fi
	rm -f "$in" "$out" .coldpress-*
}

# By the clock: pauses that reach from before the beginning to past the end.
for dir in gz -d -f zst; do
	case $dir in
	gz) opts='-1p2' in=a out=a.gz keep=text ;;
	-f) opts='-f1' in=a out=a.gz keep=text ;;
	-d) opts='-dp2' in=a.gz out=a keep=text.gz ;;
	zst) opts='-d' in=a.zst out=a keep=text.zst ;;
	esac
	bad=0
	for sig in INT TERM HUP KILL; do
		for ms in 000 001 002 004 006 008 010 013 016 020 025 030 \
		    040 060; do
			cp "$keep" "$in"
			[ "$opts" != -f1 ] || cp text.gz "$out"
			# shellcheck disable=SC2086
			env pzc $opts "$in" 2>/dev/null &
			sleep 0.$ms
			kill -s $sig $! 2>/dev/null
			wait $! 2>/dev/null
			check "$dir, SIG$sig after $ms ms"
		done
	done
	[ $bad = 1 ] || ok "$dir: killed at 56 moments, nothing partial"
done

# By the call: in every call of each kind that changes a name or a file, in
# each thread, one run a call, until a run is not killed any more.
if have strace && strace -o /dev/null true 2>/dev/null; then
	head -c 300000 text >t && mv t text && pzc -b 128 <text >text.gz
	for dir in gz -d -f; do
		case $dir in
		gz) opts='-1p2 -b 64' in=a out=a.gz keep=text ;;
		-f) opts='-f1p2' in=a out=a.gz keep=text ;;
		-d) opts='-dp2' in=a.gz out=a keep=text.gz ;;
		esac
		for call in write linkat renameat fsync unlink,unlinkat fchmod \
		    utimensat close openat; do
			bad=0 k=1
			while [ $k -le 40 ]; do
				cp "$keep" "$in"
				[ "$dir" != -f ] || cp text.gz "$out"
				# shellcheck disable=SC2086
				strace -f -o /dev/null \
				    -e "inject=$call:signal=KILL:when=$k" \
				    pzc $opts "$in" 2>/dev/null
				rc=$?
				check "$dir, killed in $call $k"
				[ $rc != 0 ] || break
				k=$((k + 1))
			done 2>/dev/null
			[ $bad = 1 ] || ok "$dir: killed in $call 1..$((k - 1))"
		done
	done
else
	skip 'strace cannot be used here'
fi

done_testing
