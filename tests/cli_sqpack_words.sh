#!/bin/sh
# What sqpack prints under the names mksquashfs and unsquashfs: progress,
# reports, names and logs are those of the originals.  COLDPRESS_MKSQUASHFS
# names a folder with another version's mksquashfs and unsquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
have mksquashfs || skip_all 'mksquashfs is not installed'
have unsquashfs || skip_all 'unsquashfs is not installed'
mkdir bin
for name in mksquashfs unsquashfs; do
	ln -s "$(command -v sqpack)" bin/$name
done
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
is_new=false
case $(mksquashfs -version 2>/dev/null) in
*'version 4.7'*) is_new=true ;;
esac

mkdir -p one/dir/deep one/empty two
seq 60000 >one/a
cp one/a one/dir/twin
echo b >one/dir/b
ln one/dir/b one/hard
ln -s a one/link
mkfifo one/fifo
: >one/nothing
seq 5 >two/c
for n in 1 2 3; do
	echo $n >one/dir/deep/$n
	setfattr -n user.n -v "$(seq $n 40)" one/dir/deep/$n 2>/dev/null
	chown $((n * 7)):$((90 - n)) one/dir/deep/$n 2>/dev/null
done
find one two -exec touch -h -d @1600000000 {} +

# Which bars there are before the last one, the phase of its last character, and
# before which line a thread prints it, depends on the time: it is put last.
phase() {
	tr '\r' '\n' | sed '/^\[.*%$/ {
		/ 100%$/ !d
		s,^\(\[=*\)[-|/\\],\1|,
		s,\] *,] ,
	}' | awk '/^\[.* 100%$/ { bar = $0; next } 1
	    END { if (bar != "") print bar }'
}

# said WORD...: both programs print the same; IMAGE is made or read
said() {
	# unsquashfs 4.5.1 may end before its thread has printed the last bar
	for _ in 1 2 3 4 5; do
		rm -rf image squashfs-root
		[ "$1" = mksquashfs ] || cp sample image
		theirs=0
		"$@" <input >raw 2>/dev/null || theirs=$?
		phase <raw >their.txt
		case $* in
		*' -n'* | *' -q'*) break ;;
		unsquashfs*) ! grep -q '^\[.* 100%$' their.txt || break ;;
		*) break ;;
		esac
	done
	rm -rf image squashfs-root
	[ "$1" = mksquashfs ] || cp sample image
	t "$*" "$theirs" env PATH="$PWD/bin:$PATH" "$@" <input
	phase <.t.out >our.txt
	same 'prints the same' our.txt their.txt
	cmp -s our.txt their.txt || {
		diff their.txt our.txt | head -n 20
		tail -c 400 .t.out | od -An -c
	} | sed 's/^/# /'
}

: >input
said mksquashfs one image -comp xz
said mksquashfs one image -comp xz -quiet
said mksquashfs one image -comp xz -no-progress
said mksquashfs one image -comp lz4 -no-fragments -no-duplicates -no-exports
said mksquashfs one image -comp lzo -noI -noD -noX -noF -no-xattrs
said mksquashfs one image -comp xz -e dir
said mksquashfs one image -comp xz -p 'x c 600 0 0 4 70' -p 'y d 755 7 8'
said mksquashfs two image -comp zstd -all-root -processors 1
if $is_new; then
	said mksquashfs one two image -comp xz -b 4K -root-time 5
	said mksquashfs one image -comp xz -info
	said mksquashfs one two image -comp xz -info -no-hardlinks
	said mksquashfs one image -comp xz -no-progress -percentage
	tar -C one -cf input . 2>/dev/null
	said mksquashfs - image -comp xz -tar -b 8K -root-time 5
	: >input
	for o in -info-file -log; do
		rm -f their.list our.list
		mksquashfs one two image -noappend -quiet -comp xz \
		    $o their.list >/dev/null
		bin/mksquashfs one two image -noappend -quiet -comp xz \
		    $o our.list >/dev/null
		same "$o writes the same" our.list their.list
	done
	# the originals evaluate names in the order of their directories
	for o in -log-action -true-action -false-action -va -ta -fa; do
		e='uid(3)@name(*) && (type(f) || !depth(>1) && filesize(<4))'
		mksquashfs one image -noappend -quiet -no-progress -comp lz4 \
		    $o "$e" | sort >their.txt
		bin/mksquashfs one image -noappend -quiet -no-progress \
		    -comp lz4 $o "$e" | sort >our.txt
		same "$o: $e" our.txt their.txt
	done
else
	skip 'mksquashfs is older than 4.7'
fi

# -percentage ends with 100, and an empty line ends the progress
t '-percentage' 0 bin/mksquashfs one image -noappend -quiet -percentage
is 'ends with 100' "$(tail -n 2 .t.out | tr '\n' .)" 100..
is 'percentages are numbers' "$(sed '$d' .t.out | grep -vc '^[0-9]*$')" 0
for o in -percentage -progress; do
	t "-no-progress with $o" 1 bin/mksquashfs one no.img -no-progress $o
	shows 'is named' "only one of -no-progress and $o" .t.err
	t 'no image' 1 test -e no.img
done

bin/mksquashfs one two sample -noappend -quiet -no-progress -comp xz \
    -root-time 5 -p 'e d 700 1 2'
for o in '' -q -quiet -n -no-progress -i -info '-p 1' '-q -n' '-i -n'; do
	# shellcheck disable=SC2086
	said unsquashfs $o image
done
said unsquashfs image one/dir two/c
said unsquashfs image nothing
said unsquashfs -pf defined image
! $is_new || said unsquashfs -percentage image
rm -rf squashfs-root
bin/unsquashfs -q -n image one/a
t 'what is there already' 2 bin/unsquashfs -q -n image one/a
t 'is not extracted' 2 bin/unsquashfs -n image one/a one/dir/b
shows 'nor counted' '^created 1 file$'
if [ "$(id -u)" = 0 ] && have setpriv && bin/mksquashfs two dev.img -noappend \
    -quiet -no-progress -p 'null c 666 0 0 1 3'; then
	mkdir user
	chown 65534 user
	chmod 711 .
	t 'devices need root' 2 setpriv --reuid=65534 --regid=65534 \
	    --clear-groups "$PWD/bin/unsquashfs" -n -d user/out dev.img
	shows 'and are not counted' '^created 0 devices$'
else
	skip 'devices: not as root'
fi

# on a terminal the bar has its width
if have script; then
	t 'on a terminal' 0 script -qec \
	    'stty cols 40; bin/mksquashfs one y.img -noappend -quiet -comp xz' \
	    /dev/null
	phase <.t.out >line.txt
	is 'the bar fills it' "$(tr '\r' '\n' <.t.out | grep -a '100%' |
	    head -n 1 | awk '{ print length($0) }')" 39
else
	skip 'script is not installed'
fi
done_testing
