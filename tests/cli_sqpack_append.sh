#!/bin/sh
# Without -noappend, sqpack as mksquashfs adds to an image: the tree is that of
# mksquashfs, the old blocks are copied, and new files share them.
# COLDPRESS_MKSQUASHFS names a folder with another version's mksquashfs and
# unsquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir ours
ln -s "$(command -v sqpack)" ours/mksquashfs
ours=$PWD/ours/mksquashfs
PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH HOME="$PWD"

mkdir -p a/d b/d/e c
echo 1 >a/x
seq 60000 >a/big
seq 3000 >a/small
echo z >a/d/z
truncate -s 300000 a/hole
ln a/x a/hard
ln -s x a/link
mkfifo a/fifo
chmod 711 a
echo new >b/x
echo w >b/w
seq 60000 >b/big2
seq 3000 >b/d/small2
seq 70000 >b/d/e/f
ln b/w b/w2
chmod 701 b
echo c >c/x
setfattr -n user.q -v 1 b 2>/dev/null
setfattr -n user.q -v 2 a/d 2>/dev/null
find a b c -exec touch -h -d @1600000000 {} +
chmod 4755 a/small

# the tree, without what depends on the order of blocks
tree() {
	unsquashfs -n -pf - "$1" | sed '/^# START/,$d; /^#/d' |
		sed 's/\( R [0-9]* [0-7]* [0-9]* [0-9]* [0-9]*\) .*/\1/'
}
# append_to IMAGE PROGRAM WORD...
append_to() {
	image=$1
	program=$2
	shift 2
	# the words before the first option are sources
	sources=
	while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do
		sources="$sources $1"
		shift
	done
	# shellcheck disable=SC2086
	"$program" $sources "$image" -no-progress "$@"
}
has_peer=false
have mksquashfs && have unsquashfs && has_peer=true

set -f
while IFS='|' read -r made words; do
	rm -f old theirs
	# shellcheck disable=SC2086
	t "an image: $made" 0 "$ours" a old -quiet -no-progress -force-uid 7 \
	    $made
	# shellcheck disable=SC2086
	if $has_peer; then
		cp old theirs
		t "mksquashfs: $words" 0 append_to theirs mksquashfs $words
	fi
	cp old new
	chmod 640 new
	# shellcheck disable=SC2086
	t "sqpack: $words" 0 append_to new "$ours" $words
	shows 'says so' 'Appending to existing 4.0 filesystem' .t.out
	t 'the image is intact' 0 sqpack -l new
	t 'its data, too' 0 sqpack -x out new
	rm -rf out
	is 'its permissions remain' "$(stat -c %a new)" 640
	if $has_peer; then
		tree new >new.list
		tree theirs >theirs.list
		same "$words: the same tree" new.list theirs.list
		unsquashfs -q -n -d old-files theirs >/dev/null 2>&1
		unsquashfs -q -n -d new-files new >/dev/null 2>&1
		t 'the same data' 0 diff -r -x fifo --no-dereference old-files \
		    new-files
		rm -rf old-files new-files
	else
		skip "$words: the same tree" 'mksquashfs is not installed'
	fi
done <<'END'
|b -root-time 5
|b a
|b -root-becomes under
|b -keep-as-directory
|b c b
|b/x a/x -root-uid 5
|b/x -root-becomes x
-no-xattrs|b -root-time 5
-no-fragments|b -root-time 5 -all-root
-always-use-fragments|b -root-time 5
-b 4K|b -root-time 5 -root-mode 750
-no-duplicates|b -root-time 5
-comp xz|b -root-time 5
-comp lz4|b -root-time 5 -e d
-comp zstd|b -root-time 5 -wildcards -e w*
-noI|b -root-time 5 -no-hardlinks
-no-exports|b -root-time 5 -force-gid 9
END
set +f
for o in '-comp xz -Xdict-size 50%' '-comp gzip -Xstrategy fixed' '-offset 5K'; do
	rm -f old
	# shellcheck disable=SC2086
	t "$o: an image" 0 "$ours" a old -quiet -no-progress $o
	case $o in -offset*)
		printf 'loader' | dd of=old conv=notrunc 2>/dev/null ;;
	esac
	cp old new
	# shellcheck disable=SC2086
	t "$o: added to" 0 "$ours" b new -quiet -no-progress $o
	at=0
	case $o in -offset*) at=5K ;; esac
	t "$o: extracted" 0 sqpack --offset $at -x out new
	t "$o: old files" 0 diff --no-dereference -r -x fifo a/d out/d
	same "$o: a new one" b/d/e/f out/d_1/e/f
	rm -rf out
done
is 'what precedes the image remains' "$(head -c 6 new)" loader

rm old
# the bytes of the old blocks are where they were, and equal files share them
"$ours" a old -quiet -no-progress -comp zstd
cp old new
"$ours" b new -quiet -no-progress
mkdir only
cp b/big2 only/copy
cp a/small only/tail
cp old with
"$ours" only with -quiet -no-progress
t 'equal files take no data' 0 test $(($(stat -c %s with) -
    $(stat -c %s old))) -le 4096
inodes=$(od -An -t u8 -j 64 -N 8 old | tr -d ' ')
cmp -s -n $((inodes - 96)) -i 96 old new
is 'the old blocks are the same' $? 0
# a damaged block is copied, but nothing shares it
rm old
"$ours" a old -quiet -no-progress -comp xz
printf '\377\377\377' | dd of=old bs=1 seek=200 conv=notrunc 2>/dev/null
cp old new
t 'onto damaged data' 0 "$ours" only new -quiet -no-progress
t 'new files do not share it' 0 sqpack --cat copy new
same 'its content' .t.out only/copy

# what is refused leaves the image alone
rm old
"$ours" a old -quiet -no-progress
cp old new
tar -C b -cf b.tar .
t 'an archive' 1 "$ours" - new -tar -no-progress <b.tar
shows 'is named' 'an archive cannot be appended' .t.err
seq 1000 >text
t 'a file that is no image' 1 "$ours" b text -no-progress
shows 'is named' 'no squashfs superblock found' .t.err
is 'and remains' "$(tail -n 1 text)" 1000
for name in '' . .. d/e; do
	t "-root-becomes '$name'" 1 "$ours" b new -root-becomes "$name"
done
head -c 3000 old >new
cp new cut
t 'a truncated image' 1 "$ours" b new -no-progress
same 'is not changed' new cut
# an inode table that begins inside the data
cp old new
printf '\200\0\0\0\0\0\0\0' | dd of=new bs=1 seek=64 conv=notrunc 2>/dev/null
cp new cut
t 'a damaged superblock' 1 "$ours" b new -no-progress
same 'is not changed' new cut
mkdir one
echo a few bytes >one/f
"$ours" one new -noappend -quiet -no-progress -noI -noD -no-fragments
at=$(od -An -t u8 -j 64 -N 8 new | tr -d ' ')
# the inode of the file is the first; its blocks now begin at the inodes
# shellcheck disable=SC2059
printf "$(printf '\\%03o' $((at & 255)) $((at >> 8 & 255)))" |
	dd of=new bs=1 seek=$((at + 18)) conv=notrunc 2>/dev/null
t 'data among the tables' 1 "$ours" b new -no-progress
shows 'is named' 'data is not between superblock and inodes' .t.err
mkfifo pipe
t 'no regular file' 1 "$ours" b pipe -no-progress
shows 'is named' 'pipe: expected a file' .t.err
ln -s real link
cp old real
t 'through a link' 0 "$ours" b link -no-progress -quiet
t 'which remains' 0 test -L link
t 'the file has the new names' 0 sqpack -l real
shows 'as the link' '^x_1$' .t.out
done_testing
