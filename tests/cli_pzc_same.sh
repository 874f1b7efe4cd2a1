# shellcheck shell=sh
# The output is the same for every -p, and from a pipe, a file or a slow writer.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

# Sizes near the block boundaries matter as much as large ones.
{ seq 1 250000; head -c 300000 /dev/urandom; seq 1 50000; } >large
: >empty
printf x >one
head -c 131072 large >edge

# slow FILE: sends it through pipes in chunks of odd sizes, with occasional
# pauses
slow() {
	python3 -c 'import os, sys, time
d = open(sys.argv[1], "rb").read()
at, n = 0, 1
while at < len(d):
    w = os.write(1, d[at:at + n])
    at += w
    n = n * 3 % 65521 + 1
    if n % 7 == 0:
        time.sleep(0.0005)' "$1"
}

for o in '-F gzip' '-F gzip -1' '-F gzip -9' '-F gzip -0' '-F gzip -i' \
    '-F gzip -R' '-F gzip -H' '-F gzip -U' '-F gzip -b 128' '-F zlib' '-K' \
    '-F zstd' '-F zstd -1 -b 256' '-F zstd -R' '-F zstd --long=24' \
    '-F zstd -b 64 --seekable' '-F zstd -b 64 -i' '-F zstd -9 -b 100' '-F zstd -R -b 64' \
    '-F lz4' '-F lz4 -9' '-F xz -1' '-F xz -1 -b 512' '-F xz -3 -b 512' \
    '-F lzma -1' \
    '-F bzip2' '-F bzip2 -1'; do
	for f in empty one edge large; do
		# shellcheck disable=SC2086 # several words
		{
			pzc $o -p1 <$f >p1
			pzc $o -p2 <$f >p2
			cat $f | pzc $o -p8 >p8
		}
		same "$o, $f: -p1 and -p2" p1 p2
		same "$o, $f: -p1, and -p8 from a pipe" p1 p8
	done
	# shellcheck disable=SC2086
	slow large | pzc $o -p2 >p8
	same "$o: a slow writer" p1 p8
	# shellcheck disable=SC2086
	pzc $o -n --no-content-size -c large >named
	case $o in
	*-K*) ;;	# always has a name
	*) same "$o: -n of a named file" p1 named ;;
	esac
	for p in 1 2 8; do
		pzc -dp$p <p1 >back
		same "$o: -dp$p" back large
	done
	slow p1 | pzc -dp4 >back
	same "$o: -d from a slow writer" back large
done

# --rsyncable: after a change near the beginning, the ends of the outputs are
# equal.
{ cat large; seq 900000 1600000; cat large; } >longer && mv longer large
{ printf 'an insertion'; cat large; } >changed
for f in gzip zstd; do
	pzc -F $f -b 256 -R <large >a
	pzc -F $f -b 256 -R <changed >b
	pzc -F $f -b 256 <large >c
	is "$f: --rsyncable resynchronises" "$(python3 -c '
a, b = (open(f, "rb").read() for f in "ab")
m = len(b) // 2
print(b[m:m + 4096] in a)')" True
	# blocks are no larger than without it, so the output is larger
	is "$f: --rsyncable costs under 20 %" "$(($(wc -c <a) * 100 <
	    $(wc -c <c) * 120))" 1
done

done_testing
