#!/bin/sh
# Whichever of sqpack's calls fails while it reads an image, or makes one of
# another: the result is an error or right.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have sqpack-fault || skip_all 'sqpack-fault is not built'

tree_to_pack
cp tree/n tree/sub/twin
setfattr -n user.color -v red tree/n 2>/dev/null || :
touch -d 2020-01-01 tree/n tree/sub/* tree/hole tree

# makes NAME ARGUMENT...: makes an image of a directory, an archive or an image;
# the mode is what it is where a file has no owner, and blocks that a library
# cannot compress are stored
makes() {
	m_name=$1
	shift
	suffers "$m_name" -x chmod,library -o image \
	    sqpack-fault -q -p 2 -b 16K -o image "$@"
}
sqpack -q -F gzip -L 1 -b 16K -o old tree
makes 'an image' -F lz4 old
# onto an image, under mksquashfs's name
ln -s "$(command -v sqpack-fault)" mksquashfs
mkdir more
cp tree/n more/twin
seq 4000 >more/small
cat >right <<'END'
if [ "$ORDEAL_STATUS" = 0 ]; then
	sqpack -q --cat twin image | cmp -s - tree/n &&
	    sqpack -q --cat small image | cmp -s - more/small
else
	cmp -s image old
fi
END
suffers 'adding to an image' -x chmod,library -O image -c 'sh right' \
    sh -c 'cp old image && exec ./mksquashfs more image -quiet -no-progress \
    -action "exclude@name(none) || pathname(no/*)" -wildcards -e none "no/*"'
# a name with its path, and definitions, in which a name leads to another
suffers 'a path' -x chmod,library -o image -c 'sqpack -q --cat more/small image |
    cmp -s - more/small' ./mksquashfs more/small image -tarstyle -quiet \
    -no-progress
ln -s "$(command -v sqpack-fault)" unsquashfs
sqpack -q -F lz4 -o linked tree
suffers 'definitions' -o defs ./unsquashfs -no-exit-code -n -q -pf defs linked
suffers 'a list' sqpack-fault -l old
suffers 'what can mount it' sqpack-fault -q --can-mount=5.15 old
suffers 'one file' sqpack-fault -q --cat n old
suffers 'a rebuild' -c : sqpack-fault -q --rebuild-check old
# blocks that cannot be read are replaced by zeros, which is an error, and
# attributes that cannot be set are left out
suffers 'a tree' -p out -x pread,setxattr sqpack-fault -q -x out -p 2 old
done_testing
