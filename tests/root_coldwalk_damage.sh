# shellcheck shell=sh
# coldwalk exits with status 1 for every image that Linux does not mount, or in
# which it cannot open or read a file.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/squashfs_damage.sh
. "$SRC/tests/squashfs_damage.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have coldwalk || skip_all 'no coldwalk'
have mksquashfs || skip_all 'no mksquashfs'
damage_begin || skip_all 'mksquashfs cannot create an image'
mkdir mnt
mount -t squashfs -o loop,ro whole mnt 2>/dev/null ||
    skip_all 'no squashfs mount'
umount mnt
t 'the whole image' 0 to want coldwalk whole

# linux: prints Linux's verdict on the image `spoilt': "no mount", "no read",
# "good"
linux() {
	mount -t squashfs -o loop,ro spoilt mnt 2>/dev/null || {
		echo 'no mount'
		return
	}
	if find mnt -ls >/dev/null 2>&1 &&
	    find mnt -type f -exec cat {} + >/dev/null 2>&1; then
		echo good
	else
		echo 'no read'
	fi
	umount mnt
}
refused=0
beside_linux() {
	linux=$(linux)
	coldwalk --cold none spoilt >got 2>err
	status=$?
	[ "$linux" = good ] || refused=$((refused + 1))
	case $linux:$status in
	good:[01] | no*:1) ok "$1: $linux, $status" ;;
	*) not_ok "$1: $linux, $status" ;;
	esac
}
damage_each beside_linux
t 'Linux rejects at least thirteen of them' 0 test $refused -ge 13
done_testing
