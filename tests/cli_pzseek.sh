#!/bin/sh
# For every format, pzseek writes the same bytes that dd reads from the plain
# file.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/pzseek.sh
. "$SRC/tests/pzseek.sh"

for f in gzip zlib zstd lz4 xz bzip2; do
	pzc -F "$f" -c plain >"f.$f"
	check "$f" "f.$f" plain
	check "$f -p1" "f.$f" plain -p 1
done
check 'gzip --from-start' f.gzip plain --from-start
for o in -i -R '-b 64' -0 -1 -9; do
	# shellcheck disable=SC2086
	pzc $o -c plain >o.gz
	check "gzip $o" o.gz plain
done
pzc -F xz -b 512 -c plain >b.xz
check 'xz in small blocks' b.xz plain
cat b.xz f.xz >two.xz
pzc -F lz4 -b 64 -c plain >b.lz4
check 'lz4 in small blocks' b.lz4 plain
cat b.lz4 f.lz4 >two.lz4
pzc -F zstd -b 100 -c plain >b.zst
check 'zstd in small frames' b.zst plain
cat f.zstd b.zst >two.zst
cat f.gzip o.gz >two.gz
pzc -i -c plain >i.gz
cat i.gz i.gz >twoi.gz
cat plain plain >plain2
for f in two.xz two.lz4 two.zst two.gz twoi.gz; do
	check "$f" "$f" plain2
done

if have zstd; then
	zstd -qc plain >one.zst
	check 'zstd, one frame' one.zst plain
	zstd -qc <plain >nosize.zst
	check 'zstd, size not known' nosize.zst plain
fi
if have lz4; then
	lz4 -qc -BD plain >linked.lz4
	check 'lz4, linked blocks' linked.lz4 plain
	lz4 -qc -B4 --content-size plain >sized.lz4
	check 'lz4 -B4' sized.lz4 plain
	cat sized.lz4 linked.lz4 >mixed.lz4
	check 'lz4, both kinds' mixed.lz4 plain2
fi
if have pigz; then
	pigz -ic plain >pigz.gz
	check 'pigz -i' pigz.gz plain
fi
if have bgzip; then
	bgzip -c plain >bgzf.gz
	check 'bgzip' bgzf.gz plain
fi

# Data that contains files of pzc's own, three deep, without and with their
# headers: ten bytes cost one block and a few links, and are verified.
head -c 3000000 /dev/urandom | base64 >words
for s in 11 1; do
	cp words inner
	for depth in 1 2 3; do
		[ "$s/$depth" != 11/2 ] || break
		for i in 1 2 3 4; do
			{ echo $i; cat inner; } | pzc -6 | tail -c +$s
		done >next
		head -c 9000000 next >inner
		pzc -6 -c inner >outer.gz
		n="pzc in pzc, from byte $s, $depth deep"
		range inner 3000000 10 >.want
		t "$n" 0 to .got pzseek -v outer.gz 3000000:10
		same "$n: the bytes" .got .want
		is "$n: little is read" "$(sed -n \
		    's/.*: read \([0-9]*\) bytes.*/\1/p' .t.err |
		    awk '{ n += $1 } END { print NR == 2 && n < 1500000 }')" 1
		is "$n: verified" "$(grep -c 'not verified' .t.err)" 0
		is "$n: pzc -d" "$(pzc -dc outer.gz | cmp - inner 2>&1)" ''
	done
done
# Of jobs of zstd, only the headers of blocks before the range are read.
{
	cat inner inner
	head -c 3000000 inner
} >long
pzc -F zstd -c long >jobs.zst
range long 20000000 10 >.want
t 'jobs of zstd' 0 to .got pzseek -v jobs.zst 20000000:10
same 'jobs of zstd: the bytes' .got .want
is 'jobs of zstd: the last one is read, and little else' "$(sed -n \
    -e 's/.*: read \([0-9]*\) bytes to locate.*/\1/p' \
    -e 's/.*: read \([0-9]*\) bytes, .*/\1/p' .t.err | paste -s -d ' ' - |
    awk '{ print ($1 < 9000000 && $2 < 20000) }')" 1
# In a frame of lz4 that records its size, only its last block is read to see
# that the others are full; if they are not, all are.
if have lz4; then
	lz4 -qc --content-size long >sized.lz4
	t 'blocks of lz4' 0 to .got pzseek -v sized.lz4 10000000:10
	range long 10000000 10 >.want
	same 'blocks of lz4: the bytes' .got .want
	is 'blocks of lz4: two are read' "$(sed -n \
	    's/.*: read \([0-9]*\) bytes.*/\1/p' .t.err | paste -s -d ' ' - |
	    awk '{ print ($1 < 4300000 && $2 < 4300000) }')" 1
	# the same size, but of blocks that are not full
	pzc -F lz4 -R <long >uneven.lz4
	{
		head -c 15 sized.lz4
		tail -c +8 uneven.lz4
	} >sized2.lz4
	t 'uneven blocks with a size' 0 to .got pzseek sized2.lz4 10000000:10
	same 'uneven blocks with a size: the bytes' .got .want
fi
# Damage in the block that is read is found by its own CRC.
cp outer.gz bad.gz
at=$(pzseek -v outer.gz 0:3000000 2>&1 >.want |
    sed -n 's/.*: read \([0-9]*\) bytes, .*/\1/p')
printf '\252\125\252\125' | dd of=bad.gz bs=1 conv=notrunc \
    seek=$((at - 400000)) 2>/dev/null
t 'damage in a linked block' 1 to .got pzseek bad.gz 0:3000000
# Several members of pzc's own, some of one block: little is read.
cat f.gzip o.gz >two.gz
head -c 30000 plain >short
for n in two.gz short.gz; do
	[ $n = two.gz ] || {
		for f in short plain short short; do
			pzc -c $f
		done >short.gz
		cat short plain short short >plain2
	}
	range plain2 4000000 10 >.want
	t "members: $n" 0 to .got pzseek -v $n 4000000:10
	same "members: $n: the bytes" .got .want
	is "members: $n: little is read, verified" "$(sed -n \
	    's/.*: read \([0-9]*\) bytes.*/\1/p' .t.err |
	    awk '{ n += $1 } END { print NR == 2 && n < 1500000 }')$(grep \
	    'not verified' .t.err)" 1
done
check 'short members' short.gz plain2
# One from another program between them: the reason and the cure are reported,
# and little is scanned.
gzip -c plain >foreign.gz
cat f.gzip foreign.gz f.gzip >three.gz
t 'a foreign member' 0 to .got pzseek -v three.gz 3000000:10
range plain 3000000 10 >.want
same 'a foreign member: the bytes' .got .want
shows 'a foreign member: why' \
    'reading all data before .*: .*not all members are pzc.*--make-index' .t.err
is 'a foreign member: little is scanned' \
    "$(sed -n 's/.*: read \([0-9]*\) bytes to locate.*/\1/p' .t.err |
    awk '{ print ($1 < 100000) }')" 1
is 'a foreign member: -q' "$(pzseek -q three.gz 0:0 2>&1)" ''
pzseek --make-index three.gz
is 'a foreign member: an index avoids it' \
    "$(pzseek -v three.gz 3000000:10 2>&1 >.got | grep -c 'reading all')" 0
same 'a foreign member: by index' .got .want
rm -f three.gz.pzi
t 'a file without seek points' 0 to .got pzseek -v foreign.gz 0:1
shows 'a file without seek points: why' 'no seek points; .*--make-index' .t.err
pzc -F lzma -c short >short.lzma
t 'another format: told' 0 to .got pzseek -v short.lzma 0:1
shows 'another format: no index would help' \
    'short.lzma: no seek points; decompressing from the start$' .t.err
t '--from-start: told' 0 to .got pzseek -v --from-start f.gzip 0:1
shows '--from-start: no more is claimed' \
    'f.gzip: decompressing from the start$' .t.err

# Damage inside a unit is an error; damage elsewhere is not detected
for f in zstd lz4 xz; do
	cp "f.$f" bad
	printf '\252\125\252\125' | dd of=bad bs=1 conv=notrunc \
	    seek=$(($(wc -c <bad) / 2)) 2>/dev/null
	t "$f: damage is an error" 1 pzseek -o out "bad" "0:$size"
	t "$f: nothing is left" 1 test -e out
done

# Data that contains sync points and headers
cat f.gzip f.gzip f.gzip plain >nested
pzc -c nested >nested.gz
check 'gzip of gzip files' nested.gz nested
pzc -0 -c nested >nested.gz
check 'gzip -0 of gzip files' nested.gz nested

# Many ranges, files, and errors
{
	range plain 5 10
	range plain 2000000 3000000
	head -c 7 plain
	tail -c 3 plain
} >.want
t 'many ranges' 0 to .got pzseek f.gzip 5:10 2000000:3000000 :7 -3:
same 'in their order' .got .want
head -c 2048 plain >.want
t 'units' 0 to .got pzseek f.gzip 0:2K
same 'of 1024' .got .want
t '-o' 0 pzseek -o out f.gzip 0:2K
same 'is written' out .want
t 'no overwriting' 1 pzseek -o out f.gzip 0:2K
t 'unless -f is given' 0 pzseek -f -o out f.gzip 0:2K
for r in '' : x:1 1:x 1 5:-3 --1: -: 99999999999999999999:1; do
	t "'$r' is not a range" 1 pzseek f.gzip "$r"
done
t 'no range' 1 pzseek f.gzip
t 'no file' 1 pzseek
t 'a directory' 1 pzseek . 0:1
t 'not compressed' 1 pzseek plain 0:1
t 'missing' 1 pzseek none 0:1
t 'a pipe' 1 sh -c 'cat f.gzip | pzseek /dev/stdin 0:1'
t 'a full disk' 1 sh -c 'pzseek f.gzip 0: >/dev/full'
# shellcheck disable=SC2016
t 'a closed pipe' 141 sh -c '{ pzseek f.gzip 0:; echo $? >rc; } | head -c 1;
    exit "$(cat rc)"'
: >empty
pzc -c empty >empty.gz
pzc -F xz -c empty >empty.xz
for f in empty.gz empty.xz; do
	t "$f" 0 to .got pzseek "$f" 0: -5: 3:4
	is "$f is empty" "$(wc -c <.got)" 0
done
head -c 300000 f.gzip >cut.gz
t 'truncated' 1 pzseek cut.gz 0:99999999
is 'a listing' "$(pzseek -l f.zstd | tail -n 1 | cut -d , -f 3,4)" \
    "$(wc -c <f.zstd),$size"
# Messages are never written to the output.
rm -f out
t 'descriptors 0 to 2 closed' 0 sh -c \
    'pzseek -v -o out f.gzip 100000:70000 <&- >&- 2>&-'
range plain 100000 70000 >.want
same 'descriptors 0 to 2 closed: the bytes' out .want
t 'standard output closed' 1 sh -c 'pzseek f.gzip 0:10 >&-'
# The file being read cannot be the output.
cp f.gzip self.gz && ln self.gz self2.gz
for o in self.gz self2.gz ./self.gz; do
	t "-f -o onto the input, $o" 1 pzseek -f -o $o self.gz 0:10
	t "-f --index onto the input, $o" 1 \
	    pzseek --make-index -f --index $o self.gz
done
same 'onto the input: kept' self.gz f.gzip
t 'help' 0 pzseek -h
t 'version' 0 pzseek -V
done_testing
