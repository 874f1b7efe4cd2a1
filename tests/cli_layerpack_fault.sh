#!/bin/sh
# Each of layerpack's system calls fails in turn.  The result is an error and no
# layer under the final name, or the right layer, names or files; never a crash.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/fault.sh
. "$SRC/tests/fault.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

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

all='malloc:ENOMEM openat:EMFILE openat:EACCES write:ENOSPC write:short
    write:EINTR fsync:EIO close:EIO linkat:EIO thread:EAGAIN chmod:EPERM
    read:EIO read:short read:EINTR pread:EIO pread:short lseek:ESPIPE stat:EIO'
some='malloc:ENOMEM openat:EMFILE write:ENOSPC pread:EIO'
set -- -q -p 2 -L 1 -c 16K
layerpack "$@" -F estargz -o want.layer a.tar >/dev/null
every estargz layer "$all" layerpack-fault "$@" -F estargz -o layer a.tar
layerpack "$@" -F zstd-chunked -o want.frames a.tar >/dev/null
every zstd-chunked frames "$some" \
    layerpack-fault "$@" -F zstd-chunked -o frames a.tar
set -- "$@" --order list -T .
layerpack "$@" -F zstd-chunked -o want.ordered a.tar.gz >/dev/null
every 'an order' ordered "$some" \
    layerpack-fault "$@" -F zstd-chunked -o ordered a.tar.gz
(cd tree && tar --sort=name -cf - numbers name sub) | gzip -n >b.tar.gz
set -- -q -F ztoc -c 16K -T .
layerpack "$@" -o want.ztoc b.tar.gz >/dev/null
every ztoc ztoc "$all" layerpack-fault "$@" -o ztoc b.tar.gz
set -- "$@" --windows packed
layerpack "$@" -o want.packed b.tar.gz >/dev/null
every 'packed windows' packed "$some" layerpack-fault "$@" -o packed b.tar.gz

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
# If the status is 1, entries are missing, but every existing file is complete.
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

# interrupted NAME COMMAND...: checks that every interrupted call is retried
interrupted() {
	i_name=$1 i_bad=''
	shift
	for i_kind in read pread write pwrite; do
		i_k=0
		while :; do
			i_k=$((i_k + 1))
			rm -rf out
			COLDPRESS_FAULT=$i_kind:$i_k:EINTR \
			    COLDPRESS_FAULT_COUNT=n "$@" >.t.out 2>.t.err ||
			    i_bad="$i_bad $i_kind:$i_k"
			[ "$(calls "$i_kind")" -ge "$i_k" ] || break
		done
	done
	is "$i_name: every interrupted call is repeated" "$i_bad" ''
}
interrupted 'a tree' layerpack-fault -x out -p2 want.ordered
interrupted 'a layer' layerpack-fault -q -f -F estargz -L 1 -c 16K -o out a.tar
interrupted 'a verdict' layerpack-fault -q -T . --verify want.ordered
rm -rf out

# layerpack must be confined before it reads untrusted data.  NoNewPrivs is set
# even on a kernel without Landlock.
stopped() {
	until grep -q '^State:.T' "/proc/$1/status"; do
		kill -0 "$1" || return 1
		sleep 0.05
	done
}
# confined NAME KIND OPTION...: checks that layerpack is confined by the time of
# its first system call of KIND
confined() {
	c_name=$1 c_kind=$2
	shift 2
	COLDPRESS_FAULT=$c_kind:1:STOP layerpack-fault -q "$@" >said &
	t "$c_name: meanwhile" 0 await stopped $!
	t "$c_name: confined" 0 grep -q '^NoNewPrivs:.1' "/proc/$!/status"
	kill -CONT $!
	c_status=0
	wait $! || c_status=$?
	is "$c_name: ends well" $c_status 0
}
if [ -r /proc/self/status ]; then
	layer tree gzip
	manifest one
	confined 'a list' pread -t want.ordered
	confined 'a verdict' pread --verify want.ordered
	confined 'a layer' write -F estargz -o made a.tar
	confined 'a layer in order' write -F zstd-chunked --order list -o made2 \
	    a.tar.gz
	confined 'a ztoc' write -F ztoc -T . -o made3 b.tar.gz
	if layerpack -h | grep -q -e --image; then
		confined 'an image' write --image -F estargz layout made4
		confined 'an image and ztocs' write --image -F ztoc layout made5
	fi
fi

# A disk that becomes full at each write in turn
full=1
bad=''
while :; do
	rm -rf out
	full_status=0
	COLDPRESS_FAULT=pwrite:$full+:ENOSPC \
	    layerpack-fault -v -x out -p2 want.ordered 2>err || full_status=$?
	[ $full_status != 0 ] || break
	# every entry exists or is reported
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
