#!/bin/sh
# Whichever of fsratio's calls fails: the result is an error or all rows.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

have fsratio-fault || skip_all 'fsratio-fault is not built'

mkdir -p d/tree/sub
cd d || exit
seq 20000 >tree/n
seq 100 >tree/sub/small
cp tree/n tree/sub/twin
ln tree/sub/small tree/name
ln -s n tree/link
truncate -s 200000 tree/hole

# what a library cannot compress counts as incompressible
for o in '--fs zfs -a lz4,gzip-1,zstd-1' '--fs zfs-fuse -a lzjb,zle' \
    '--fs btrfs -a zlib,lzo,zstd' '--fs squashfs -a gzip,lz4,zstd,xz' \
    '--by-size'; do
	# shellcheck disable=SC2016
	suffers "fsratio $o" -x library env options="$o" sh -c \
	    'fsratio-fault -q --csv -p 2 $options tree >../all || exit
	    grep -v "^#" ../all | cut -d , -f 2-'
done
suffers 'a table' -c : fsratio-fault -p 1 -a off,lz4 tree
done_testing
