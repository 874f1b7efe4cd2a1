#!/bin/sh
# Tests sqpack under the names mksquashfs and unsquashfs: options, listings, and
# the command lines that other programs use.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have mksquashfs || skip_all "mksquashfs is not installed"
have unsquashfs || skip_all "unsquashfs is not installed"
mk=$(command -v mksquashfs)
un=$(command -v unsquashfs)
mkdir bin
ln -s "$(command -v sqpack)" bin/mksquashfs
ln -s "$(command -v sqpack)" bin/unsquashfs
PATH=$PWD/bin:$PATH
theirs=$("$mk" -version | sed -n '1s/.*version \([^ ]*\).*/\1/p')

mkdir -p one/dir/deep two/dir
echo a >one/a
echo b >one/dir/b
seq 60000 >one/dir/deep/large
cp one/dir/deep/large one/dir/twin
echo c >two/dir/c
ln one/a two/hard
ln -s a one/link
mkfifo one/fifo
touch -h -d @1600000000 one one/* one/dir/* one/dir/deep/* two two/* two/dir/*

# tree IMAGE: prints its contents, as listed by the original unsquashfs
tree() { "$un" -lln -UTC -d '' "$1"; }

# as NAME ARGUMENTS...: checks that both programs make equivalent images
as() {
	as_name=$1
	shift
	rm -f image theirs.img ours.img
	"$mk" "$@" >theirs.out 2>&1 && mv image theirs.img
	t "$as_name" 0 mksquashfs "$@"
	[ -e image ] || return 0
	mv image ours.img
	tree theirs.img >theirs.txt
	tree ours.img >ours.txt
	same "$as_name: the same tree" ours.txt theirs.txt
	# shellcheck disable=SC2249
	case $theirs,$* in
	4.5.1,*'-comp xz'*) same "$as_name: the same bytes" ours.img \
	    theirs.img ;;
	esac
}

SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
set -- -no-progress -no-xattrs -comp xz

as 'one directory' one image "$@"
as 'several sources' one/a one/link two/dir one/dir image "$@" -root-time 5
as 'one file' one/a image "$@" -root-time 5
as 'a hard link across sources' one two image "$@" -root-time 5
as 'a directory kept' one image "$@" -keep-as-directory -root-time 5
as 'excludes from the source' one image "$@" -e a dir/deep
as 'an exclude by its path' one image "$@" -e "$PWD/one/dir"
as 'an exclude from here' one image "$@" -e ./one/dir
printf '# no\n a\n\ndir/b\n' >list
as 'excludes of a file' one image "$@" -ef list
as 'wildcards' one image "$@" -wildcards -e 'd*/de*'
as 'wildcards anywhere' one image "$@" -wildcards -e '... b'
as 'wildcards that exclude the rest' one image "$@" -wildcards -e '!(a|dir)'
as 'regular expressions' one image "$@" -regex -e '^d.*r$/^de'
as 'regular expressions that match a part' one image "$@" -regex -e 'i' a
as 'regular expressions anywhere' one image "$@" -regex -e '... ^(b|large)$'
mkdir code
cp "$(command -v sqpack)" code/program
# since 4.6, mksquashfs has other parameters for the filters except x86
as 'filters' code image "$@" -Xbcj x86
cat >pseudo <<'END'
# a small system's device nodes
new d 755 0 0
new/console c 600 0 5 5 1
new/loop b 660 0 6 7 0
new/link s 777 0 0 to a place
new/socket i 755 1 1 s
/a m 4711 1 2
"two words" i 644 0 0 f
END
as 'pseudo files of a file' one image "$@" -pf pseudo
as 'pseudo files, with times' one image "$@" -p 'n D 1600000001 700 3 4' \
    -p 'n/x C 1600000002 600 0 0 1 3' -p 'dir M 1600000003 500 7 8'
as 'owners' one image "$@" -force-uid 5 -force-gid 7
as 'everything is owned by root' one image "$@" -all-root
as 'the same, by its other name' one image "$@" -root-owned
as 'the root' one image "$@" -root-mode 711 -root-uid 4 -root-gid 5
as 'blocks of 64K' one image "$@" -b 64K
as 'blocks of 1M' one image "$@" -b 1M
as 'no tables, no pad' one image "$@" -no-exports -nopad -no-duplicates
as 'nothing compressed' one image "$@" -noI -noId -noD -noF -noX
as 'no compressed data' one image -no-progress -comp lzo -noD -exit-on-error
for c in 'gzip -Xcompression-level 4' 'gzip -Xwindow-size 15' \
    'lz4 -Xhc' 'zstd -Xcompression-level 3' 'lzo -Xalgorithm lzo1x_999'; do
	# shellcheck disable=SC2086
	as "$c" one image -no-progress -comp $c
done
printf 'dir/deep/large -5\ndir/b 9\n' >order
as 'an order of data' one image -no-progress -comp lz4 -sort order
as 'xz, its dictionary' one image -no-progress -comp xz -Xdict-size 100%
as 'resources' one image "$@" -processors 3 -mem 256M -read-queue 4 \
    -write-queue 4 -fragment-queue 4 -no-recovery
rm -f image
"$mk" one image "$@" -offset 5K >/dev/null && mv image theirs.img
t 'an offset' 0 mksquashfs one image "$@" -offset 5K
same 'an offset: the same bytes' image theirs.img
t 'an offset: unsquashfs' 0 unsquashfs -q -n -o 5K -d offset image
t 'an offset: its tree' 0 diff -r -x fifo offset one
t 'another offset' 1 unsquashfs -offset 4096 -l image
unset SOURCE_DATE_EPOCH
as 'times' one image "$@" -all-time 5 -mkfs-time 7
as 'links counted separately' one image "$@" -fstime 7 -no-hardlinks \
    -one-file-system

# Output
"$mk" one theirs.img -noappend -no-progress >theirs.txt
t 'without further arguments' 0 mksquashfs one ours.img -noappend
cp .t.out ours.txt
for line in 'Exportable' 'data, ' 'xattrs, ' 'duplicates are' \
    'duplicate files' 'of inodes' 'of files' 'of fragments' 'symbolic' \
    'device' 'fifo' 'socket' 'of directories' 'hard-links'; do
	is "the line of $line" "$(grep "$line" ours.txt)" \
	    "$(grep "$line" theirs.txt)"
done
t '-quiet' 0 mksquashfs one ours.img -noappend -quiet -no-progress
is 'is silent' "$(cat .t.out)" ''
t '-info' 0 mksquashfs one ours.img -noappend -info
shows 'names the files' '^file /dir/b, uncompressed size 2 bytes'
t '-version' 0 mksquashfs -version
shows 'is that of the original' '^mksquashfs version 4\.7\.5 '
t '-version before other words' 0 mksquashfs -version one version.img
t 'makes no image' 1 test -e version.img
t '-version after them' 0 mksquashfs one version.img -version
shows 'prints it' '^mksquashfs version 4\.7\.5 '
t 'and an image is made' 0 "$un" -s version.img
t '-help' 0 mksquashfs -help

# An image inside its own source is omitted from the next image
cp -R two grows
mksquashfs grows grows/image -quiet
mksquashfs grows grows/image -quiet -noappend
is 'an image does not contain itself' \
    "$("$un" -l grows/image | grep -c image)" 0

# Extended attributes: the tables of xz and lzo images are those of mksquashfs
# repeat N TEXT
repeat() { awk -v n="$1" -v s="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'; }
mkdir caps sets sets/dir many
cp /bin/true caps/ping
echo a >caps/b
echo a >sets/a
echo b >sets/b
echo c >sets/dir/c
echo d >sets/dir/d
ln sets/b sets/hard
mkfifo sets/fifo
ln -s a sets/link
for f in sets/a sets/b sets/dir sets; do
	# in this order, which is not that of the names
	setfattr -n user.z -v "$f" $f
	setfattr -n user.b -v b $f
	setfattr -n user.long -v "$(repeat 300 x)" $f
done 2>/dev/null
# at the limits: a value out of line, a shared value, the same value twice
for n in 7 8 127 128 129; do
	setfattr -n user.v$n -v "$(repeat $n v)" sets/dir/c
	setfattr -n user.w$n -v "$(repeat $n v)" sets/dir/d
	setfattr -n user.twice$n -v "$(repeat $n v)" sets/dir/d
done 2>/dev/null
setfattr -n user.empty sets/dir/d 2>/dev/null
setfattr -h -n trusted.t -v 12345678 sets/link sets/fifo 2>/dev/null
setfattr -n security.own -v 12345678 sets/b 2>/dev/null
i=0
while [ $i -lt 700 ]; do	# more sets than a block of the index holds
	: >many/$i
	printf '# file: many/%d\nuser.k="%d"\nuser.some="value %d"\n\n' $i \
	    $((i % 600)) $((i % 9))
	i=$((i + 1))
done >dump
# without fragments both are one block, of zeros
mkdir zeros
head -c 4096 /dev/zero >zeros/a
seq 9000 >zeros/b
head -c 131072 /dev/zero >zeros/c
if [ "$theirs" = 4.5.1 ] && setfattr --restore=dump 2>/dev/null; then
	# cap_net_raw+ep; needs root
	setfattr -n security.capability -v \
	    0x0100000200200000000000000000000000000000 caps/ping 2>/dev/null
	SOURCE_DATE_EPOCH=1900000000
	export SOURCE_DATE_EPOCH
	for from in caps sets zeros many; do
		for o in '-comp xz' '-comp lzo' '-comp xz -noX -noI' \
		    '-comp lzo -no-fragments -keep-as-directory -root-time 5'; do
			# shellcheck disable=SC2086
			"$mk" $from theirs.img -noappend -quiet -no-progress \
			    $o >/dev/null
			# shellcheck disable=SC2086
			t "attributes of $from, $o" 0 mksquashfs $from \
			    ours.img -noappend -quiet -no-progress $o
			same "$from, $o: the same bytes" ours.img theirs.img
		done
	done
	unset SOURCE_DATE_EPOCH
	is 'the last image has many sets of attributes' \
	    "$("$un" -s ours.img | grep 'xattr ids')" 'Number of xattr ids 700'
else
	skip "attributes: none here, or mksquashfs $theirs, not 4.5.1"
fi

# The superblock: apart from the image's size and time, unsquashfs -s says the
# same of both programs' images
# stated IMAGE: prints what unsquashfs -s says of it
stated() {
	"$un" -s "$1" | grep -v -e '^Found ' -e '^Creation ' \
	    -e '^Filesystem size '
}

setfattr -n user.a -v b one/a 2>/dev/null || :
for c in gzip lzo xz lz4 zstd; do
	case $c in
	gzip) x='-Xcompression-level 3 -Xwindow-size 15' ;;
	lzo) x='-Xcompression-level 9 -Xalgorithm lzo1x_999' ;;
	xz) x='-Xbcj x86,arm -Xdict-size 100%' ;;
	lz4) x=-Xhc ;;
	*) x='-Xcompression-level 3' ;;
	esac
	for o in '' -no-xattrs '-no-fragments -no-xattrs' '-noF -noX' \
	    '-noI -noId' '-noD -no-duplicates -no-exports' "$x" \
	    '-e a dir link fifo'; do
		set -- -noappend -no-progress -quiet -comp $c
		# shellcheck disable=SC2086
		"$mk" one theirs.img "$@" $o >/dev/null
		# shellcheck disable=SC2086
		t "$c $o" 0 mksquashfs one ours.img "$@" $o
		stated theirs.img >theirs.txt
		stated ours.img >ours.txt
		same "$c $o: -s says the same" ours.txt theirs.txt
	done
done

# Rejected options
# refused WORD OPTION...: checks for a failure and a message that contains WORD
refused() {
	word=$1
	shift
	rm -f no.img
	t "refused: $*" 1 mksquashfs one no.img "$@"
	shows "$1: $word is named" "$word" .t.err
	t "$1: there is no image" 1 test -e no.img
}
refused no-such-option -no-such-option
refused 'Unmatched' -regex -e 'a(b'
refused Xbcj -Xbcj mips
refused 'is for xz' -Xbcj x86 -comp gzip
refused 'is for gzip' -Xwindow-size 15 -comp zstd
refused 'is for lzo' -Xalgorithm lzo1x_999 -comp xz
refused 'cannot be used with xz' -Xcompression-level 3 -comp xz
refused offset -offset 5x
refused recover -recover x
refused comp -comp
refused lzma -comp lzma
refused 3000 -b 3000
refused 'command failed' -p 'x f 644 0 0 false'
refused parent -p 'no/parent c 644 0 0 1 3'
refused 'two numbers' -p 'x c 644 0 0 1'
refused octal -root-mode 9
refused names -e
refused Xhc -Xhc
refused 77 -Xcompression-level 77 -comp zstd
t 'no source' 1 mksquashfs no.img
t 'a missing source' 1 mksquashfs nothing no.img
shows 'is named' nothing .t.err
SOURCE_DATE_EPOCH=5
export SOURCE_DATE_EPOCH
refused SOURCE_DATE_EPOCH -all-time 5
unset SOURCE_DATE_EPOCH

# unsquashfs
rm -f theirs.img
"$mk" one two theirs.img -comp xz -no-progress -quiet -root-time 5 \
    -p 'c c 600 0 0 4 70' -p 'e d 700 1 2' -p '.hidden d 700 1 2' >/dev/null
for o in -s -stat '-s -UTC' -l -ls -ll '-lls -UTC' -lln -llnumeric -lc -llc \
    -mkfs-time -fstime '-ll -d x/y' '-cat'; do
	name=
	[ "$o" != -cat ] || name='two/dir/c one/a'
	# shellcheck disable=SC2086
	"$un" $o theirs.img $name >theirs.txt
	# shellcheck disable=SC2086
	t "unsquashfs $o" 0 unsquashfs $o theirs.img $name
	same "unsquashfs $o prints the same" .t.out theirs.txt
done
for names in one/dir 'one/*/b two' nothing one/dir/ //one//dir 'one/*/' '*' \
    '.*' '!(one)' '@(two|e)/'; do
	# shellcheck disable=SC2086
	"$un" -lls theirs.img $names >theirs.txt
	# shellcheck disable=SC2086
	t "names: $names" 0 unsquashfs -lls theirs.img $names
	same "$names: the same names are listed" .t.out theirs.txt
done
t 'a name without letters' 1 unsquashfs -l theirs.img /
for c in 'gzip -Xcompression-level 4' 'lz4 -Xhc' 'zstd' 'xz -b 4096' \
    'lzo -Xcompression-level 3'; do
	# shellcheck disable=SC2086
	"$mk" one c.img -noappend -no-progress -quiet -comp $c >/dev/null
	"$un" -s c.img >theirs.txt
	t "the superblock of $c" 0 unsquashfs -s c.img
	same "$c, in the same words" .t.out theirs.txt
done

t 'unsquashfs -version alone' 1 unsquashfs -version
shows 'prints it' '^unsquashfs version 4\.7\.5 '
is 'and no error' "$(cat .t.err)" ''
t 'unsquashfs -v with an image' 0 unsquashfs -v -d versioned theirs.img one/a
shows 'prints it' '^unsquashfs version 4\.7\.5 '
same 'and extracts' versioned/one/a one/a
t '-version, then a listing' 0 unsquashfs -version -l theirs.img
shows 'which follows' '^squashfs-root/one/a$'
t '-cat of a missing name' 2 unsquashfs -cat theirs.img nothing one/a
same 'still writes the others' .t.out one/a
t '-cat of a directory' 2 unsquashfs -cat theirs.img one
t 'with -no-exit-code' 0 unsquashfs -no-exit-code -cat theirs.img nothing
t '-cat from no image' 1 unsquashfs -cat none.img one/a

t 'all of it' 0 unsquashfs -d out theirs.img
shows 'files are counted' '^created [0-9]* files$'
t 'exists' 0 diff -r --no-dereference -x fifo -x c out/one one
t 'to squashfs-root' 0 unsquashfs -q -n theirs.img one/a two/hard
is 'no message then' "$(cat .t.out)" ''
same 'its file exists' squashfs-root/one/a one/a
is 'and no other' "$(find squashfs-root -type f | wc -l | tr -d ' ')" 2
t 'a second time: files are not replaced' 2 unsquashfs -q -n theirs.img one/a
t 'except with -no-exit-code' 0 unsquashfs -no-exit-code -n theirs.img one/a
t '-f replaces them' 0 unsquashfs -f -n theirs.img one/a
echo one/dir/b >names
for names in '^one$/^dir$' 'o/[ab]' '... b' 't/d/^c$'; do
	"$un" -lls -regex theirs.img "$names" >theirs.txt
	t "-regex $names" 0 unsquashfs -lls -regex theirs.img "$names"
	same "-regex $names lists the same" .t.out theirs.txt
done
t 'names of a file' 0 unsquashfs -n -d named -ef names theirs.img
same 'are extracted' named/one/dir/b one/dir/b
t 'names that are not patterns' 0 unsquashfs -n -d plain -no-wildcards \
    theirs.img 'one/?'
t 'match nothing' 1 test -e plain/one
t 'no image' 1 unsquashfs -s names
t 'no such file' 1 unsquashfs -s none.img
t 'an unknown option' 1 unsquashfs -no-such theirs.img
shows 'is named' 'no-such' .t.err
t 'an unsupported one' 1 unsquashfs -default-mode 755 theirs.img
shows 'is also named' 'default-mode' .t.err
if setfattr -n user.one -v 1 one/a 2>/dev/null &&
    setfattr -n trusted.two -v 2 one/a 2>/dev/null; then
	mksquashfs one x.img -noappend -quiet
	t '-user-xattrs' 0 unsquashfs -q -user-xattrs -d user x.img
	is 'extracts no others' "$(getfattr -m - user/a 2>/dev/null |
	    grep -c -e user.one -e trusted)" 1
else
	skip 'attributes: none here'
fi

# Other programs' typical command lines
mkdir rootfs rootfs/dev rootfs/etc
echo id >rootfs/etc/hostname
: >rootfs/dev/null
t 'as enroot exports' 0 mksquashfs "$PWD/rootfs" "$PWD/box.sqsh" -all-root \
    -no-progress -processors 2 -comp lzo -noD -exit-on-error \
    -e "$PWD/rootfs/dev/null"
t 'as enroot imports' 0 mksquashfs rootfs in.sqsh -mkfs-time 5 -all-time 5 \
    -all-root -no-progress -processors 2 -comp lzo -noD -exit-on-error
t 'as enroot bundles' 0 unsquashfs -no-progress -processors 2 -user-xattrs \
    -f -d bundle in.sqsh
t 'as enroot queries' 0 unsquashfs -s "$PWD/box.sqsh"
is 'the part of the answer that enroot uses' \
    "$(awk '/^Compression/ { print "--" $2 }' .t.out)" --lzo
t 'as enroot creates' 0 unsquashfs -no-progress -processors 2 -user-xattrs \
    -d "$PWD/box" "$PWD/box.sqsh"
t 'the container lacks only the device' 0 sh -c \
    'test -e box/etc/hostname && test -d box/dev && ! test -e box/dev/null'
t 'as a snap is packed' 0 mksquashfs rootfs s.snap -noappend -comp xz \
    -no-fragments -no-progress -all-root -no-xattrs
t 'as snapd unpacks' 0 unsquashfs -n -f -d snap s.snap etc
t 'as snapd lists' 0 unsquashfs -no-progress -dest . -ll s.snap etc
shows 'in its own way' '^-rw-.* root/root .* \./etc/hostname$'
t 'as a live image is made' 0 mksquashfs rootfs filesystem.squashfs \
    -noappend -wildcards -e 'dev/*' -no-progress -b 1024k -comp xz

# What compressors were told
for o in 'xz' 'xz -Xbcj x86,arm' 'xz -Xdict-size 65536' 'zstd' \
    'zstd -Xcompression-level 7' 'gzip' 'gzip -Xstrategy huffman_only,default' \
    'gzip -Xcompression-level 5 -Xwindow-size 12' 'lz4' 'lz4 -Xhc' 'lzo' \
    'lzo -Xalgorithm lzo1x_1_15'; do
	# shellcheck disable=SC2086 # a list
	"$mk" one image -quiet -no-progress -noappend -comp $o >/dev/null 2>&1 ||
	    continue
	t "-s: $o" 0 to ours.s unsquashfs -s image
	"$un" -s image >theirs.s
	same "-s: $o, as they" ours.s theirs.s
done

# Options that only newer versions have
t '-mem-default' 0 mksquashfs -mem-default
shows 'is a quarter of the memory, in MiB' \
    "^$(awk '/^MemTotal/ { print int($2 / 4 / 1024) }' /proc/meminfo)\$"
t '-log' 0 mksquashfs one image -quiet -no-progress -noappend -log log
is 'has where files and fragments begin' "$(sed 's/, [0-9]*$//' log)" \
    "$(printf 'one/dir/deep/large\nFragment 0')"
is 'the first after the superblock' "$(sed -n '1s/.*, //p' log)" 96
t '-log: no such directory' 1 mksquashfs one image -quiet -no-progress \
    -noappend -log no/log
t '-repro-time' 0 mksquashfs one image -quiet -no-progress -noappend \
    -repro-time 1234567
is 'is the time of the image' "$("$un" -fstime image)" 1234567
is 'and of its files' "$(tree image | awk '{ print $4 }' | sort -u)" 1970-01-15
for o in log true false; do
	t "-$o-action" 0 mksquashfs one image -quiet -no-progress -noappend \
	    -$o-action 'exclude@name(a)'
	case $o in
	log) want='False True' ;;
	true) want=True ;;
	false) want=False ;;
	esac
	is "-$o-action: the verdicts" "$(sed -n 's/.*exclude@.*=//p' .t.out |
	    tr -d ')' | sort -u | tr '\n' ' ')" "$want "
	is "-$o-action: of a" "$(grep -c '^/a=' .t.out)" \
	    "$(case $o in false) echo 0 ;; *) echo 1 ;; esac)"
done

done_testing
