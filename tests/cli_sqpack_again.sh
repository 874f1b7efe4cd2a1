#!/bin/sh
# An image made from an image has the same tree, data and attributes; a damaged
# image is rejected.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/squashfs_damage.sh
. "$SRC/tests/squashfs_damage.sh"

PATH=$PATH:/usr/sbin:/sbin
have unsquashfs || skip_all 'no unsquashfs'
have mksquashfs || skip_all 'no mksquashfs'

mkdir -p tree/a/b
seq 200000 >tree/a/large
cp tree/a/large tree/a/b/twin
ln tree/a/large tree/a/b/hard
seq 10000 | tac >tree/a/other
for i in 1 2 3 4 5 6 7 8 9; do
	seq $((i * 900)) >tree/a/small$i
done
ln tree/a/small3 tree/hard
ln -s small1 tree/a/soft
mkfifo tree/a/fifo
: >tree/empty
truncate -s 3000000 tree/a/hole
truncate -s 500000 tree/a/sparse
seq 30000 >>tree/a/sparse
truncate -s 3000000 tree/a/sparse
chmod 4711 tree/a/other
touch -d '2001-09-09 01:46:40 UTC' tree/a/large tree/a/b
setfattr -n user.color -v red tree/a/large 2>/dev/null || :
setfattr -n user.long -v "$(seq 300 | tr '\n' ' ')" tree/a/b 2>/dev/null || :
[ "$(id -u)" != 0 ] || chown -hR 12:345 tree/a/b

facts() {
	(cd "$1" && find . -printf '%y %m %U %G %n %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = $6 = "" } { sub(/[.].*/, "", $7); print }' |
	    sort
	find . -type f -exec sha256sum {} + | sort
	! have getfattr || getfattr -Rhd -m - . 2>/dev/null)
}

i=0
for old in '-comp gzip' '-comp xz -b 64K -no-exports -no-duplicates' \
    '-comp zstd -always-use-fragments' '-comp lz4 -no-fragments -noI' \
    '-comp gzip -b 4096 -always-use-fragments -noD'; do
	# shellcheck disable=SC2086
	mksquashfs tree old -noappend -no-progress $old -mkfs-time 1000000000 \
	    >/dev/null 2>&1 || continue
	rm -rf got
	unsquashfs -q -n -d got old >/dev/null
	facts got >want
	for new in '-F zstd -L 2' '-F gzip' '-F none'; do
		# shellcheck disable=SC2086
		t "$old: sqpack $new" 0 sqpack -f $new -o new old
		rm -rf got
		t 'unsquashfs accepts it' 0 unsquashfs -q -n -d got new
		facts got >facts.got
		same 'the same tree' facts.got want
		rm -rf got
		t 'sqpack -x accepts it' 0 sqpack -x got new
		facts got >facts.got
		same 'the same tree' facts.got want
		for at in '12 4' '16 4' '4 4' '8 4'; do
			# shellcheck disable=SC2086
			is "block, fragments, inodes, time: byte $at" \
			    "$(le new $at)" "$(le old $at)"
		done
	done
	# shellcheck disable=SC2086
	sqpack -f -p1 $new -o one old
	same 'also with one thread' one new
	i=$((i + 1))
done
t 'images were written' 0 test $i -gt 2
sqpack -f -F none -o old.none old
sqpack -f -F none -o new.none new
same 'the order of the data is that of the old image' old.none new.none
t 'its block size' 0 sqpack -f -b 4K -o new old
t 'another block size' 1 sqpack -f -b 128K -o other old
shows 'is named' 'the block size is 4096 and cannot be changed' .t.err
for o in '--exclude a' --no-fragments --no-duplicates; do
	# shellcheck disable=SC2086
	t "$o is refused" 1 sqpack -f $o -o other old
done
t 'no image is created from these' 1 test -e other
sqpack -f --all-root --mtime 7 -o new old
is 'owners and times can be set' "$(sqpack -lv new | sed '1,/^$/d' |
    grep -c ' 0/0 .* 1970-01-01 00:00 ')" "$(($(sqpack -l old | grep -c .) + 1))"

sqpack -f -F gzip --no-probe -o spoilt tree/a
poke spoilt 130 4 $((0xffffffff))
t 'a damaged block' 1 sqpack -o other spoilt
shows 'its place is named' '^sqpack: spoilt: offset 96: ' .t.err
t 'there is no image' 1 test -e other

# Memory use stays bounded with long block lists, of holes or of data.
rm -rf many
mkdir many
truncate -s 2G many/hole
sqpack -f -b 4K -F lz4 -o holes many
rm many/hole
seq 2000000 >many/numbers
sqpack -f -b 4K -F lz4 -o blocks many
for m in holes:4M blocks:128K; do
	t "the names of ${m%:*} in ${m#*:}" 0 \
	    sqpack -l --memory "${m#*:}" "${m%:*}"
	t 'but not its block list' 1 \
	    sqpack -o other --memory "${m#*:}" "${m%:*}"
	shows 'is reported' \
	    "^sqpack: ${m%:*}: the block lists need more memory" .t.err
	t 'there is no image' 1 test -e other
	t 'nor is it rebuilt' 1 \
	    sqpack --rebuild-check --memory "${m#*:}" "${m%:*}"
	shows 'by its blocks' 'more memory than --memory allows' .t.err
	t 'more memory helps' 0 \
	    sqpack -f -F lz4 -o again --memory 24M "${m%:*}"
	same 'and the same' again "${m%:*}"
done
for m in 1K 8K 16K 64K; do
	t "tables and names in $m" 1 sqpack -l --memory $m blocks
	is 'are reported, no more' "$(cat .t.err)" "sqpack: blocks: the \
tables and names need more memory than --memory allows"
done

if damage_begin; then
	t 'a whole image' 0 sqpack -f -o other whole
	rm -f other
	told_of() {
		t "refused: $1" 1 sqpack -o other spoilt
		t 'no image' 1 test -e other
	}
	damage_each told_of
fi
done_testing
