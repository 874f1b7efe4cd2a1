#!/bin/sh
# What sqpack lists of an image is what unsquashfs finds in it; of a
# damaged one it lists what can be read, says what is wrong and ends with 1.
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

# lines IMAGE: the long lines, blanks squeezed, without compressed bytes
lines() {
	sqpack -lv "$1" | sed '1,/^$/d' |
	    awk '$1 !~ /^[bc]/ { $4 = "" } { $1 = $1; gsub(/ +/, " "); print }'
}
# unsquashfs writes odd names as they are: those are compared below
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
is 'what matched is listed' "$(grep -c . .t.out)" "$(grep -c '^a/' all)"

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
shows 'is said' '^no: CONFIG_SQUASHFS is not set$'
t 'zstd, an old kernel' 1 sqpack --can-mount=4.9.0-19-amd64 other
shows 'the version is named' '^no: zstd came with Linux 4.14$'
t 'zstd, a new kernel' 0 sqpack --can-mount=4.14 other
t 'no such file' 1 sqpack --can-mount=./none other
t 'in a long listing' 0 sqpack -lv --can-mount=4.9 other
shows 'too' '^mounted by 4.9: no: zstd'

# An image inside a program.
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

# What is no image.
: >none
t 'an empty file' 1 sqpack -l none
shows 'a sentence' '^sqpack: none: no squashfs image begins here$' .t.err
t 'a file that is not there' 1 sqpack -l nowhere
t 'no image' 1 sqpack -l
t '-l and -o' 1 sqpack -l -o x image

# Damage.
if damage_begin; then
	t 'a whole image' 0 to want sqpack -l whole
	told_of() {
		t "-l: $1" 1 to got told sqpack -l spoilt
		t "$1: a sentence" 0 grep -q '^sqpack: spoilt: ' err
		case $1 in
		*version* | *logarithm* | *root*) ;;
		*) same "$1: all names" got want ;;
		esac
		t "-lv: $1" 1 to got told sqpack -lv spoilt
	}
	damage_each told_of
else
	skip 'damaged images: mksquashfs makes no image'
fi
done_testing
