#!/bin/sh
# Each of sqpack's system calls fails in turn.  The result is an error and no
# image under the final name, or the right image, tree, bytes or names; never a
# crash.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/fault.sh
. "$SRC/tests/fault.sh"

have sqpack-fault || skip_all 'sqpack-fault is not built'

mkdir -p tree/sub
seq 30000 >tree/numbers
seq 100 >tree/sub/small
cp tree/numbers tree/sub/twin
head -c 20000 tree/numbers >tree/sub/cut
ln tree/sub/small tree/name
ln -s sub/small tree/link
mkfifo tree/fifo
truncate -s 300000 tree/hole
setfattr -n user.color -v red tree/numbers 2>/dev/null || :
[ "$(id -u)" != 0 ] || mknod tree/sub/device c 1 3 2>/dev/null || :

# A failure leaves no file, not even under a temporary name.
leaves() { [ ! -e "$1" ] && ! ls .coldpress-* >/dev/null 2>&1; }

# every NAME TARGET KINDS COMMAND...
every() {
	y_name=$1 y_target=$2 y_kinds=$3
	shift 3
	for y_kind in $y_kinds; do
		each "$y_name" "$y_target" "$y_kind" "$@"
	done
}

writing='malloc:ENOMEM openat:EMFILE openat:EACCES write:ENOSPC write:short
    write:EINTR lseek:EIO fsync:EIO close:EIO linkat:EIO thread:EAGAIN
    chmod:EPERM stat:EIO'
reading='pread:EIO pread:short pread:EINTR read:EIO read:short'

build='sqpack-fault -p2 -b 16K -F gzip -L 1 --no-probe -o image'
sqpack -p2 -b 16K -F gzip -L 1 --no-probe -o want.image tree
# shellcheck disable=SC2086
every 'a directory' image "$writing $reading dup:EMFILE getdents:EIO
    readlinkat:EIO getxattr:EIO" $build tree
(cd tree && tar --format=posix --xattrs --sort=name -cf - .) >a.tar
gzip -c a.tar >a.tar.gz
# shellcheck disable=SC2086
every 'an archive' image "$writing $reading" $build a.tar
# shellcheck disable=SC2086
every 'a compressed archive' image "$writing $reading pipe:EMFILE" \
    $build a.tar.gz
sqpack -b 16K -F lz4 -o old tree
# shellcheck disable=SC2086
sqpack -p2 -F gzip -L 1 --no-probe -o want.again old
every 'an image' again "$writing $reading" \
    sqpack-fault -p2 -F gzip -L 1 --no-probe -o again old

# Where unnamed files are not supported, a temporary file is used.
for e in write:ENOSPC fsync:EIO close:EIO linkat:EIO chmod:EPERM; do
	e_k=1
	bad=''
	while [ $e_k -le 20 ]; do
		rm -f image
		# shellcheck disable=SC2086
		COLDPRESS_FAULT=openat:2:EOPNOTSUPP,${e%:*}:$e_k:${e#*:} \
		    $build old 2>err || { leaves image && [ -s err ]; } ||
		    bad="$bad $e_k"
		e_k=$((e_k + 1))
	done
	is "a temporary file: $e" "$bad" ''
done

# Reading an image.
leaves() { :; }
# A fault may leave it unknown whether this kernel can mount the image.
sqpack -lv old | grep -v '^mounted' >want.names
every 'names' names "malloc:ENOMEM openat:EMFILE $reading stat:EIO lseek:EIO
    thread:EAGAIN" sh -c 'sqpack-fault -p2 -lv old >all || exit
    grep -v ^mounted all >names'
cp tree/numbers want.bytes
every 'one file' bytes "malloc:ENOMEM openat:EMFILE $reading write:ENOSPC
    write:short thread:EAGAIN" sh -c 'sqpack-fault -p2 --cat numbers old >bytes'

# sh extract TOOL: extracts with TOOL and lists what an image preserves
cat >extract <<'X'
rm -rf out
"$@" -x out -p2 old || exit
cd out && find . -printf '%y %m %U %G %n %s %T@ %P %l\n' |
    awk '$1 == "d" { $5 = $6 = "" } { sub(/[.].*/, "", $7); print }' |
    sort >../facts
find . -type f -exec cksum {} + | sort >>../facts
! command -v getfattr >/dev/null || getfattr -Rhd -m - . 2>/dev/null >>../facts
X
sh extract sqpack
mv facts want.facts
# Blocks of the image that cannot be read are replaced by zeros.
leaves() { rm -rf out; }
every 'a tree' facts "$reading" sh extract sqpack-fault
# Otherwise every regular file is complete; with status 1 some are missing.
leaves() {
	e_left=$(cd out 2>/dev/null && find . -type f -size +0 |
	    while read -r e_f; do
		cmp -s "$e_f" "../tree/$e_f" || echo "$e_f"
	done)
	rm -rf out
	[ -z "$e_left" ]
}
every 'a tree' facts "malloc:ENOMEM openat:EMFILE openat:EACCES
    pwrite:ENOSPC pwrite:EIO pwrite:short pwrite:EINTR ftruncate:EFBIG
    close:EIO mkdirat:EACCES mkdirat:ENOSPC symlinkat:EACCES mknodat:EPERM
    linkat:EMLINK chown:EPERM chmod:EPERM utimens:EPERM thread:EAGAIN dup:EMFILE
    lseek:EIO stat:EIO" sh extract sqpack-fault
# An attribute that cannot be set only causes a warning.
rm -rf out
t 'an attribute that cannot be set' 0 \
    env COLDPRESS_FAULT=setxattr:1+:EACCES sqpack-fault -x out old
[ ! -s want.facts ] || ! grep -q user.color want.facts ||
    shows 'is reported' 'user.color is skipped' .t.err
done_testing
