#!/bin/sh
# Holes of sparse files are not read, whether in a directory or an archive.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# hole FILE SIZE: makes a file that is one hole
hole() { truncate -s "$2" "$1"; }

# put FILE OFFSET TEXT: writes TEXT at OFFSET
put() { printf %s "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# sparse_tar FORMAT DIR: prints an archive of DIR, with a sparse map for every
# file
sparse_tar() {
	tar --format="$1" --sparse --hole-detection=seek --sort=name \
	    --mtime=@0 -cf - -C "$2" .
}

mkdir probe
hole probe/file 1M
[ "$(sparse_tar gnu probe | wc -c)" -lt 100000 ] ||
    skip_all 'this filesystem does not report where holes are'

mkdir tree
hole tree/huge 100G || skip_all 'files of 100 GiB are not supported here'
put tree/huge 0 begin
put tree/huge 50000000001 middle
put tree/huge 107374182397 end
cp --sparse=always tree/huge tree/twin
hole tree/zeros 20G
hole tree/zeros-odd 20000000001
seq 100000 >tree/plain
sparse_tar gnu tree >want

# holds NAME DIR: checks that DIR contains the same files as tree, with the same
# holes once zeros are turned into holes
holds() {
	cp -a --sparse=always "$2" copy
	sparse_tar gnu copy >got
	same "$1: the same data and holes" got want
	rm -r "$2" copy
}

for o in '' '-b 1M' '--no-duplicates'; do
	# shellcheck disable=SC2086
	t "100 GiB${o:+, $o}" 0 sqpack -f -L1 $o --stats=stats -o image tree
	t "100 GiB${o:+, $o}: -x" 0 sqpack -x out image
	holds "100 GiB${o:+, $o}: -x" out
done
sanitized sqpack ||
    is 'memory stays below 64 MiB' "$(tail -n 1 stats | sed \
    's/.*"maxrss_KiB":\([0-9]*\).*/\1/' | awk '{ print $1 < 65536 }')" 1
t 'one thread' 0 sqpack -f -p1 -L1 -o image.1 tree
t 'several threads' 0 sqpack -f -p3 -L1 -o image tree
same 'the same image' image.1 image
if have unsquashfs; then
	t 'unsquashfs' 0 unsquashfs -q -n -d out image
	holds 'unsquashfs' out
else
	skip 'unsquashfs is not installed'
fi
t 'rebuilt' 0 sqpack --rebuild-check image
t 'recompressed' 0 sqpack -F gzip -o again image
t 'recompressed: -x' 0 sqpack -x out again
holds 'recompressed' out
! have fsratio || t 'a prediction' 0 fsratio --fs squashfs --csv tree

# Archives; files that may be duplicates are kept until their content is known
t 'a directory' 0 sqpack -f -L1 --mtime 0 -o image tree
for format in gnu posix; do
	sparse_tar $format tree >a.tar
	t "$format archive" 0 sqpack -f -L1 --mtime 0 -o tar.image a.tar
	same "$format archive: the same image" tar.image image
done
echo twin >list
t 'an archive, --order' 0 sqpack -f -L1 --order list -o order.image a.tar
t 'an archive, --order: -x' 0 sqpack -x out order.image
holds 'an archive, --order' out

# Zeros become holes, whether they are stored as data or as holes
mkdir dense few
hole few/file 3000001
put few/file 400000 middle
hole few/zeros 600000
cp few/file few/twin
cp -r --sparse=never few/. dense
t 'a sparse tree' 0 sqpack -f --mtime 0 -o image few
t 'a dense tree' 0 sqpack -f --mtime 0 -o dense.image dense
same 'stored zeros and holes: the same image' dense.image image
cp --sparse=never few/zeros few/zeros-too
t 'stored zeros and a hole' 0 sqpack -f --stats=dup -o image few
is 'are duplicates' \
    "$(sed 's/.*"duplicates":\([0-9]*\).*/\1/' dup)" 2

# More blocks than fit in memory
mkdir vast
if hole vast/file 15T 2>/dev/null; then
	t 'block lists are bounded' 1 sqpack -o vast.image vast
	shows 'is reported' 'memory than --memory allows' .t.err
	sparse_tar posix vast >vast.tar
	t 'also from an archive' 1 sqpack -o vast.image vast.tar
	shows 'is also reported' 'memory than --memory allows' .t.err
	t 'no image is created' 1 test -e vast.image
	t 'a larger block' 0 sqpack -b 1M -L1 -o vast.image vast.tar
else
	skip 'this filesystem does not support files of 15 TiB'
fi
t 'a limit' 1 sqpack --memory 8M -o limit.image a.tar
shows 'the limit is named' 'memory than --memory allows' .t.err
done_testing
