#!/bin/sh
# Whichever of sqpack's calls fails: the result is an error or the right image.
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
(cd tree && tar --format=posix --xattrs --sort=name -cf - .) >../a.tar
printf 'sub/small\nn\n' >list

# makes NAME ARGUMENT...: makes an image of a directory, an archive or an image;
# the mode is what it is where a file has no owner, and blocks that a library
# cannot compress are stored
makes() {
	m_name=$1
	shift
	suffers "$m_name" -x chmod,library -o image \
	    sqpack-fault -q -p 2 -b 16K -o image "$@"
}
for o in '-F zstd -L 1' '-F gzip -L 1' '-F gzip -L 12 --no-probe' \
    '-F xz --bcj x86' '-F lz4' '-F none --no-export --no-fragments' \
    '-F zstd -L 1 --order list --all-root'; do
	# shellcheck disable=SC2086
	makes "a directory: $o" $o tree
done
for f in zstd gzip xz lz4; do
	suffers "a compressor fails: $f" -f library:ENOMEM -o image \
	    -c 'sqpack -q --cat n image | cmp -s - tree/n' \
	    sqpack-fault -q -p 2 -b 16K -F $f -o image tree
done
mv ../a.tar a.tar
makes 'an archive' -F lz4 a.tar
rm a.tar
suffers 'statistics' -x chmod -o image \
    sqpack-fault -q -F lz4 --stats=/dev/null -o image tree
suffers 'only statistics' -c : sqpack-fault -q -F lz4 --dry-run --stats tree
done_testing
