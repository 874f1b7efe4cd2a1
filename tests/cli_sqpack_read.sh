#!/bin/sh
# sqpack lists, extracts and writes the same image contents as unsquashfs.  It
# reads what it can of a damaged image, reports the damage and exits with status
# 1.  Nothing is extracted outside the directory.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/squashfs_damage.sh
. "$SRC/tests/squashfs_damage.sh"

PATH=$PATH:/usr/sbin:/sbin
have unsquashfs || skip_all 'unsquashfs is not installed'
export TZ=UTC

mkdir -p tree/a/b/c tree/many tree/a.b tree/mode
seq 200000 >tree/a/large
head -c 131072 tree/a/large >tree/a/exact
head -c 131073 tree/a/large >tree/a/more
seq 700 >tree/a/b/small
cp tree/a/large tree/a/b/twin
cp tree/a/b/small tree/a/b/c/small-twin
ln tree/a/large tree/a/b/c/hard
ln tree/a/b/small tree/0-hard
ln -s small tree/a/b/link
ln -s "$(printf 'x%.0s' $(seq 3000))" tree/a/long-link
mkfifo tree/a/fifo
: >tree/empty
truncate -s 3000000 tree/a/hole
seq 300000 >tree/a/sparse
truncate -s 9000000 tree/a/sparse
seq 10 >>tree/a/sparse
(cd tree/many && seq 2000 | xargs touch)
chmod 6751 tree/a/exact
chmod 1777 tree/mode
touch -d '2001-09-09 01:46:40' tree/a/large tree/mode
printf x >"$(printf 'tree/a/new\nline\\ \033[2J')"
printf y >"$(printf 'tree/caf\303\251')"
if [ "$(id -u)" = 0 ]; then
	chown 12:345 tree/a/b/small tree/many
	chown -h 12:345 tree/a/b/link
fi
sqpack -F gzip -o image tree

# lines IMAGE: prints the long listing, blanks squeezed, without compressed
# sizes
lines() {
	sqpack -lv "$1" | sed '1,/^$/d' |
	    awk '$1 !~ /^[bc]/ { $4 = "" } { $1 = $1; gsub(/ +/, " "); print }'
}
# unsquashfs prints odd names unquoted, so these are compared below
lines image | grep -v 'new\\012line' | sed 's,/\( -> \|$\),\1,' | sort >got
unsquashfs -lln image | sed 's,squashfs-root/\?,,; s,  *$, .,; s/  */ /g' |
    grep '^[-dlpbc]r' | grep -v ' a/new' |
    sed 's, \([0-9:]*\)$, \1 .,' | sort >want
same '-lv gives the facts of unsquashfs -lln' got want
is 'a name with a newline, a backslash and an escape' \
    "$(sqpack -l image | grep new)" 'a/new\012line\\ \033[2J'
is 'a name in UTF-8' "$(sqpack -l image | tail -n +1 | grep caf)" \
    "$(printf 'caf\303\251')"
sqpack -l image >all
is 'as many names as the tree has' "$(grep -c . all)" \
    "$(find tree -mindepth 1 -printf '%i\n' | grep -c .)"
is 'depth first, by bytes' "$(grep -v many all | head -n 5 | tr '\n' ' ')" \
    '0-hard a/ a/b/ a/b/c/ a/b/c/hard '

# Globs.
is 'a directory is all below it' "$(sqpack -l a/b image | tr '\n' ' ')" \
    'a/b/ a/b/c/ a/b/c/hard a/b/c/small-twin a/b/link a/b/small a/b/twin '
is 'a star stays within a directory' \
    "$(sqpack -l 'a/*l*e' /empty image | grep -v new | tr '\n' ' ')" \
    'a/hole a/large empty '
t 'a glob without a match' 1 sqpack -l nothing a image
shows 'it is named' 'no name matches nothing' .t.err
is 'matching names are listed' "$(grep -c . .t.out)" "$(grep -c '^a/' all)"

# The header.
value() { sqpack -lv "$2" | sed -n "s/^$1: //p"; }
for o in 'gzip|-F gzip|gzip, level 9, window 15' \
    'gzip 3|-F gzip -L 3|gzip, level 3, window 15' \
    'zstd|-F zstd|zstd, level 15' 'zstd 7|-F zstd -L 7|zstd, level 7' \
    'lz4|-F lz4|lz4' 'lz4hc|-F lz4hc|lz4, high compression' \
    'xz|-F xz -b 64K|xz, dictionary 65536'; do
	name=${o%%|*} rest=${o#*|}
	# shellcheck disable=SC2086
	sqpack -f ${rest%|*} -o other tree/a/b
	is "$name: compressor" "$(value compressor other)" "${rest#*|}"
done
is 'block size' "$(value 'block size' other)" 65536
sqpack -f --mtime 1000000000 --no-export -o other tree/a/b
is 'created' "$(value created other)" 2001-09-09T01:46:40Z
is 'inodes' "$(value inodes other)" 7
is 'bytes used' "$(value 'bytes used' other)" "$(le other 40 8)"
t 'no table for NFS' 1 sh -c 'sqpack -lv other | grep "^flags:.*exportable"'

# Kernels.
printf '%s\n' CONFIG_SQUASHFS=m CONFIG_SQUASHFS_ZLIB=y \
    '# CONFIG_SQUASHFS_ZSTD is not set' CONFIG_SQUASHFS_XZ=y >config
gzip -c config >config.gz
for c in config config.gz; do
	t "$c with ZLIB: gzip" 0 sqpack --can-mount=$c image
	t "$c without ZSTD: zstd" 1 sqpack --can-mount=$c other
	shows 'the option is named' '^no: CONFIG_SQUASHFS_ZSTD is not set$'
done
: >config
t 'no squashfs at all' 1 sqpack --can-mount=config image
shows 'is reported' '^no: CONFIG_SQUASHFS is not set$'
t 'zstd, an old kernel' 1 sqpack --can-mount=4.9.0-19-amd64 other
shows 'the version is named' '^no: zstd was added in Linux 4.14$'
t 'zstd, a new kernel' 0 sqpack --can-mount=4.14 other
t 'no such file' 1 sqpack --can-mount=./none other
t 'in a long listing' 0 sqpack -lv --can-mount=4.9 other
shows 'too' '^mounted by 4.9: no: zstd'

# Tests an image inside a program.
{
	printf '\177ELF\002\001\001\000AI\002\000\000\000\000\000'
	head -c 4080 /dev/zero
} >runtime
poke runtime 40 8 3968
poke runtime 58 2 64
poke runtime 60 2 2
cat runtime image >app
t 'an AppImage' 0 to got sqpack -l app
same 'its names' got all

# Tests an image in a SIF file: two partitions, of which the second is the
# system's.
# descriptor NUMBER TYPE FILESYSTEM PART OFFSET
descriptor() {
	poke box $((128 + 585 * $1)) 4 $(($2))
	poke box $((132 + 585 * $1)) 1 1
	poke box $((145 + 585 * $1)) 8 "$5"
	poke box $((329 + 585 * $1)) 4 "$3"
	poke box $((333 + 585 * $1)) 4 "$4"
}
{
	printf '#!/usr/bin/env run-singularity\n'
	head -c 1 /dev/zero
	printf 'SIF_MAGIC\00001\00002\000'
	head -c 4048 /dev/zero
	cat other image
} >box
second=$((4096 + $(stat -c %s other)))
poke box 88 8 3
poke box 96 8 128
descriptor 0 0x4003 0 0 4096
descriptor 1 0x4004 1 3 4096
descriptor 2 0x4004 1 2 $second
t 'a SIF file' 0 to got sqpack -l box
same 'the names of its system' got all
t 'the same for coldwalk' 0 coldwalk -q box
t 'and for unsquashfs' 0 sqpack -lv box
t 'another of its images' 0 to got sqpack -l --offset 4096 box
sqpack -l other >names
same 'by its offset' got names
poke box 96 8 $((1 << 62))
t 'descriptors beyond the end' 1 sqpack -l box

# Tests files that are not images.
: >none
t 'an empty file' 1 sqpack -l none
shows 'a message' '^sqpack: none: not a squashfs image$' .t.err
t 'a missing file' 1 sqpack -l nowhere
t 'no image' 1 sqpack -l
t '-l and -o' 1 sqpack -l -o x image

# Extraction.  facts DIR: prints everything about a tree that an image preserves
facts() {
	(cd "$1" && find . -printf '%y %m %U %G %n %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = $6 = "" } { sub(/[.].*/, "", $7); print }' |
	    sort
	find . -type f -exec sha256sum {} + | sort
	have getfattr && getfattr -Rhd -m - . 2>/dev/null)
}
as='not root'
if [ "$(id -u)" = 0 ]; then
	as=root
	mknod tree/a/char c 4095 70000 2>/dev/null || :
	setfattr -n trusted.t -v secret tree/a/b 2>/dev/null || :
fi
setfattr -n user.color -v red tree/a/large 2>/dev/null || :
setfattr -n user.long -v "$(seq 300 | tr '\n' ' ')" tree/a/b 2>/dev/null || :
facts tree >facts.want
for o in '-F gzip' '-F zstd -L 1 -b 4K' '-F lz4 -b 1M' \
    '-F zstd -L 1 --no-fragments --no-duplicates' '-F none'; do
	# shellcheck disable=SC2086
	sqpack -f $o -o image tree
	for n in 1 5; do
		rm -rf got
		t "-x $o -p$n, $as" 0 sqpack -x got -p$n image
		facts got >facts.got
		[ "$as" = root ] || sed -i 's/ 6751 / 751 /' facts.want
		same "the tree: $o" facts.got facts.want
	done
done
is 'holes stay holes' "$(($(du -k got/a/hole | cut -f1) < 100))" 1
is 'also within a file' "$(($(du -k got/a/sparse | cut -f1) < 3000))" 1
cp image whole-image

# Images made by mksquashfs: the tails of larger files are in fragment blocks
if have mksquashfs; then
	mksquashfs tree other -noappend -no-progress -always-use-fragments \
	    >/dev/null 2>&1
	rm -rf got
	t 'an image with file tails in fragments' 0 sqpack -x got other
	facts got >facts.got
	same 'its tree' facts.got facts.want
	for f in a/large a/sparse a/b/small; do
		to got.cat sqpack --cat $f other
		same "--cat $f" got.cat tree/$f
	done
fi

rm -rf got
t 'a part of it' 0 sqpack -x got a/b 'e*' image
is 'is that' "$(cd got && find . -type f | sort | tr '\n' ' ')" \
    './a/b/c/hard ./a/b/c/small-twin ./a/b/small ./a/b/twin ./empty '
is "a directory above has its mode" "$(stat -c %a%Y got/a)" \
    "$(stat -c %a%Y tree/a)"
t 'again' 1 sqpack -x got a/b 'e*' image
shows 'files are not replaced' 'a/b/small: already exists' .t.err
echo other >got/empty
t 'unless -f is given' 0 sqpack -fx got a/b 'e*' image
is 'the file is new' "$(stat -c %s got/empty)" 0
t 'a glob without a match' 1 sqpack -x got nothing image

# Symbolic links in place of directories and files
mkdir outside
rm -rf got
mkdir got
ln -s ../outside got/a
ln -s ../outside/made got/empty
t 'links in place of directories' 1 sqpack -x got image
is 'nothing is created outside' "$(ls outside)" ''
t 'links are replaced' 0 sqpack -fx got image
is 'and not followed' "$(ls outside)" ''
t 'but replaced from the image' 0 test -d got/a/b -a ! -L got/a
mkdir links links/ab
seq 9 >links/ab/in
ln -s ../outside links/aa
sqpack -f -F none -o twice links
poke twice "$(LC_ALL=C grep -abo 'ab' twice | sed -n '1s/:.*//p')" 2 24929
rm -rf got
t 'a link and a directory of the same name' 1 sqpack -x got twice
is 'it is not followed' "$(ls outside)" ''
poke twice "$(LC_ALL=C grep -abo 'in' twice | sed -n '$s/:.*//p')" 2 \
    $((0x2e2e))
rm -rf got
t 'a name of ..' 1 sqpack -x got twice
is 'is not created' "$(ls outside)" ''

# --cat
sqpack -f -F gzip -o image tree
for f in a/large a/hole a/sparse a/b/small empty; do
	to got.cat sqpack --cat /$f image
	same "--cat $f" got.cat tree/$f
done
for f in a nowhere a/b/link a/; do
	t "--cat $f" 1 sqpack --cat $f image
	is 'prints nothing' "$(cat .t.out)" ''
done

# An image inside another file
{ head -c 32768 /dev/urandom; cat image; } >holder
sqpack -l image >want
t 'not at the start' 1 sqpack -l holder
t '-l --offset' 0 sqpack -l --offset 32K holder
same 'lists it' .t.out want
t '-x --offset' 0 sqpack -x held --offset=32768 holder
same 'extracts it' held/a/large tree/a/large
to got.cat sqpack --cat a/large --offset 32K holder
same '--cat --offset' got.cat tree/a/large
t '--rebuild-check --offset' 0 sqpack --rebuild-check --offset 32K holder
sqpack -f -F lz4 -o want image
t 'as the source of an image' 0 sqpack -f -F lz4 --offset 32K -o made holder
same 'which is the same' made want
t 'elsewhere' 1 sqpack -l --offset 28K holder
shows 'nothing is found' '^sqpack: holder: ' .t.err
t 'not a number' 1 sqpack -l --offset x holder
t 'of a directory' 1 sqpack -f -F lz4 --offset 32K -o none tree

# Damaged data: all other data is extracted
seq 100000 >one
mkdir data
for f in 1 2 3 4; do
	sed "s/^/$f/" one >data/$f
	echo $f >data/small$f
done
sqpack -f -F gzip --no-probe -o spoilt data
poke spoilt 130 4 $((0xffffffff))
rm -rf got
t 'a damaged block' 1 sqpack -x got spoilt
shows 'the file and the place' \
    '^sqpack: spoilt: 1: offset 96: the block cannot be decompressed; replaced by zer' \
    .t.err
is 'one message' "$(grep -c . .t.err)" 1
for f in 2 3 4 small1 small4; do
	same "the others exist: $f" got/$f data/$f
done
is 'the rest of it exists' "$(tail -c 500000 got/1 | cksum)" \
    "$(tail -c 500000 data/1 | cksum)"
is 'in its place' "$(head -c 131072 got/1 | tr -d '\0' | wc -c | tr -d ' ')" 0
t '--cat of it' 1 to got.cat sqpack --cat 1 spoilt
t '--cat of another' 0 to got.cat sqpack --cat 2 spoilt
same 'is whole' got.cat data/2
sqpack -f -F none -o spoilt data
at=$(LC_ALL=C grep -abo '^4$' spoilt | sed -n '$s/:.*//p')
head -c "$at" spoilt >short
t 'an image that ends in its data' 1 sqpack -x got short
for o in '-x got' '--cat 1' -l; do
	# shellcheck disable=SC2086
	t "$o: an empty file" 1 sqpack $o none
done
t '-x without an image' 1 sqpack -x got
t '-x and -l' 1 sqpack -x got -l image
t '--cat with one name too many' 1 sqpack --cat 1 a image
: >file
t 'a file in place of the directory' 1 sqpack -x file image

rm -rf got

# Damage.
if damage_begin; then
	t 'a whole image' 0 to want sqpack -l whole
	rm -rf dir
	t '-x' 0 sqpack -x dir whole
	find dir -type f -exec cksum {} + | sort >sums
	told_of() {
		t "-l: $1" 1 to got told sqpack -l spoilt
		t "$1: a message" 0 grep -q '^sqpack: spoilt: ' err
		case $1 in
		*version* | *logarithm* | *root*) ;;
		*) same "$1: all names" got want ;;
		esac
		t "-lv: $1" 1 to got told sqpack -lv spoilt
		rm -rf dir
		t "-x: $1" 1 sqpack -x dir spoilt
		find dir -type f -exec cksum {} + 2>/dev/null | sort >sums.got
		case $1 in
		*version* | *logarithm* | *root* | *target* | *fragment*) ;;
		*) same "$1: all files" sums.got sums ;;
		esac
	}
	damage_each told_of
else
	skip 'damaged images: mksquashfs cannot create an image'
fi
done_testing
