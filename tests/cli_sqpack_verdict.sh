#!/bin/sh
# All tools give the same verdict on an image with a damaged structure, and it
# is that of unsquashfs and Linux; images of all writers are good.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have coldwalk || skip_all 'no coldwalk'
fields=$SRC/tests/squashfs_fields.py

# The listing of the root is damaged: a name contains a slash.
mkdir root
touch root/HARD1 root/NAME1 root/z
sqpack -F none -o whole root
sed 's,NAME1,a/xyz,' whole >spoilt
ln -s "$(command -v sqpack)" unsquashfs
for task in '-l' '-lv' '-x out' '--cat HARD1' '-f -o image' \
    '--rebuild-check'; do
	# shellcheck disable=SC2086
	t "a damaged root: $task" 1 told sqpack $task spoilt
	is 'the message' "$(cat err)" \
	    'sqpack: spoilt: /: the directory listing is damaged'
done
t '-x extracts what is left' 0 test -f out/HARD1
t 'there is no new image' 1 test -e image
t 'unsquashfs -l' 2 told ./unsquashfs -l spoilt
is 'the message' "$(sed 's/^[^ ]* //' err)" \
    'spoilt: /: the directory listing is damaged'
t 'unsquashfs' 2 told ./unsquashfs -q -d more spoilt
is 'the message, once' "$(sed 's/^[^ ]* //' err)" \
    'spoilt: /: the directory listing is damaged'
t 'coldwalk' 1 told coldwalk spoilt
shows 'a message' 'the directory listing is damaged' err
echo HARD1 >list
t 'coldwalk of a name that is left' 1 to got told coldwalk --files-from list \
    spoilt
is 'which is read' "$(sed 's/.*  //' got)" HARD1
shows 'the same message' 'the directory listing is damaged' err

# Every field.
if have python3; then
	python3 "$fields" - tree >tar
	t 'an image of all types' 0 sqpack -F none -b 4K -o image tar
	t 'one wrong field' 0 python3 "$fields" image fields
	sed -n '/^#/p' .t.out
	t 'one wrong byte' 0 python3 "$fields" image mutants 1 150 20
	sed -n '/^#/p' .t.out
	rm image
else
	skip 'wrong fields: python3 is not installed'
fi

# No false alarm: hard links, attributes, a directory with an index.
mkdir -p tree/many tree/sub/deep tree/empty
name=$(printf '%0200d' 0)
i=0
while [ $i -lt 100 ]; do
	echo $((i / 2)) >"tree/many/$i.$name"
	i=$((i + 1))
done
seq 30000 >tree/large
ln tree/large tree/sub/hard
ln tree/many/7.* tree/sub/deep/also
ln -s large tree/link
mkfifo tree/fifo
truncate -s 300000 tree/hole
if setfattr -n user.color -v red tree/large 2>/dev/null; then
	setfattr -n user.color -v red tree/empty
	setfattr -n user.long -v "$name" tree/sub
	setfattr -n user.long -v "$name" tree/hole
else
	skip 'no attributes here'
fi

good() {
	t "$1: coldwalk" 0 to /dev/null coldwalk image
	t "$1: sqpack" 0 sqpack -lv image
	rm -f image
}
for c in gzip lzo lz4 xz zstd; do
	for o in '' '-no-exports' '-no-xattrs' '-noI -noD -noF -noX' '-b 4K'; do
		# shellcheck disable=SC2086
		have mksquashfs && mksquashfs tree image -comp $c $o \
		    -no-progress >/dev/null 2>&1 && good "mksquashfs $c $o"
	done
	have mksquashfs && mksquashfs tree image -comp $c -no-progress \
	    >/dev/null 2>&1 && mksquashfs root image -no-progress \
	    >/dev/null 2>&1 && good "mksquashfs $c, appended"
	for o in '' '-x' '-e' '-x -e'; do
		# shellcheck disable=SC2086
		have gensquashfs && gensquashfs -q -c $c $o -D tree image \
		    >/dev/null 2>&1 && good "gensquashfs $c $o"
	done
	for o in '' '-x' '-e'; do
		# shellcheck disable=SC2086
		have tar2sqfs && tar --xattrs -C tree -cf - . |
		    tar2sqfs -q -c $c $o image >/dev/null 2>&1 &&
		    good "tar2sqfs $c $o"
	done
	for o in '' '--no-export' '--no-xattrs'; do
		# shellcheck disable=SC2086
		sqpack -F $c $o -o image tree 2>/dev/null &&
		    good "sqpack $c $o"
	done
done
done_testing
