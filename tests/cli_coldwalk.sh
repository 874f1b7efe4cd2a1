#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests coldwalk on trees and images: checksums that other tools accept, and
# errors
. "$SRC/tests/lib.sh"

mkdir -p tree/sub/deep tree/empty
head -c 500000 /dev/urandom >tree/noise
yes 'a line of text' | head -c 400000 >tree/text
cp tree/text tree/sub/twin
ln tree/noise tree/sub/hard
ln -s text tree/soft
: >tree/nothing
printf x >tree/sub/deep/one
printf y >'tree/back\slash'
printf z >"tree/new
line"
i=0
while [ $i -lt 300 ]; do
	printf '%d' $i >"tree/sub/file $i"
	i=$((i + 1))
done
(cd tree && find . -type f -print0 | sed -z 's|^\./||' | LC_ALL=C sort -z |
    xargs -0 sha256sum) >want

for p in 1 2 7; do
	t "a tree, -p$p" 0 to got coldwalk -p$p tree
	t "its lines are sha256sum's, sorted" 0 cmp want got
done
for option in --threads --processes; do
	t "$option" 0 to got coldwalk $option 3 tree
	t 'the same lines' 0 cmp want got
done
t 'sha256sum -c accepts them' 0 sh -c 'cd tree && sha256sum --quiet -c ../got'
(cd tree && find . -type f -print0 | sed -z 's|^\./||' | LC_ALL=C sort -z |
    xargs -0 md5sum) >want.md5
t 'MD5' 0 to got.md5 coldwalk --hash md5 tree
t 'as md5sum prints it' 0 cmp want.md5 got.md5
t 'two paths' 0 to got coldwalk tree/sub tree/empty tree/text
t 'the paths precede the names' 0 grep -q '  tree/sub/deep/one$' got
t '--prefix' 0 to got coldwalk --prefix at/ tree
t 'is in front' 0 grep -q '  at/sub/deep/one$' got

t '-o' 0 to empty coldwalk -o sums tree
t 'writes the lines' 0 cmp want sums
t 'and nothing else' 0 test ! -s empty
t 'an old manifest is kept' 1 coldwalk -o sums tree/sub
t 'unchanged' 0 cmp want sums
t '-f replaces it' 0 coldwalk -f -o sums tree/sub

printf 'text\nsub/deep/one\n' >list
t '--files-from' 0 to got coldwalk --files-from list tree
is 'only those' "$(sed 's/.*  //' got | tr '\n' ' ')" 'sub/deep/one text '
printf 'text\0new\nline\0' >list0
t '--files-from -, -0' 0 to got sh -c 'coldwalk -0 --files-from - tree <list0'
is 'both' "$(wc -l <got)" 2
t 'NUL without -0' 1 to got sh -c 'coldwalk --files-from - tree <list0'
is 'does not read half of a list' "$(wc -c <got)" 0
printf 'text\nno such\n' >list
t 'a missing name' 1 to got coldwalk --files-from list tree
is 'does not hide the other' "$(sed 's/.*  //' got)" text

cat tree/text tree/noise >all
t '--resident' 0 to rows coldwalk --resident all tree
is 'says how much is in memory' \
    "$(grep -Ec '^[0-9]+ of [0-9]+ pages in [0-9]+ files, [0-9.]+ %$' rows)" 1
t 'as a row' 0 to rows coldwalk --resident --csv all
is 'of the pages it has' "$(tail -n 1 rows | cut -d , -f 2-4)" \
    "1,0,$(((900000 + $(getconf PAGESIZE) - 1) / $(getconf PAGESIZE)))"
t 'a missing name' 1 to rows coldwalk --resident --csv all none
is 'does not hide the other' "$(tail -n 1 rows | cut -d , -f 2)" 1
t '--resident reads nothing' 1 coldwalk --resident -o sums2 tree
t 'and prints no summary' 1 coldwalk --resident --summary tree

t '--csv' 0 to rows coldwalk --csv tree
is 'a header, once' "$(grep -c '^series,path,type,size_B' rows)" 1
t '--json' 0 to rows coldwalk --json tree
is 'one object per file' "$(grep -c '^{"series":.*,"type":"file",.*}$' rows)" \
    "$(wc -l <want)"
is 'with its hash' "$(sed -n \
    's/.*"path":"text","type":"file","size_B":400000,.*"hash":"\([0-9a-f]*\)".*/\1/p' \
    rows)" "$(sha256sum <tree/text | cut -d ' ' -f 1)"
t '--summary' 0 to rows coldwalk --summary --hash none tree
t 'reports whether it was cold' 0 grep -Eq '^cold: +(yes|no|unknown)' rows
t '--summary --csv' 0 to rows coldwalk --summary --csv tree
is 'one row' "$(grep -vc '^#' rows)" 2

t 'no such path' 1 coldwalk nowhere
t 'no path' 1 coldwalk
t 'no such hash' 1 coldwalk --hash crc tree
printf '%s\n' 'openssl_conf = a' '[a]' 'alg_section = b' '[b]' \
    'default_properties = fips=yes' >ssl.conf
t 'a hash that OpenSSL lacks' 1 to got env OPENSSL_CONF="$PWD/ssl.conf" \
    coldwalk --hash md5 tree
shows 'is named' '^coldwalk: md5: not supported by this OpenSSL' .t.err
for method in ice look ''; do
	t "no method '$method'" 1 coldwalk --cold "$method" tree
	shows 'the methods' \
	    "method '$method' is not auto, fadvise, drop or none\$" .t.err
done
t 'a full disk' 1 to /dev/full coldwalk tree
for o in --csv --json --summary '--resident --csv'; do
	# shellcheck disable=SC2086 # two words
	t "a full disk, $o" 1 to /dev/full coldwalk $o tree
done
t 'a manifest to a full disk' 1 coldwalk -f -o /dev/full tree
shows 'the file is named' '^coldwalk: /dev/full: No space left' .t.err
is 'and nothing else' "$(wc -l <.t.err)" 1
cp all self
ln self self2
for name in self self2 ./self; do
	t "-f onto what is read, $name" 1 coldwalk -f -o $name self
	shows 'is refused' "$name is what is to be read; not overwritten" .t.err
done
same 'which is kept' self all
for root in '' 0 "$(printf '%063d' 0)" "$(printf '%065d' 0)" \
    "$(printf '%063dg' 0)"; do
	t "no root hash: '$root'" 1 coldwalk --verity "$root" all
	shows 'is refused' 'is not a root hash of 64 hexadecimal digits' .t.err
done
# options that contradict each other: 64 zeros are a root hash
zeros=$(printf '%064d' 0)
for o in '--csv --json' '--resident --offset 4096' '--plain --offset 4096' \
    "--verity $zeros --plain" "--verity $zeros --resident" \
    '--hash none -o sums2'; do
	# shellcheck disable=SC2086 # several words
	t "$o" 1 coldwalk $o all
	shows 'contradict each other' 'be combined' .t.err
done
is 'no manifest is made' "$(test -e sums2 && echo made)" ''
t 'a list that is not there' 1 to got coldwalk --files-from nowhere tree
shows 'is named' 'nowhere: No such file' .t.err
t 'nor one of ranges' 1 to got coldwalk --ranges --files-from nowhere tree
is 'nothing is read' "$(wc -c <got)" 0
printf 'text\n../all\n' >list
t 'a name outside' 1 to got coldwalk --files-from list tree
shows 'is refused' "'../all' is not a path inside" .t.err
printf 'text\ntext\n./text\n' >list
t 'a name given several times' 0 to got coldwalk --files-from list tree
is 'is read once' "$(sed 's/.*  //' got)" text
t 'a directory for a list' 1 to got coldwalk --files-from tree tree
is 'nothing is read, either' "$(wc -c <got)" 0
t '-h' 0 coldwalk -h
t '-V' 0 coldwalk -V

have mksquashfs || {
	skip 'mksquashfs is not installed'
	done_testing
	exit
}
mksquashfs tree image -comp zstd -b 64K -noappend -no-progress >/dev/null 2>&1
for p in 1 2 7; do
	t "an image, -p$p" 0 to got coldwalk -p$p image
	t 'has the lines of its tree' 0 cmp want got
done
(head -c 4096 /dev/zero && cat image) >behind
t 'an image at an offset' 0 to got coldwalk --offset 4096 behind
t 'the same' 0 cmp want got
t 'without the offset it is a plain file' 0 to got coldwalk behind
is 'a list of one line' "$(wc -l <got)" 1
t 'no image at an offset' 1 coldwalk --offset 100 image
t 'no offset in a directory' 1 coldwalk --offset 100 tree
printf 'sub/deep/one\n' >list
t 'part of an image' 0 to got coldwalk --files-from list image
is 'that one' "$(sed 's/.*  //' got)" sub/deep/one
t 'rows of an image' 0 to rows coldwalk --csv image
# two files with the same bytes: one is a duplicate of the other
# shellcheck disable=SC2016
t 'duplicates are reported' 0 awk -F , '{ of[$2] = $8 }
    END { exit !(of["text"] == "sub/twin" && of["sub/twin"] == "" ||
        of["sub/twin"] == "text" && of["text"] == "") }' rows

size=$(wc -c <image)
head -c $((size / 2)) image >half
t 'half an image' 1 to got coldwalk half
mkdir some
cp tree/text some/text
cp tree/noise some/zz
mksquashfs some bad -comp gzip -noappend -no-progress -no-fragments \
    >/dev/null 2>&1
printf '\377\377\377\377\377\377' |
    dd of=bad bs=1 seek=120 conv=notrunc 2>/dev/null
t 'a bad block' 1 to got coldwalk bad
is 'is named with its file and place' \
    "$(coldwalk bad 2>&1 >/dev/null | grep -c '96.*text.*decompressed')" 1
is 'and the other file is read' "$(sed 's/.*  //' got)" zz
done_testing
