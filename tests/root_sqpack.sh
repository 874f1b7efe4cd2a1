# shellcheck shell=sh
# A mounted sqpack image has the original tree's attributes, and so does the
# output of sqpack -x: as root, this includes owners, devices and extended
# attributes.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have getfattr || skip_all 'no getfattr'

mkdir -p tree/a/b/c mnt
seq 300000 >tree/a/large
seq 500 >tree/a/small
cp tree/a/large tree/a/twin
ln tree/a/large tree/a/b/hard
ln -s ../small tree/a/b/soft
mknod tree/a/block b 8 300
mknod tree/a/char c 4095 70000
mkfifo tree/a/fifo
truncate -s 5000000 tree/a/hole
chown -R 3:4 tree/a/b
chown -h 70000:80000 tree/a/b/soft
chmod 4711 tree/a/small
chmod 1777 tree/a/b/c
touch -hd '2005-05-05 05:05:05 UTC' tree/a/b/soft tree/a/large tree/a/char
setfattr -n user.a -v b tree/a/small
setfattr -n trusted.c -v "$(seq 400 | tr '\n' ' ')" tree/a/b
setfattr -n security.capability \
    -v 0x0100000200040000000000000000000000000000 tree/a/large 2>/dev/null

facts() {
	(cd "$1" && find . -printf '%y %m %U %G %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = "" } { sub(/[.].*/, "", $6); print }' | sort
	find . -type f -exec sha256sum {} + | sort
	find . -type b -exec stat -c '%n %t %T' {} +
	find . -type c -exec stat -c '%n %t %T' {} +
	getfattr -Rhd -m - -e hex . | sort)
}
facts tree >want
sqpack -F gzip -o image tree
mount -o loop,ro image mnt 2>/dev/null || skip_all 'no squashfs mount'
umount mnt
trap 'umount mnt 2>/dev/null' EXIT

for o in '-F gzip' '-F zstd -L 1' '-F lz4 -b 4K' '-F lz4hc' '-F xz -b 1M' \
    '-F lzo' '-F none' '-F gzip --no-fragments --no-duplicates'; do
	# shellcheck disable=SC2086
	sqpack -f $o -o image tree 2>/dev/null || continue
	answer=$(sqpack --can-mount image)
	if ! mount -o loop,ro image mnt 2>/dev/null; then
		t "$o: not mounted: $answer" 1 sqpack --can-mount image
		continue
	fi
	facts mnt >got
	umount mnt
	same "$o: mounted" got want
	case $answer in
	no:*) not_ok "$o: mounted, but: $answer" ;;
	esac
	rm -rf out
	t "$o: -x" 0 sqpack -x out image
	facts out >got
	same "$o: extracted" got want
	t "$o: made again" 0 sqpack -f -F gzip -L 3 -o again image
	mount -o loop,ro again mnt 2>/dev/null || continue
	facts mnt >got
	umount mnt
	same "$o: made again, mounted" got want
done

# An empty directory
mkdir nothing
sqpack -f -F gzip -o image nothing
t 'an empty directory: mounted' 0 mount -o loop,ro image mnt
t 'an empty directory: it can be mounted' 0 sqpack -l image
umount mnt

# In a sparse file of 100 GiB, the kernel finds the data where it was written.
# piece FILE KIB: prints 64 KiB of it
piece() { dd if="$1" bs=1K skip="$2" count=64 status=none; }
mkdir sparse
if truncate -s 100G sparse/huge 2>/dev/null; then
	for at in 0 50000000 104857598; do
		seq $at $((at + 200)) | dd of=sparse/huge bs=1K seek=$at \
		    conv=notrunc status=none
	done
	t '100 GiB' 0 sqpack -f -L1 -F gzip -o image sparse
	mount -o loop,ro image mnt
	is '100 GiB, mounted: the size' "$(stat -c %s mnt/huge)" \
	    "$(stat -c %s sparse/huge)"
	for at in 0 49999980 50000000 77777777 104857580; do
		is "100 GiB, mounted: at $at KiB" \
		    "$(piece mnt/huge $at | cksum)" \
		    "$(piece sparse/huge $at | cksum)"
	done
	umount mnt
else
	skip 'this filesystem does not support files of 100 GiB'
fi

# A block device is written to directly, and never while it is mounted
truncate -s 20M disk
if loop=$(losetup -f --show disk 2>/dev/null); then
	trap 'umount mnt 2>/dev/null; losetup -d "$loop" 2>/dev/null' EXIT
	t 'a device without -f' 1 sqpack -o "$loop" tree
	t 'a device' 0 sqpack -f -F gzip -o "$loop" tree
	mount -r "$loop" mnt
	facts mnt >got
	same 'a device: mounted' got want
	t 'a mounted device' 1 sqpack -f -F gzip -o "$loop" sparse
	shows 'is reported' 'busy' .t.err
	umount mnt
	ln -s "$(command -v sqpack)" mksquashfs
	t 'as mksquashfs' 0 ./mksquashfs tree "$loop" -noappend -no-progress
	mount -r "$loop" mnt
	facts mnt >got
	same 'as mksquashfs: mounted' got want
	umount mnt
	head -c 25000000 /dev/urandom >tree/a/noise
	t 'a device that is too small' 1 sqpack -f -o "$loop" tree
	t 'has no image afterwards' 1 sqpack -l "$loop"
	losetup -d "$loop"
	trap - EXIT
else
	skip 'no loop device'
fi
done_testing
