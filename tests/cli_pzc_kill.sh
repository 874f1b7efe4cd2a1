# shellcheck shell=sh
# After INT, TERM, HUP or KILL at any moment, the output file is complete or
# absent, and the input is removed only after it is complete.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 400000 >text
pzc -1 <text >text.gz
pzc -F zstd <text >text.zst

# check NAME: checks that the remaining files are intact
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

# pzc is killed after delays that range from its start to after its end.
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

# If no unnamed file can be created, and with -f before the output gets its
# name, there is a temporary file, which a signal removes.
if have pzc-fault; then
	head -c 300000 text >short
	for sig in HUP-1 INT-2 TERM-15 PIPE-13; do
		number=${sig#*-} sig=${sig%-*}
		for plan in openat:3:EOPNOTSUPP,write:1:$sig \
		    openat:3:EOPNOTSUPP,write:3:$sig \
		    openat:3:EOPNOTSUPP,fsync:1:$sig \
		    openat:3:EOPNOTSUPP,linkat:1:$sig \
		    openat:3:EOPNOTSUPP,unlinkat:1:$sig \
		    openat:4:$sig,openat:3:EOPNOTSUPP \
		    -f,renameat:1:$sig -f,openat:3:EOPNOTSUPP,renameat:1:$sig; do
			f=${plan%%,*}
			[ "$f" = -f ] || f=-kY
			cp short s && echo old >s.gz
			[ "$f" = -f ] || rm s.gz
			rc=0
			COLDPRESS_FAULT=${plan#-f,} pzc-fault -1p2 -b 64 "$f" s \
			    2>/dev/null || rc=$?
			case $plan in
			*unlinkat*) want='s.gz whole' ;;
			-f*) want='s.gz old' ;;
			*) want= ;;
			esac
			got=$(find . -name 's.gz' -o -name '.c*' |
			    sed 's|^./||')
			[ ! -e s.gz ] || case $(cat s.gz) in
			old) got="$got old" ;;
			*) gzip -t s.gz && got="$got whole" ;;
			esac
			is "$plan: leftovers" "$got" "$want"
			is "$plan: ends the run" "$rc" $((128 + number))
			same "$plan: the input" s short
			rm -f s s.gz .coldpress-*
		done
	done
	# nohup(1), and a shell without job control: ignored signals stay
	# ignored
	cp short s
	t 'an ignored signal' 0 sh -c 'trap "" HUP
	    COLDPRESS_FAULT=openat:3:EOPNOTSUPP,write:1:HUP pzc-fault -k s'
	t '... : the output is whole' 0 gzip -t s.gz
	rm -f s s.gz
else
	skip 'pzc-fault is not built'
fi

# Kills pzc at each system call that changes a name or a file, one call per run,
# for each thread in turn, until a run completes without being killed.
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
