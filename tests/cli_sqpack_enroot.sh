#!/bin/sh
# enroot creates and exports containers with sqpack in place of mksquashfs and
# unsquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have enroot || skip_all 'no enroot'
mkdir bin data run cache config
ln -s "$(command -v sqpack)" bin/mksquashfs
ln -s "$(command -v sqpack)" bin/unsquashfs
PATH=$PWD/bin:$PATH
ENROOT_DATA_PATH=$PWD/data ENROOT_RUNTIME_PATH=$PWD/run
ENROOT_CACHE_PATH=$PWD/cache ENROOT_CONFIG_PATH=$PWD/config
ENROOT_MAX_PROCESSORS=2
export ENROOT_DATA_PATH ENROOT_RUNTIME_PATH ENROOT_CACHE_PATH \
    ENROOT_CONFIG_PATH ENROOT_MAX_PROCESSORS

mkdir -p rootfs/etc rootfs/bin rootfs/dev rootfs/usr/lib
echo box >rootfs/etc/hostname
seq 100000 >rootfs/usr/lib/data
cp rootfs/usr/lib/data rootfs/usr/lib/twin
ln -s usr/lib rootfs/lib
: >rootfs/dev/null
chmod 4755 rootfs/bin
sqpack -F lzo --raw data --all-root -o box.sqsh rootfs ||
    sqpack -F zstd -L 1 --all-root -o box.sqsh rootfs

t 'enroot create' 0 enroot create -n box box.sqsh
t 'the container is the image' 0 diff -r --no-dereference rootfs data/box
echo changed >data/box/etc/hostname
for o in '-comp lzo -noD -exit-on-error' '-comp zstd -Xcompression-level 1' \
    '-comp gzip'; do
	ENROOT_SQUASH_OPTIONS=$o
	export ENROOT_SQUASH_OPTIONS
	rm -f out.sqsh
	t "enroot export, $o" 0 enroot export -o out.sqsh box
	rm -rf out
	sqpack -q -x out out.sqsh
	is "$o: what was changed" "$(cat out/etc/hostname)" changed
	t "$o: no devices" 1 test -e out/dev/null
	t "$o: the rest" 0 diff -r -x hostname -x null rootfs out
	t "$o: enroot create again" 0 enroot create -n again out.sqsh
	t "$o: enroot remove" 0 enroot remove -f again
done
done_testing
