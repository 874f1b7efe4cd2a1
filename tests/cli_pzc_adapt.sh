#!/bin/sh
# pzc --adapt may use any level at any time; its output is always valid.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

seq 1 2000000 >plain

# levels FILE: prints the number of blocks, and whether all levels are in 2..5
levels() {
	sed -n 's/.*"levels":"\([^"]*\)".*/\1/p' "$1" | tr ' ' '\n' |
	    awk -F x '{ n += $2; bad += $1 < 2 || $1 > 5 }
	    END { print n, bad + 0 }'
}

for f in gzip zlib zip zstd lz4; do
	t "$f" 0 to "a.$f" pzc --adapt -F "$f" -b 64 plain -c
	pzc -dc "a.$f" >back
	same "$f is read back" back plain
	rm -f rows
	t "$f in a range" 0 to "b.$f" pzc --adapt=2:5 -F "$f" -b 64 -p 2 \
	    --stats=rows plain -c
	pzc -dc "b.$f" >back
	same "$f in a range is read back" back plain
	is "$f: every block has its level" "$(levels rows)" \
	    "$((($(wc -c <plain) + 65535) / 65536)) 0"
done
t 'gzip reads it' 0 gzip -t <a.gzip
t 'with -i' 0 to i.gz pzc --adapt -i plain -c
pzc -dc i.gz >back
same 'with -i is read back' back plain
t 'one level' 0 to one.gz pzc --adapt=3:3 -n plain -c
pzc -3 -n -c plain >three.gz
same 'is that level' one.gz three.gz
t 'a small input' 0 sh -c 'echo a | pzc --adapt | pzc -d | grep -q a'
for o in '--adapt=5:2' '--adapt=x' '--adapt=1:30' '--adapt=1:13' \
    '--adapt -F xz' '--adapt -F bzip2' '--adapt -H' '--adapt=3' \
    '--adapt --long -F zstd'; do
	# shellcheck disable=SC2086
	t "$o is refused" 1 pzc $o -c plain
done
done_testing
