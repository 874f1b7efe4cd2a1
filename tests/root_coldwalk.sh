# shellcheck shell=sh
# coldwalk prints the same lines for a mounted image as for its tree, and
# reports whether it was cold.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have coldwalk || skip_all 'no coldwalk'
have mksquashfs || skip_all 'no mksquashfs'

mkdir -p tree/sub mnt
seq 300000 >tree/numbers
seq 10 >tree/sub/small
mksquashfs tree image.sqfs -quiet -no-progress >/dev/null
mount -o loop,ro image.sqfs mnt 2>/dev/null || skip_all 'no squashfs mount'
trap 'umount mnt' EXIT

cold() { coldwalk --hash none "$@" | sed -n 's/^cold: *\([a-z]*\).*/\1/p'; }

coldwalk tree >want
coldwalk mnt >got
same 'a mount gives the lines of its tree' got want
coldwalk image.sqfs >got
same 'and so does its image' got want
# squashfs has a cache that is emptied only by unmounting
anew() {
	umount mnt
	mount -o loop,ro image.sqfs mnt
}
anew
is 'a mount made cold by fadvise' "$(cold mnt)" yes
anew
is 'by drop' "$(cold --cold drop mnt)" yes
cat mnt/numbers >/dev/null
is 'read before, and not evicted' "$(cold --cold none mnt)" no
pct() { coldwalk --resident --csv "$@" | tail -n 1 | cut -d , -f 6; }
is 'all of it is in memory' "$(pct mnt/numbers)" 100.00
is 'and evicted' "$(pct --cold fadvise mnt/numbers)" 0.00
cat mnt/numbers >/dev/null
is 'or dropped' "$(pct --cold drop mnt/numbers)" 0.00
other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
chmod 711 .
pages=$(getconf PAGESIZE)
is 'files with unknown pages are not counted' \
    "$(other "$(command -v coldwalk)" --resident --csv mnt/numbers |
    tail -n 1 | cut -d , -f 4-)" "$((($(stat -c %s mnt/numbers) + pages - 1) / pages)),,,1"
as_other() {
	other "$(command -v coldwalk)" --hash none "$@" --summary tree/numbers |
	    sed -n 's/^cold: *\([a-z]*\).*/\1/p'
}
chmod 755 . tree
cat tree/numbers >/dev/null
is 'another user cannot tell warm from cold' "$(as_other --cold none)" unknown
sync tree/numbers
t 'and cold is proved by device reads, or unknown' 0 \
    sh -c "case $(as_other) in yes | unknown) ;; *) exit 1 ;; esac"
coldwalk --hash none mnt >summary
if zcat /proc/config.gz 2>/dev/null | grep -q CONFIG_SQUASHFS; then
	is "the kernel's options are reported" "$(grep -c \
	    '^kernel.s squashfs: .*FILE_.*DECOMP_' summary)" 1
else
	is "the kernel's options are requested" "$(grep -c \
	    '^kernel.s squashfs: ' summary)" 1
fi
cat image.sqfs >/dev/null
is 'an image in the cache' "$(cold --cold none image.sqfs)" no
is 'an image made cold' "$(cold image.sqfs)" yes

# For users without permission to query an image's pages, the number of bytes
# read from the device is the only evidence.
cat image.sqfs >/dev/null
chmod 644 image.sqfs
other_cold() {
	other "$(command -v coldwalk)" --hash none "$@" |
	    sed -n 's/^cold: *\([a-z]*\).*/\1/p'
}
chmod 711 .
is "another's image in the cache" "$(other_cold --cold none image.sqfs)" \
    unknown
t 'made cold: verified, or unknown' 0 \
    sh -c "case $(other_cold image.sqfs) in yes | unknown) ;; *) exit 1 ;; esac"
t 'a mount of it' 0 \
    sh -c "case $(other_cold mnt) in unknown) ;; *) exit 1 ;; esac"
other "$(command -v coldwalk)" --summary mnt >summary
is 'a message says why' "$(grep -c '^cold: *unknown, [a-z ]*' summary)" 1
t '--cold drop requires root' 1 other "$(command -v coldwalk)" --cold drop tree
umount mnt

# Tests files that only root can create, and reports how the kernel reads
# squashfs.
mkdir tree/d
mknod tree/d/null c 1 3
mknod tree/d/loop b 7 99
chown 1234:4321 tree/numbers
chmod 0 tree/sub/small
truncate -s 2000000 tree/hole
ln tree/numbers tree/d/link
setfattr -n security.some -v thing tree/numbers 2>/dev/null || :
setfattr -n trusted.other -v thing tree/d 2>/dev/null || :
coldwalk tree >want
for how in '-comp gzip' '-comp lz4 -b 4096' '-comp lzo' '-comp xz -b 1M' \
    '-comp zstd -always-use-fragments' '-noI -noD -noF' '-no-fragments'; do
	rm -f img
	# shellcheck disable=SC2086
	mksquashfs tree img $how -quiet -no-progress >/dev/null 2>&1 || {
		skip "mksquashfs cannot: $how"
		continue
	}
	if coldwalk img 2>&1 | grep -q 'this build'; then
		skip "coldwalk lacks $how"
		continue
	fi
	coldwalk img >got
	same "the image, $how" got want
	mount -o loop,ro img mnt 2>/dev/null || {
		skip "no mount of $how"
		continue
	}
	coldwalk mnt >got
	same "its mount, $how" got want
	device=$(findmnt -n -o SOURCE mnt)
	coldwalk "$device" >got
	same "its device, $how" got want
	umount mnt
done
mount -o loop,ro img mnt
done_testing
