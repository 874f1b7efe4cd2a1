#!/bin/sh
# Each of layerpack's system calls fails in turn.  The result is an error and no
# layer under the final name, or the right layer, names or files; never a crash.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/fault.sh
. "$SRC/tests/fault.sh"

have layerpack-fault || skip_all 'layerpack-fault is not built'

mkdir -p tree/sub
seq 8000 >tree/numbers
seq 100 >tree/sub/small
ln tree/sub/small tree/name
ln -s sub/small tree/link
mkfifo tree/fifo
truncate -s 90000 tree/hole
: >tree/empty
(cd tree && tar --format=posix --sort=name -cf ../a.tar .)
gzip -nk a.tar
printf '1\tsub/small\t0\t292\n2\tnumbers\t20000\t9000\n' >list

# every NAME TARGET KINDS COMMAND...
every() {
	y_name=$1 y_target=$2 y_kinds=$3
	shift 3
	for y_kind in $y_kinds; do
		each "$y_name" "$y_target" "$y_kind" "$@"
	done
}

# A failure leaves no file, not even under a temporary name.
leaves() { [ ! -e "$1" ] && ! ls .coldpress-* >/dev/null 2>&1; }

writing='malloc:ENOMEM openat:EMFILE openat:EACCES write:ENOSPC write:short
    write:EINTR fsync:EIO close:EIO linkat:EIO thread:EAGAIN chmod:EPERM'
reading='read:EIO read:short read:EINTR pread:EIO pread:short lseek:ESPIPE
    stat:EIO'
for format in estargz zstd-chunked; do
	set -- -q -p 2 -F $format -L 1 -c 16K
	rm -f want.layer want.ordered
	layerpack "$@" -o want.layer a.tar >/dev/null
	# shellcheck disable=SC2086
	every $format layer "$writing $reading" \
	    layerpack-fault "$@" -o layer a.tar
	layerpack "$@" --order list -T . -o want.ordered a.tar.gz >/dev/null
	# shellcheck disable=SC2086
	every "$format, ordered" ordered "$writing $reading" \
	    layerpack-fault "$@" --order list -T . -o ordered a.tar.gz
done
rm -f want.layer
(cd tree && tar --sort=name -cf - numbers name sub) | gzip -n >b.tar.gz
for windows in raw packed; do
	set -- -q -F ztoc -c 16K --windows $windows -T .
	rm -f want.ztoc
	layerpack "$@" -o want.ztoc b.tar.gz >/dev/null
	# shellcheck disable=SC2086
	every "ztoc, $windows" ztoc "$writing $reading" \
	    layerpack-fault "$@" -o ztoc b.tar.gz
done

# Reading a layer
leaves() { :; }
layer=want.ordered
layerpack -t $layer >want.names
every 'names' names "malloc:ENOMEM openat:EMFILE pread:EIO pread:short stat:EIO
    thread:EAGAIN close:EIO" to names layerpack-fault -t $layer
echo good >want.verdict
every 'a verdict' verdict "malloc:ENOMEM openat:EMFILE read:EIO read:short
    pread:EIO pread:short stat:EIO write:ENOSPC thread:EAGAIN" sh -c \
    "layerpack-fault -T . --verify $layer && echo good >verdict"

# sh extract TOOL: extracts with TOOL and lists what an archive preserves
cat >extract <<'X'
rm -rf out
"$@" -x out -p2 want.ordered || exit
cd out && find . -printf '%y %m %U %G %n %s %T@ %P %l\n' |
    awk '$1 == "d" { $5 = $6 = "" } { sub(/[.].*/, "", $7); print }' |
    sort >../facts
find . -type f -exec cksum {} + | sort >>../facts
X
sh extract layerpack
mv facts want.facts
# With status 1 entries are missing, but every file that exists is complete.
leaves() {
	e_left=$(cd out 2>/dev/null && find . -type f |
	    while read -r e_f; do
		cmp -s "$e_f" "../tree/$e_f" || echo "$e_f"
	done)
	rm -rf out
	[ -z "$e_left" ]
}
every 'a tree' facts "malloc:ENOMEM openat:EMFILE openat:EACCES pread:EIO
    pread:short pwrite:ENOSPC pwrite:EIO pwrite:short pwrite:EINTR
    ftruncate:EFBIG close:EIO mkdirat:EACCES mkdirat:ENOSPC symlinkat:EACCES
    mknodat:EPERM linkat:EMLINK chown:EPERM chmod:EPERM utimens:EPERM
    thread:EAGAIN dup:EMFILE stat:EIO" sh extract layerpack-fault

# A disk that is full from some write on
full=1
bad=''
while :; do
	rm -rf out
	full_status=0
	COLDPRESS_FAULT=pwrite:$full+:ENOSPC \
	    layerpack-fault -v -x out -p2 want.ordered 2>err || full_status=$?
	[ $full_status != 0 ] || break
	# every entry exists, or is named
	(cd tree && find . -mindepth 1 -printf '%P\n') | while read -r f; do
		[ -e "out/$f" ] || [ -L "out/$f" ] || grep -q "out/$f: " err ||
		    echo "$f"
	done >unnamed
	[ $full_status = 1 ] && [ ! -s unnamed ] &&
	    grep -q 'out: [0-9]* of [0-9]* entries are missing, the' err &&
	    leaves || bad="$bad $full"
	full=$((full + 1))
done
is 'a full disk: missing entries are named, the rest is complete' "$bad" ''
is 'the disk was full at some point' "$((full > 2))" 1
done_testing
