# shellcheck shell=sh
# Tests that need root: owners, a full filesystem, another user's files.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have setpriv || skip_all 'setpriv is not installed'
seq 1 20000 >text
chmod 755 .
nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
tool=$(command -v pzc)
# a folder that the user owns, with the tool at a path that this user can reach
mkdir own && cp -L "$tool" own/pzc && chmod 755 own/pzc && chown 65534:65534 own
nobody own/pzc -V >/dev/null 2>&1 ||
    skip_all 'another user cannot reach this directory'

# Owner and group.
cp text o && chown 1234:5678 o && chmod 640 o
pzc o
is 'owner, group and mode are kept' "$(stat -c '%u %g %a' o.gz)" \
    '1234 5678 640'
pzc -d o.gz
is 'and back' "$(stat -c '%u %g %a' o)" '1234 5678 640'
rm o

# Another user compresses root's readable file: the output belongs to that user,
# and nobody else can access it.
cd own || exit 1
for mode in 640 604 664 4755 2755; do
	cp ../text r && chown 0:0 r && chmod $mode r
	chmod o+r r
	nobody ./pzc -k r 2>/dev/null
	if [ -e r.gz ]; then
		is "mode $mode: owned by the user" "$(stat -c '%u' r.gz)" 65534
		is "mode $mode: no set-id bits" \
		    "$(($(stat -c '0%a' r.gz) & 07000))" 0
	else
		ok "mode $mode: not compressed"
	fi
	rm -f r r.gz
done
cp ../text g && chown 65534:0 g && chmod 640 g
nobody ./pzc -k g
is 'a group that cannot be set loses its bits' \
    "$(stat -c '%a' g.gz)" 600
rm -f g g.gz

# Tests unreadable files, and files in a folder that is not writable.
cp ../text u && chown 0:0 u && chmod 600 u
t 'an unreadable input' 1 nobody ./pzc u
is 'an unreadable input: the reason' "$(nobody ./pzc u 2>&1)" \
    'pzc: u: Permission denied'
rm -f u
mkdir ro && cp ../text ro/f && chmod 755 ro
t 'a folder that is not writable' 1 nobody ./pzc ro/f
same 'its input is kept' ro/f ../text
# sticky: the output can be created, but the input cannot be removed
mkdir sticky && chmod 1777 sticky && cp ../text sticky/f
t 'an input that cannot be removed: reported' 1 nobody ./pzc sticky/f
t 'its output is whole' 0 gzip -t sticky/f.gz
same 'it is kept' sticky/f ../text
cd .. || exit 1

# Attributes that grant privileges to a program are not copied with any option.
for mode in 6755 1644; do
	cp text s && chown 1234:5678 s && chmod $mode s
	pzc -fk s
	is "-f, mode $mode: permissions only" "$(stat -c '%u %a' s.gz)" \
	    "1234 $(printf %o $((0$mode & 0777)))"
	rm -f s s.gz
done
if have setcap && have getcap && cp text s && setcap cap_chown+ep s 2>/dev/null
then
	pzc -k s
	is 'capabilities are not copied' "$(getcap s.gz)" ''
else
	skip 'no capabilities of files here'
fi
rm -f s s.gz

# Block devices and links to devices are written to directly and never replaced.
node() { stat -Lc '%F %t:%T %a %u' "$1"; }
head -c 700000 /dev/urandom >img && truncate -s 1M img
pzc -k img && cp img.gz keep.gz
truncate -s 1M disk
loop=$(losetup -f --show disk 2>/dev/null) || loop=
if [ -n "$loop" ] && mknod blk b "$(stat -c 0x%t "$loop")" \
    "$(stat -c 0x%T "$loop")" 2>/dev/null && : <blk; then
	trap 'losetup -d "$loop" 2>/dev/null' EXIT
	want=$(node blk)
	ln -s blk blk-link
	t 'a block device without -f' 2 pzc -d -o blk img.gz
	for b in blk blk-link "$loop"; do
		head -c 1048576 /dev/zero >"$loop"
		t "-d -f -o $b" 0 pzc -d -f -o "$b" img.gz
		t "-d -f -o $b: the bytes" 0 cmp "$loop" img
		is "-d -f -o $b: kept" "$(node "$b" | cut -d ' ' -f 1-3)" \
		    "$(node "$loop" | cut -d ' ' -f 1-3)"
	done
	is 'the node is as it was' "$(node blk)" "$want"
	is 'the link is still a link' "$(stat -c %F blk-link)" 'symbolic link'
	same '-o keeps the input' img.gz keep.gz
	t 'a block device that is too small' 1 sh -c \
	    'head -c 2000000 /dev/urandom | pzc -f -o blk'
	t 'a block device onto itself' 1 pzc -f -o "$loop" blk
	cat img >"$loop"
	t 'onto itself: nothing is written' 0 cmp "$loop" img
	t 'a block device as the input, -k' 0 pzc -k blk
	t '... : the bytes' 0 sh -c 'pzc -dc blk.gz | cmp - img'
	is '... : it is kept' "$(node blk)" "$want"
	rm -f blk.gz
	t 'a block device as the input, -f' 0 pzc -f blk
	is '... : it is kept' "$(node blk)" "$want"
	# a device under a derived name is not overwritten
	cp text other && cp -a blk other.gz
	t 'a device under the name of the output, -f' 2 pzc -f other
	same '... : the input is kept' other text
	t '... : and the device is not written' 0 cmp "$loop" img
	losetup -d "$loop"
	trap - EXIT
else
	[ -z "$loop" ] || losetup -d "$loop"
	skip 'there is no loop device'
fi
rm -f img img.gz keep.gz disk blk blk-link blk.gz other other.gz
if mknod -m 622 null c 1 3 2>/dev/null && : 2>/dev/null >null; then
	ln -s null null-link
	touch -d '2002-03-04 05:06:07 UTC' null
	for o in null null-link; do
		t "-f -o $o, a character device" 0 pzc -f -o $o text
		t "-f -o $o, of standard input" 0 sh -c "pzc -f -o $o <text"
		[ ! -x "$BIN/pzseek" ] ||
		    t "pzseek -f -o $o" 0 sh -c \
			"pzc -kf text && pzseek -f -o $o text.gz 9:99"
		is "-f -o $o: it keeps its mode and times" \
		    "$(node $o) $(stat -Lc %Y $o)" \
		    "character special file 1:3 622 0 1015218367"
	done
	is 'its link is still a link' "$(stat -c %F null-link)" 'symbolic link'
	rm -f null null-link text.gz
else
	skip 'no devices can be made here'
fi

# While being written, the output is never more accessible than its input.
head -c 20000000 /dev/urandom >secret && chmod 600 secret
umask 000
pzc -kp1 secret &
seen=
while kill -0 $! 2>/dev/null; do
	for f in secret.gz .coldpress-*; do
		[ ! -e "$f" ] || seen="$seen$(stat -c %a "$f" 2>/dev/null) "
	done
done
is 'a private file stays private meanwhile' \
    "$(printf '%s' "$seen" | tr ' ' '\n' | sort -u | tr -d '\n')" \
    "${seen:+600}"
umask 022
rm -f secret secret.gz

# Tests a filesystem that becomes full.
mkdir full
if mount -t tmpfs -o size=256k tmpfs full 2>/dev/null; then
	trap 'umount -l full 2>/dev/null' EXIT
	head -c 200000 /dev/urandom >full/n
	cp full/n keep
	for o in '' -f -p1 '-F zstd' '-F xz' '-F lz4' '-F bzip2'; do
		# shellcheck disable=SC2086
		t "no space, $o" 1 pzc $o full/n
		same "no space, $o: kept" full/n keep
		is "no space, $o: nothing new" "$(find full -type f | wc -l)" 1
	done
	rm full/n
	head -c 1000000 /dev/zero >z
	for o in gzip zstd xz lz4 bzip2 lzma; do
		pzc -F $o -c z >full/z.p && cp full/z.p keep
		for p in 1 4; do
			t "no space for $o, -dp$p" 1 pzc -dp$p -S .p full/z.p
			same "no space for $o, -dp$p: kept" full/z.p keep
			is "no space for $o, -dp$p: nothing is created" \
			    "$(find full -type f | wc -l)" 1
		done
	done
	t 'no space on standard output' 1 to full/z pzc -dc full/z.p
	rm -f full/*
	# no inode for another file
	mount -o remount,nr_inodes=3 full 2>/dev/null && {
		cp text full/a
		: >full/b
		t 'no inode' 1 pzc -k full/a
		same 'no inode: kept' full/a text
	}
	umount full

	if mount -t tmpfs -o size=1m tmpfs full; then
		cp text full/a
		mount -o remount,ro full
		t 'a read-only filesystem' 1 pzc full/a
		same 'a read-only filesystem: kept' full/a text
		umount full
	fi
else
	skip 'nothing can be mounted here'
fi

done_testing
