#!/bin/sh
# Tests --diff: what differs between two images, in words.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir -p one/a/deep one/gone one/a-b
seq 60000 >one/large
seq 300 >one/a/small
seq 300 >one/a-b/other
echo x >one/a/deep/file
echo y >one/gone/file
ln -s a one/link
ln one/large one/hard
mkfifo one/fifo
find one -exec touch -h -d @1600000000 {} +
cp -a one two
echo X >two/a/deep/file
seq 59999 >two/large
echo 60001 >>two/large
chmod 600 two/a/small
rm -r two/gone two/link
ln -s b two/link
touch -h -d @1600000000 two/link two/a/deep two/a/deep/file two/large two
touch -d @1600000001 two/a-b/other
echo new >two/a/zzz
touch -d @1600000000 two/a
sqpack -q -F lz4 -o one.img one
sqpack -q -F lz4 -o two.img two

t 'an image and itself' 0 sqpack --diff one.img one.img
is 'do not differ' "$(cat .t.out)" ''
t 'two images' 1 sqpack --diff one.img two.img
grep -v -e '^bytes used' -e '^created' -e '^fragment' .t.out >said
cat >want <<'END'
a/deep/file: content differs from byte 0 on
a/small: mode -rw-r--r-- -> -rw-------
only in two.img: a/zzz
a-b/other: time 2020-09-13T12:26:40Z -> 2020-09-13T12:26:41Z
only in one.img: gone/
hard: content differs from byte 348892 on
link: target a -> b
END
same 'differ in these ways' said want
sqpack -f -q -F zstd -L 3 -b 16K -o other.img one
mkdir more
cp -p one/large more
sqpack -q -F lz4 -o less.img more
touch more/zz
sqpack -q -F lz4 -o more.img more
t 'a name after all others' 1 sqpack --diff less.img more.img
shows 'is only in one' '^only in more.img: zz$'
t 'or the other' 1 sqpack --diff more.img less.img
shows 'is only in that' '^only in more.img: zz$'
t 'other settings' 1 sqpack --diff one.img other.img
shows 'are named' '^compressor: lz4 -> zstd$'
shows 'all of them' '^block size: 131072 -> 16384$'
is 'and nothing else' "$(grep -c : .t.out)" "$(grep -c -e ^compressor \
    -e ^block -e ^flags -e ^fragment -e ^bytes .t.out)"
t 'no second image' 1 sqpack --diff one.img nowhere
t 'no first image' 1 sqpack --diff nowhere one.img
t 'not an image' 1 sqpack --diff one/large one.img
t 'nor with -l' 1 sqpack -l --diff one.img two.img
sqpack -f -q -F gzip -L 1 -o one.img one
cp one.img bad.img
printf '\377\377\377\377' | dd of=bad.img bs=1 seek=3000 conv=notrunc 2>/dev/null
t 'damage' 1 sqpack --diff one.img bad.img
shows 'is reported' '^sqpack: bad.img: ' .t.err
done_testing
