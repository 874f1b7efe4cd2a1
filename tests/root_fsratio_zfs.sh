#!/bin/sh
# Compares fsratio with a real pool: zfs-fuse prints the predicted ratio.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have fsratio || skip_all 'no fsratio'
have zfs-fuse || skip_all 'no zfs-fuse'
have cpio || skip_all 'no cpio'
[ -e /dev/fuse ] || skip_all 'no /dev/fuse'
[ -e /var/run/zfs/zfs_socket ] && pgrep -x zfs-fuse >/dev/null &&
    skip_all 'a zfs-fuse is already running'

daemon='' pool=cpt$$
down() {
	[ -n "$daemon" ] || return 0
	for _ in 1 2 3 4 5; do
		zpool destroy -f "$pool" >/dev/null 2>&1 && break
		sleep 1
	done
	kill "$daemon" 2>/dev/null
	wait "$daemon" 2>/dev/null
	daemon=''
	# the daemon does not unmount this when it exits
	ls /zfs-kstat >/dev/null 2>&1 || umount -l /zfs-kstat 2>/dev/null
	rmdir /zfs-kstat 2>/dev/null
}
trap down EXIT
trap 'exit 130' INT TERM

answers() { zpool list >/dev/null 2>&1 || gone "$daemon"; }

# up ASHIFT: creates a pool with that sector size, or exits
up() {
	truncate -s 2G img
	zfs-fuse -n -p "$PWD/pid" >/dev/null 2>&1 &
	daemon=$!
	await answers
	! gone "$daemon" || skip_all 'another zfs-fuse was started since'
	zpool create -f -o ashift="$1" -m none "$pool" "$PWD/img" ||
	    skip_all 'zfs-fuse cannot create a pool here'
}

# real TREE ALGORITHM: prints the compression ratio and the size of a copy of
# the tree
real() {
	copy=$1-$2
	zfs create -o compression="$2" -o atime=off \
	    -o mountpoint="$PWD/m-$copy" "$pool/$copy" || return
	[ "$(stat -f -c %T "m-$copy")" = fuseblk ] || return
	(cd "$1" && find . -print | cpio -pdu --quiet "../m-$copy")
	zfs snapshot "$pool/$copy@done"
	zfs get -Hp -o value compressratio,referenced "$pool/$copy" |
	    tr '\n' ' '
	zfs umount "$pool/$copy" >/dev/null 2>&1
}

# foretold ASHIFT TREE ALGORITHM: prints fsratio's prediction
foretold() {
	fsratio --csv --fs zfs-fuse --ashift "$1" -a "$3" "$2" | awk -F , '
	    /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
	    { print $at["compressratio"] "x", $at["allocated_B"] }'
}

# Compares mail-sized pieces of this machine's files, a hundred per directory.
mkdir -p tree
cat /usr/share/doc/*/copyright /usr/share/common-licenses/* 2>/dev/null |
    head -c 12000000 >text
[ "$(wc -c <text)" -gt 2000000 ] || skip_all 'too little text here'
awk 'BEGIN { srand(7); n = 0 }
    { if (left <= 0) { if (f != "") close(f)
        d = sprintf("tree/%02d", n / 100); if (n % 100 == 0) system("mkdir " d)
        f = sprintf("%s/%05d", d, n++)
        left = 300 + exp(7 + 1.6 * (rand() + rand() - 1)) }
      print >f; left -= length($0) }' text

# Tests links whose targets do not fit in their dnodes.
mkdir tree/links
awk 'BEGIN { for (i = 0; i < 500; i++) {
    t = sprintf("%04d", i); while (length(t) < 60 + i % 400) t = t "/elsewhere"
    print "ln -s " t " tree/links/" i } }' | sh

# Tests trees that consist of metadata only, which varies more: a directory of
# many names, links, and empty directories.
mkdir -p flat links/0 links/1 links/2 links/3 directories
(cd flat && seq -f 'name-%05g' 12000 | xargs touch)
awk 'BEGIN { for (i = 0; i < 2000; i++) {
    t = "../" i
    for (k = 1; length(t) < 60 + i % 400; k++) t = t "/" i * k * 7919 % 10007
    print "ln -s " t " links/" int(i / 500) "/" i } }' | sh
(cd directories && seq 8000 | xargs mkdir)

for ashift in 9 12; do
	up $ashift
	for algorithm in off lzjb zle gzip-1 gzip-6 gzip-9; do
		want=$(real tree "$algorithm")
		got=$(foretold $ashift tree "$algorithm")
		# the last digit of the ratio that a pool reports depends on
		# times and checksums
		is "ashift $ashift, $algorithm: compressratio" \
		    "$(echo "$got $want" | awk '{ d = $1 * 100 - $3 * 100
		        if (d * d < 1.1 ^ 2) print "yes"
		        else print $1 " for " $3 }')" yes
		is "ashift $ashift, $algorithm: referenced within 0.3 %" \
		    "$(echo "$got $want" | awk '{ d = ($2 - $4) / $4
		        if (d * d < 0.003 ^ 2) print "yes"
		        else print $2 " for " $4 }')" yes
	done
	# how the directory's leaves are split depends on the names' hashes
	for tree in flat links directories; do
		is "ashift $ashift: $tree within 1 %" \
		    "$(echo "$(foretold $ashift $tree off) $(real $tree off)" |
		    awk '{ d = ($2 - $4) / $4
		        if (d * d < 0.01 ^ 2) print "yes"
		        else print $2 " for " $4 }')" yes
	done
	down
	rm -f img
done
is 'no mount is left' "$(grep ' /zfs-kstat ' /proc/mounts)" ''
done_testing
