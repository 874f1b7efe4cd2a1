# shellcheck shell=sh
# A mounted image by sqpack has the attributes of the original tree, and so has
# the output of sqpack -x: as root also owners, devices and extended attributes.
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
trap 'umount mnt 2>/dev/null' EXIT
umount mnt

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
done_testing
