# shellcheck shell=sh
# coldwalk reports "cold: yes" only if all data was read from devices, and not
# from squashfs's fragment cache, inodes, a memory disk, or a device that cannot
# be looked up.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have coldwalk || skip_all 'no coldwalk'
PATH=$PATH:/usr/sbin:/sbin
mkdir mnt
made='' zram=''
leave() {
	umount mnt 2>/dev/null
	[ -z "$made" ] || losetup -d "$made"
	[ -z "$zram" ] || echo "$zram" >/sys/class/zram-control/hot_remove
}
trap leave EXIT
trap 'exit 1' HUP INT TERM

cold() { coldwalk --hash none "$@" | sed -n 's/^cold: *\([a-z]*\).*/\1/p'; }
# not_yes NAME COMMAND...: checks that coldwalk does not report "yes", and gives
# a reason
not_yes() {
	not_name=$1
	shift
	"$@" | sed -n 's/^cold: *//p' >words
	is "$not_name" "$(grep -Ec '^(no|unknown), [a-z]' words)" 1
}
walk() { coldwalk --hash none "$@"; }

seq 100000 >plain
[ "$(cold plain)" = yes ] || skip_all 'no disk here can be made cold'

head -c 1000000 /dev/urandom >parts
printf '1\tparts\t0\t4096\n1\tparts\t409600\t8192\n' >list
is 'only parts of a file' "$(cold --cold fadvise --files-from list \
    --ranges .)" yes

# The image has forty files in 1 MiB fragment blocks.
mkdir small
i=0
while [ $i -lt 40 ]; do
	head -c 50000 /dev/urandom >small/$i
	i=$((i + 1))
done
if have mksquashfs &&
    mksquashfs small image -b 1M -noappend -no-progress >/dev/null 2>&1 &&
    mount -t squashfs -o loop,ro image mnt 2>/dev/null; then
	is 'a squashfs that is mounted anew' "$(cold mnt)" yes
	not_yes 'one whose fragment blocks were read' walk mnt
	umount mnt
	mount -t squashfs -o loop,ro image mnt
	not_yes 'a part of one' walk mnt/3
	umount mnt
	mount -t squashfs -o loop,ro image mnt
	not_yes 'one without /sys' unshare -m sh -c \
	    'umount -l /sys && coldwalk --hash none mnt'
	umount mnt
	made=$(losetup -f --show -r image)
	is 'an image on a block device' "$(cold "$made")" yes
	cat "$made" >/dev/null
	is 'and in memory' "$(cold --cold none "$made")" no
	losetup -d "$made"
	made=''
else
	skip 'no squashfs mount'
fi

# file_system NAME OPTION...: creates one in a loop file and mounts it, with a
# small file and a large one
file_system() {
	rm -f disk
	truncate -s 200M disk
	"$@" disk >/dev/null 2>&1 || return
	mount -o loop disk mnt 2>/dev/null || return
	head -c 100 /dev/urandom >mnt/tiny
	mkdir mnt/large
	head -c 3000000 /dev/urandom >mnt/large/file
	umount mnt && mount -o loop disk mnt
}
if have mkfs.ext4 && file_system mkfs.ext4 -q; then
	is 'ext4' "$(cold mnt)" yes
	is 'and again' "$(cold mnt)" yes
	umount mnt
else
	skip 'no ext4'
fi
if have mkfs.ext4 && file_system mkfs.ext4 -q -O inline_data -I 256; then
	is 'ext4: a file of blocks' "$(cold mnt/large)" yes
	not_yes 'ext4: a file in its inode' walk mnt/tiny
	umount mnt
else
	skip 'no ext4 with inline_data'
fi
if have mkfs.btrfs && file_system mkfs.btrfs -q; then
	not_yes 'btrfs: a file in its inode' walk mnt/tiny
	umount mnt
else
	skip 'no btrfs'
fi
if zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null) &&
    echo 64M >/sys/block/zram"$zram"/disksize &&
    mkfs.ext4 -q /dev/zram"$zram" 2>/dev/null &&
    mount /dev/zram"$zram" mnt; then
	head -c 1000000 /dev/urandom >mnt/file
	is 'a disk in memory' "$(cold mnt)" no
	umount mnt
else
	skip 'no zram'
fi
done_testing
