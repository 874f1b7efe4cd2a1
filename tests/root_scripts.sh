#!/bin/sh
# The scripts that need root run to their last line, from the folder in which
# they were installed; so does bench-coldwalk in the tree.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in lap pzc coldwalk mksquashfs; do
	have $tool || skip_all "no $tool"
done
install_all() { DESTDIR=$PWD/root cmake --install "${BIN:?}" --prefix /usr; }
t 'install' 0 install_all
libexec=$PWD/root/usr/libexec/coldpress

mkdir input
for i in 1 2 3 4 5; do
	seq $i 9000 >input/$i
done
for from in "$SRC/scripts" "$libexec"; do
	rm -rf study.walk
	ends "$from" bench-coldwalk '^ratio: over pairs of runs' -n 1 \
	    --jobs 'mixed-zstd whole-lz4' -o study.walk input
	is 'the whole of it has one peer' "$(grep -c '^[^#s].*job=whole-lz4,' \
	    study.walk/rows/whole-lz4.csv)" 2
	t 'unpacked and hashed alone, too' 0 grep -q \
	    '^unpack and hash alone ' ends.out
	is 'nothing is mounted' "$(grep -c "$PWD" /proc/self/mounts)" 0
done
! have layermount || ! have squashfuse_ll || [ ! -e /dev/fuse ] ||
    ends "$libexec" bench-mount '^Peak memory of layermount: ' -n 1 --files 5 \
    --jobs names -o study.mount input
ends "$libexec" pipe-buffer '^Rows: /.*/buffer.csv$' --quick -n 1 \
    --rows 'mixed.64K.pzc mixed.none.cat' -o buffer.csv
ends "$libexec" snap-startup '^Rows: /.*/snap.csv$' --quick -n 1 \
    --rows '*.zstd15' -o snap.csv
! have mailgen || ! have mkfs.btrfs || ends "$libexec" mailfs \
    '^Rows: /.*/mail.csv$' --quick -n 1 --fs btrfs -o mail.csv
! have layermount || ends "$libexec" lazy-pull '^Rows: /.*/lazy.csv$' --quick \
    -n 1 -o lazy.csv
done_testing
