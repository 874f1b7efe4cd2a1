#!/bin/sh
# Files named in a list come first in the image, in list order, whether the
# source is a directory or a stream.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
have unsquashfs || skip_all 'unsquashfs is not installed'
mkdir -p tree/d/e tree/z
for i in 1 2 3 4 5 6; do
	seq $i$i 50000 | shuf --random-source=/dev/zero >tree/d/large$i
	seq $((i * 700)) | tac >tree/d/e/small$i
	seq $((i * 600)) >tree/z/small$i
done
: >tree/empty
truncate -s 400000 tree/d/hole
printf 'with blank' >'tree/z/a name 7'
printf 'tab' >"tree/z/t	b"
ln tree/d/e/small5 tree/z/other-name

facts() {
	(cd "$1" && find . -printf '%y %m %n %s %P\n' |
	    awk '$1 == "d" { $3 = $4 = "" } { print }' | sort
	find . -type f -exec sha256sum {} + | sort)
}
holds() {
	rm -rf got
	t "$1: unsquashfs" 0 unsquashfs -q -n -d got "$2"
	facts got >got.facts
	same "$1: the same tree" got.facts want
}

marks='d/large1 d/large2 d/large3 d/large4 d/large5 d/large6'
for m in $marks; do
	echo "mark $m ends" >>"tree/$m"
done
for m in d/e/small1 d/e/small6 z/small2 z/small5; do
	echo "mark $m ends" >>"tree/$m"
done
facts tree >want
# begins FILE...: checks that an uncompressed image stores their data in this
# order
begins() {
	for m in "$@"; do
		grep -obaF "mark $m ends" image | cut -d: -f1
	done >places
	sort -n places | cmp -s - places && [ "$(wc -l <places)" = $# ]
}

cat >list <<'EOF'
# the files that are read at startup
/z/small5
d/large4

./d//large2
d/e/small6
z/a name 7
nowhere/to/be/found
d/large4
d
z/other-name
EOF
raw='-F none --no-probe'
plain() {
	# shellcheck disable=SC2086
	sqpack -f $raw "$@" -o image tree
}
t 'a list of paths' 0 plain --order list
t 'its large files come first' 0 begins d/large4 d/large2 d/large1 d/large3 \
    d/large5 d/large6
t 'its small files share a block, in order, before the others' 0 \
    begins d/large2 z/small5 d/e/small6 d/large1 d/e/small1
holds 'a list' image
# the listed files' fragment block contains no other files
at=$(grep -obaF 'mark d/e/small6 ends' image | cut -d: -f1)
is 'the block ends with the listed files' \
    "$(tail -c +$((at + 1)) image | head -c 60 | tr -d '\0' | sed -n 2p)" \
    "$(head -c 10 'tree/z/a name 7' | head -n 1)$(seq 3500 -1 3498 | head -n 1)"
cp image by.path

for p in 1 2 4; do
	sqpack -f -p$p -F zstd -L 1 --order list -o image.$p tree
done
same 'the same for one and two threads' image.1 image.2
same 'the same for two and four threads' image.2 image.4
sqpack -f -F zstd -L 1 -o none.image tree
t 'the image differs from one without a list' 1 cmp -s image.1 none.image

# The same list in the other formats
grep -v '^#' list | tr '\n' '\0' >list0
t 'NUL-terminated paths' 0 plain -0 --order list0
same 'the same image' image by.path
{
	printf 'order\tpath\toffset_B\tlength_B\n'
	printf '3\td/large2\t0\t4096\n1\t/z/small5\t0\t100\n'
	printf '2\td/large4\t8192\t4096\n4\td/e/small6\t0\t4096\n'
	printf '9\td/large2\t65536\t4096\n'
	printf '5\tz/a name 7\t0\t10\n10\td\t0\t0\n'
	printf '12\tz/other-name\t0\t4096\n'
} >touches
t 'ranges of pages, not sorted' 0 plain --order touches
same 'the same image, again' image by.path
tr '\n' '\0' <touches | grep -zv ^order >touches0
t 'the same, terminated by NULs' 0 plain -0 --order touches0
same 'the same image, once more' image by.path
printf '1\tz/t\tb\t0\t3\n2\td/large6\t0\t3\n' >touches
t 'a name with a tab' 0 plain --order touches
t 'is found' 0 begins d/large6 d/large1
printf '1\td/large6\t0\t3\nd/large5\n' >touches
t 'an invalid range' 1 plain --order touches
shows 'is named' 'touches: line 2: expected a path' .t.err
cat >priorities <<'EOF'
d/large4 30
d/large6 -5
d/large2 100
z -9
z/a\ name\ 7 200
d/e 30
EOF
t 'priorities' 0 plain --order priorities
t 'the highest first, negative last' 0 begins d/large2 d/large4 d/e/small1 \
    d/large1 d/large3 d/large5 d/large6 z/small2
holds 'priorities' image
if have mksquashfs; then
	mksquashfs tree peer -sort priorities -noappend -no-progress -noI \
	    -noD -noF -p 'x d 755 0 0' >/dev/null 2>&1
	mv image ours
	mv peer image
	t 'large files as with mksquashfs -sort' 0 begins d/large2 d/large4 \
	    d/large1 d/large6
	mv ours image
else
	skip 'mksquashfs is not installed'
fi

# A stream
(cd tree && tar --format=posix --sort=name -cf - .) >tree.tar
for l in list priorities; do
	t "$l: from an archive" 0 sqpack -f -F zstd -L 1 -p3 --order $l \
	    -o tar.image tree.tar
	holds "$l: from an archive" tar.image
done
sed '$d' list >list.no-link
for o in '-F zstd -L 1' '-F none' '-F gzip --no-fragments' \
    '-F lz4 -b 4K --no-duplicates'; do
	# shellcheck disable=SC2086
	sqpack -f $o --order list.no-link -o dir.image tree
	# shellcheck disable=SC2086
	t "$o: from a pipe" 0 sqpack -f $o -p3 --order list.no-link \
	    -o tar.image - <tree.tar
	same "$o: the image of the directory" tar.image dir.image
done
cp tree/d/large4 tree/d/e/small1 tree/z
facts tree >want
(cd tree && tar --format=posix --sort=name -cf - z d .) >tree.tar
t 'twins in an archive' 0 sqpack -f -F lz4 --order list -o tar.image tree.tar
holds 'twins in an archive' tar.image
sqpack -f -p1 -F lz4 --order list -o tar1.image tree.tar
same 'also with one thread' tar1.image tar.image

# Invalid lists
printf 'no/such\nfile\n' >bad
t 'a list of only missing files' 1 sqpack -o bad.image --order bad tree
shows 'is refused' 'bad: none of the paths names a file' .t.err
t 'also from an archive' 1 sqpack -o bad.image --order bad tree.tar
t 'no list' 1 sqpack -o bad.image --order not-there tree
shows 'is named' 'not-there: No such file' .t.err
printf 'd/large4\0x\n' >bad
t 'a NUL in a list of lines' 1 sqpack -o bad.image --order bad tree
t 'an image keeps its order' 1 sqpack -o bad.image --order list tar.image
t 'no image is created from these' 1 test -e bad.image
: >bad
t 'an empty list' 0 sqpack -f -F zstd -L 1 --order bad -o image tree
t 'missing paths are reported' 0 sqpack -f -v --dry-run --order list tree
shows 'by its number' 'of . paths do not name a file' .t.err
done_testing
