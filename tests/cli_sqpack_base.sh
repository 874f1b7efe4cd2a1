#!/bin/sh
# Tests --base: an image made next to an older one is the same as without it,
# and its unchanged blocks are not compressed again; nor are those of an image
# that is changed.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir -p tree/sub tree/many
seq 200000 >tree/large
seq 150000 -1 1 >tree/sub/other
i=0
while [ $i -lt 200 ]; do
	seq $i $((i + 400)) >tree/many/$i
	i=$((i + 1))
done
truncate -s 1M tree/hole

# copied: the number of blocks that were
copied() { sed -n 's/.*"copied_units":\([0-9]*\).*/\1/p' stats; }
units() { sed -n 's/.*"units":\([0-9]*\).*/\1/p' stats; }

for o in '-F zstd -L 15' '-F xz' '-F gzip -L 12' '-F zstd -L 3 -b 16K' \
    '-F xz --bcj x86' '-F lz4hc'; do
	# shellcheck disable=SC2086
	t "$o: an image" 0 sqpack -f -q $o -o old tree
	cp -a tree/many/7 kept
	seq 5 500 >tree/many/7
	echo new >tree/new
	rm -f stats
	# shellcheck disable=SC2086
	t "$o: with few changes" 0 sqpack -f -q $o -o fresh tree
	# shellcheck disable=SC2086
	t "$o: the same with a base" 0 sqpack -f -q $o --base old \
	    --stats=stats -o new tree
	same "$o: is the same" new fresh
	t "$o: most blocks were copied" 0 test "$(copied)" -gt \
	    $(($(units) / 2))
	tar --sort=name -C tree -cf - . >tree.tar
	# shellcheck disable=SC2086
	t "$o: an archive with a base" 0 sqpack -f -q $o --base old -o new2 \
	    tree.tar
	# shellcheck disable=SC2086
	sqpack -f -q $o -o fresh2 tree.tar
	same "$o: is the same" new2 fresh2
	rm -f stats
	# shellcheck disable=SC2086
	t "$o: an image with other owners" 0 sqpack -f -q $o --all-root \
	    --mtime 5 --stats=stats -o changed old
	is "$o: all blocks were copied" "$(copied)" "$(units)"
	sqpack -x out old && sqpack -x out2 changed
	t "$o: with the same data" 0 diff -r out out2
	rm -rf out out2
	mv kept tree/many/7
	rm tree/new
done
sqpack -f -q -F zstd -L 3 -o old tree
for o in '-F zstd -L 4' '-F lz4' '-F zstd -L 3 -b 64K' \
    '-F zstd -L 3 --no-probe'; do
	# shellcheck disable=SC2086
	t "other settings: $o" 1 sqpack -f -q $o --base old -o none tree
	shows 'are named' 'another method, level or block size' .t.err
done
rm -f stats
t 'another level' 0 sqpack -f -q -F zstd -L 4 --stats=stats -o changed old
is 'is compressed again' "$(copied)" 0
# with gzip, whose checksum shows it
sqpack -f -q -F gzip -L 3 -o old tree
cp old bad
printf '\377\377\377' | dd of=bad bs=1 seek=3000 conv=notrunc 2>/dev/null
t 'a base with damaged data' 0 sqpack -f -q -F gzip -L 3 --base bad -o new tree
sqpack -f -q -F gzip -L 3 -o fresh tree
same 'makes the same' new fresh
t 'an image with damaged data' 1 sqpack -f -q -F gzip -L 3 -o none bad
t 'is not copied' 1 test -e none
t 'no base' 1 sqpack -f -q --base nowhere -o none tree
t 'not an image' 1 sqpack -f -q --base tree/large -o none tree
t 'the base of an image' 1 sqpack -f -q --base old -o none old
t 'the base itself' 0 sqpack -f -q -F gzip -L 3 --base old -o old tree
same 'is replaced by the same' old fresh
done_testing
