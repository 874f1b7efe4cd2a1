#!/bin/sh
# Images that Linux would not mount are reported with exit status 1, but their
# files are still read; a file named like an image must be one.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/squashfs_damage.sh
. "$SRC/tests/squashfs_damage.sh"

have coldwalk || skip_all 'no coldwalk'
PATH=$PATH:/usr/sbin:/sbin
have mksquashfs || skip_all 'no mksquashfs'
damage_begin || skip_all 'mksquashfs cannot create an image'
t 'the whole image' 0 to want coldwalk whole

told_of() {
	t "$1" 1 to got told coldwalk spoilt
	t "$1: a message" 0 grep -q '^coldwalk: spoilt: ' err
	case $1 in
	*version* | *logarithm* | *root* | *target* | *fragment*) ;;
	*) same "$1: what can be read is read" got want ;;
	esac
}
damage_each told_of
printf 'coldwalk: spoilt: offset %s: %s %s, so Linux would not mount it\n' \
    $((whole_length - 1)) 'the file ends here, but the image ends at' \
    "$whole_length" >want.err
head -c $((whole_length - 1)) whole >spoilt
coldwalk spoilt 2>&1 >/dev/null | grep 'ends here' >err
same 'the place where the file ends' err want.err

# Names.
for suffix in squashfs sqfs sqsh sfs snap AppImage; do
	seq 9 >no.$suffix
	t ".$suffix without an image" 1 to got told coldwalk no.$suffix
	t 'a message' 0 grep -q 'named like an image' err
	is 'and no line' "$(cat got)" ''
done
t '--plain' 0 to got coldwalk --plain no.snap
is 'hashes it as a file' "$(cat got)" "$(sha256sum no.snap)"
t '--plain of an image' 0 to got coldwalk --plain whole
is 'too' "$(cat got)" "$(sha256sum whole)"
: >empty.sqfs
t 'an empty one' 1 told coldwalk empty.sqfs
t 'next to a good one' 1 to got told coldwalk empty.sqfs whole
is 'which is read' "$(grep -c . got)" "$(grep -c . want)"

# An AppImage: a 64-bit program whose section headers end at 4096, then an
# AppImage without section headers.
{
	printf '\177ELF\002\001\001\000AI\002\000\000\000\000\000'
	head -c 4080 /dev/zero
} >runtime
poke runtime 40 8 3968
poke runtime 58 2 64
poke runtime 60 2 2
cat runtime whole >app
t 'an AppImage' 0 to got coldwalk app
same 'its files' got want
poke runtime 60 2 0
cat runtime runtime whole >stripped
t 'one without section headers' 0 to got coldwalk stripped
same 'its files' got want
cat runtime runtime >tool
t 'a program' 0 to got coldwalk tool
is 'is a file' "$(cat got)" "$(sha256sum tool)"

# Memory use stays bounded with a million names for one inode, in an image of a
# few KiB.
mkdir many
i=0
while [ $i -lt 2000 ]; do
	: >many/a-name-of-some-length-$i
	i=$((i + 1))
done
mksquashfs many names -noappend -no-progress >/dev/null 2>&1
t 'names that do not fit in memory' 1 to got told coldwalk --memory 100K names
t 'a message says what to do' 0 grep -q -e '--memory allows more' err
t 'more memory' 0 to got coldwalk --memory 4M names
is 'all of them' "$(grep -c . got)" 2000
t 'no memory' 1 coldwalk --memory none names

# Tests names in a list, and names that are not UTF-8.
printf '/sub/small\n../whole\nlarge\n' >list
t 'a list with names from the root and outside' 1 to got told \
    coldwalk --files-from list whole
is 'those within are read' "$(sed 's/.*  //' got | tr '\n' ' ')" \
    'large sub/small '
t 'the other is reported' 0 grep -q "'../whole' is not a path inside" err
mkdir odd
: >"$(printf 'odd/a\377b')"
: >"$(printf 'odd/\303\251')"
: >'odd/c\xffd'
: >'odd/e\xyz'
coldwalk --csv odd | grep -v '^#' | cut -d , -f 2 >got
printf 'path\na\\xffb\nc\\x5cxffd\ne\\xyz\n\303\251\n' >want
same 'rows are UTF-8' got want
done_testing
