#!/bin/sh
# Hours of work with changing inputs, at -p 8: memory, descriptors, threads,
# processes and temporary files do not grow.
# SPDX-License-Identifier: BSD-2-Clause
# COLDPRESS_SOAK is the duration in seconds (7200).
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have lap || skip_all 'no lap to measure with'
! sanitized pzc || skip_all "a sanitizer's memory is not the tools'"
until=$(($(date +%s) + ${COLDPRESS_SOAK:-7200}))
mkdir work tmp
TMPDIR=$PWD/tmp
export TMPDIR
cp -r "$SRC/src" "$SRC/include" work

# Endless streams: pzc compresses and decompresses the same bytes until the end.
# endless: changing text and noise
endless() {
	e_i=0
	while [ "$(date +%s)" -lt "$until" ]; do
		e_i=$((e_i + 1))
		seq $e_i $((e_i + 20000 + e_i % 7 * 3000))
		head -c $((e_i % 5 * 100000)) /dev/urandom
	done
}
# stream NAME FORMAT LEVEL: starts one
streams=''
stream() {
	mkfifo "$1.raw" "$1.packed" "$1.back" "$1.sum"
	tee "$1.sum" <"$1.raw" >"$1.back" &
	cksum <"$1.sum" >"$1.want" &
	pzc -F "$2" "$3" -p 8 <"$1.back" >"$1.packed" &
	streams="$streams $1-c:$!"
	pzc -dc -p 8 <"$1.packed" | cksum >"$1.got" &
	endless >"$1.raw" &
}
stream gzip gzip -6
stream zstd zstd -3

# A mount is read from again and again.
if [ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && have layermount &&
    have layerpack; then
	mkdir mnt
	tar -cf work.tar -C work .
	layerpack -q -F estargz -c 64K -o work.layer work.tar >/dev/null
	trap 'umount -l mnt 2>/dev/null || :' EXIT
	layermount -f -q work.layer "$PWD/mnt" &
	streams="$streams layermount:$!"
	is_mounted() { grep -q " $PWD/mnt fuse.layermount " /proc/mounts; }
	t 'layermount' 0 await is_mounted
else
	skip 'no layermount'
fi

# look: adds a line for each of these processes: name, time, resident KiB,
# descriptors, threads
look() {
	for l_s in $streams; do
		l_p=${l_s#*:}
		[ -r "/proc/$l_p/status" ] || continue
		awk -v name="${l_s%:*}" -v now="$(date +%s)" \
		    -v fds="$(find "/proc/$l_p/fd" -type l 2>/dev/null | wc -l)" '
		/^VmRSS/ { rss = $2 }
		/^Threads/ { threads = $2 }
		END { if (rss) print name, now, rss, fds, threads }' \
		    "/proc/$l_p/status" 2>/dev/null
	done >>looks
}

# measured NAME COMMAND...: runs it, and adds a line with its peak memory
measured() {
	m_name=$1
	shift
	rm -f row
	lap -q -n 1 --stdout out -o row -l x -- "$@" 2>err || {
		not_ok "$m_name in round $round"
		sed 's/^/# /' err
	}
	echo "$m_name $(date +%s) $(col row maxrss_KiB) 0 0" >>looks
}

round=0
while [ "$(date +%s)" -lt "$until" ]; do
	round=$((round + 1))
	seq "$round" $((round + 50000)) >work/changing
	head -c $((round % 9 * 70000)) /dev/urandom >work/noise
	for f in gzip zstd lz4 bzip2 xz; do
		l=-3
		[ $f != xz ] || l=-0
		measured "pzc -F $f" pzc -F $f $l -p 8 -c work/changing
		mv out packed
		measured "pzc -d $f" pzc -dc -p 8 packed
		cmp -s out work/changing || not_ok "$f in round $round"
	done
	! have pzseek || measured pzseek pzseek -q -p 8 packed 1000:1000
	! have fsratio || measured fsratio fsratio -q -a lz4 -p 8 work
	! have mailgen || {
		rm -rf mail
		measured mailgen mailgen -q -n 500 -s "$round" -p 8 mail
	}
	if have coldwalk; then
		measured coldwalk coldwalk -q --cold none -p 8 work
		mv out want
	fi
	if have sqpack; then
		measured sqpack sqpack -q -f -p 8 -F zstd -L 3 -o image work
		! have coldwalk || {
			measured 'coldwalk image' coldwalk -q -p 8 image
			cmp -s out want || not_ok "image, round $round"
		}
		rm -rf tree
		measured 'sqpack -x' sqpack -q -x tree -p 8 image
	fi
	if have layerpack; then
		tar --sort=name -cf a.tar -C work .
		for f in estargz zstd-chunked; do
			measured "layerpack $f" layerpack -q -f -p 8 -L 3 \
			    -F $f -o layer a.tar
			measured 'layerpack --verify' layerpack -q -p 8 \
			    --verify layer
		done
	fi
	[ ! -d mnt ] || cat mnt/src/*/*.c >/dev/null 2>&1 ||
		not_ok "reading the mount in round $round"
	look
	{
		find . tmp -name '.coldpress-*'
		# layermount has a directory while it runs
		find tmp -mindepth 1 ! -path 'tmp/layermount.*'
	} >leftovers 2>/dev/null
	[ ! -s leftovers ] || {
		not_ok "temporary files in round $round"
		head leftovers | sed 's/^/# /'
	}
done
if [ -d mnt ]; then
	umount mnt
	await gone "${streams##*:}"
fi
# the streams end with their input
wait
for s in gzip zstd; do
	same "$s: a stream of $(awk '{ print $2 }' $s.want) B" $s.want $s.got
done
echo "# $round rounds"
is 'tmp is empty' "$(ls tmp)" ''
is 'no process is left' "$(jobs -p)" ''

# The last quarter needs no more than the first half did, and a little.
awk '{
	k = NF - 3; name = $1
	for (i = 2; i < k; i++) name = name " " $i
	count[name]++; at[name, count[name]] = $0 }
END {
	for (name in count) {
		m = count[name]
		for (i = 1; i <= m; i++) {
			f = split(at[name, i], v, " ")
			for (c = 0; c < 3; c++) {
				x = v[f - 2 + c]
				if (i <= m / 2 && x > first[c]) first[c] = x
				if (i > m * 3 / 4 && x > last[c]) last[c] = x
			}
		}
		printf "%s\t%d\t%d %d\t%d %d\t%d %d\n", name, m, first[0],
		    last[0], first[1], last[1], first[2], last[2]
		delete first
		delete last
	}
}' looks | sort >summary
sed 's/^/# /' summary
t 'there were enough rounds' 0 test "$round" -ge 4
is 'memory does not grow' "$(awk -F '\t' '{ split($3, m, " ")
	if (m[2] > m[1] * 1.15 + 2048) print $1 }' summary)" ''
is 'descriptors do not grow' "$(awk -F '\t' '{ split($4, m, " ")
	if (m[2] > m[1]) print $1 }' summary)" ''
is 'threads do not grow' "$(awk -F '\t' '{ split($5, m, " ")
	if (m[2] > m[1] + 1) print $1 }' summary)" ''
done_testing
