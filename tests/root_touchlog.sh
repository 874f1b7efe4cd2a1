#!/bin/sh
# Exactly the opened files are listed, in order, regardless of their paths; the
# listed pages are exact; no files or mounts remain.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have python3 || skip_all 'no python3'
mkdir tree tree/sub
for name in one two three sub/four 'a b' 'q"#\x'; do
	head -c 300000 /dev/urandom >"tree/$name"
done
ln tree/two tree/zwei
truncate -s 1M ext2
mkdir in
echo inside >in/inside
! have mke2fs || mke2fs -q -t ext2 -d in ext2
touchlog --root tree -- true >/dev/null 2>err || {
	grep -q fanotify err && skip_all 'fanotify is not available here'
}

# paths FILE: prints the second column
paths() { cut -f 2 "$1" | tr '\n' ' '; }

t 'files' 0 touchlog --root tree -o list -- \
    sh -c 'cat tree/zwei tree/sub/four; cat tree/one tree/two' 
is 'in order of first use' "$(paths list)" 'two sub/four one '
is 'with their sizes' "$(cut -f 3-4 list | sort -u)" '0	300000'
t 'with times' 0 touchlog --root tree --format times -o times -- \
    sh -c 'cat tree/one; sleep 0.3; cat tree/two'
is 'in order, and apart' "$(awk -F '\t' 'NF == 5 && $5 > 0 { t[NR] = $5 }
    END { d = t[2] - t[1]; print NR, (d > 0.25 && d < 20) }' times)" '2 1'
t 'an existing name' 1 touchlog --root tree -o list -- touch ran
shows 'is reported' 'list exists' .t.err
t 'and nothing is run' 1 test -e ran
t 'except with -f' 0 touchlog --root tree -f -o list -- cat tree/three
is 'which replaces it' "$(paths list)" 'three '
t 'by descriptors, in a chroot, from a child' 0 touchlog --root tree -f \
    -o list -- python3 -c '
import os, subprocess
os.chroot("tree"); os.chdir("/")
if os.fork() == 0:
    os.setsid()
    open("one").close()
    os._exit(0)
os.wait()
open("sub/four").close()'
is 'are still files' "$(paths list)" 'one sub/four '
t 'through a bind mount in its own namespace' 0 touchlog --root tree -f \
    -o list -- unshare -m sh -c 'mount --bind tree/sub /mnt && cat /mnt/four'
is 'also a file' "$(paths list)" 'sub/four '

# Another process reads at the same time as the command.
mkfifo go
{
	read -r _
	cat tree/three
} <go >/dev/null &
# shellcheck disable=SC2016
t 'another process' 0 touchlog --root tree -f -o list -- \
    sh -c 'echo >go; while kill -0 "$1" 2>/dev/null; do sleep 0.01; done
        cat tree/one' sh $!
is 'is not listed' "$(paths list)" 'one '
wait

# Another filesystem below the root is not watched.
mkdir 'tree/sub/two words'
if mount -t ext2 -o loop ext2 'tree/sub/two words' 2>/dev/null; then
	t 'a filesystem below the root' 0 touchlog --root tree -f -o list -- \
	    cat 'tree/sub/two words/inside' tree/one
	shows 'is named in a warning' \
	    'not listed: .*/tree/sub/two words$' .t.err
	is 'its files are not listed' "$(paths list)" 'one '
	t 'nothing is said with -q' 0 touchlog -q --root tree -f -o list -- \
	    true
	is 'at all' "$(cat .t.err)" ''
	t 'as a root' 0 touchlog --root 'tree/sub/two words' -f -o list -- \
	    cat 'tree/sub/two words/inside'
	is 'it is watched' "$(paths list)$(cat .t.err)" 'inside '
	umount 'tree/sub/two words'
else
	skip 'cannot mount an ext2'
fi
rmdir 'tree/sub/two words'
mkdir tree/bound
mount --bind tree/sub tree/bound
t 'a bind mount below the root' 0 touchlog --root tree -f -o list -- \
    cat tree/bound/four
is 'is watched' "$(paths list)" 'bound/four '
is 'without a warning' "$(cat .t.err)" ''
umount tree/bound
rmdir tree/bound

t 'standard output is for the list' 0 touchlog --root tree -- \
    sh -c 'echo said; cat tree/one >/dev/null'
is 'alone' "$(cut -f 2 .t.out)" one
shows 'messages go to standard error' '^said$' .t.err
t 'the command'\''s status' 7 touchlog --root tree -o failed -- \
    sh -c 'cat tree/one; exit 7'
is 'does not lose the list' "$(paths failed)" 'one '
t 'a signal' 143 touchlog --root tree -- sh -c 'kill $$'
t 'not found' 127 touchlog --root tree -- ./nowhere
t 'not executable' 126 touchlog --root tree -- ./tree/one
t 'no such root' 1 touchlog --root nowhere -- true
t 'a full disk' 1 sh -c 'touchlog --root tree -- cat tree/one >/dev/full'

t 'list' 0 touchlog --root tree --format list -- cat 'tree/a b' tree/one
is 'has paths' "$(cat .t.out)" 'a b
one'
t 'with NUL' 0 touchlog -0 --root tree --format list -- cat tree/one
is 'at the end' "$(od -An -c .t.out | tr -d ' ')" 'one\0'
touch 'tree/new
line'
t 'a newline in a name' 1 touchlog --root tree -- cat 'tree/new
line'
shows 'needs -0' '-0 ends lines' .t.err
rm 'tree/new
line'

# Parts of files are listed: page 5, and pages 20 to 22.
cat >parts.py <<'EOF'
import mmap, os
os.close(os.open("tree/two", os.O_RDONLY))
fd = os.open("tree/one", os.O_RDONLY)
page = mmap.PAGESIZE
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
os.pread(fd, 100, 5 * page)
os.pread(fd, 2 * page + 100, 20 * page)
EOF
page=$(getconf PAGESIZE)
printf '1\ttwo\t0\t0\n2\tone\t%d\t%d\n2\tone\t%d\t%d\n' $((5 * page)) "$page" \
    $((20 * page)) $((3 * page)) >want
sync -f tree
t 'pages' 0 touchlog --root tree --pages -f -o list -- python3 parts.py
same 'are these' list want
shows 'the accuracy is reported' 'read ahead' .t.err
if have mkfs.erofs && grep -q erofs /proc/filesystems; then
	# for these, the filesystem would otherwise read ahead
	sed -i /fadvise/d parts.py
	t 'exact pages' 0 touchlog --root tree --exact -f -o list -- \
	    python3 parts.py
	same 'without read-ahead' list want
	is 'without a message' "$(cat .t.err)" ''
	t 'from within' 0 sh -c 'cd tree/sub &&
	    touchlog --root .. --exact -- cat four'
	is 'with paths from the root' "$(cut -f 2 .t.out | sort -u)" sub/four
else
	skip 'no EROFS'
fi
if have coldwalk; then
	t 'coldwalk reads these parts' 0 coldwalk --cold fadvise \
	    --files-from want --ranges --summary tree
	shows 'and no more' "300000 *read\|, $((4 * page)) read"
fi

# Tests how mksquashfs uses the order.
if have mksquashfs && have unsquashfs; then
	touchlog --root tree --format sort -o order -- \
	    cat tree/three 'tree/q"#\x' tree/one 'tree/a b' >/dev/null
	t 'mksquashfs -sort' 0 mksquashfs tree sorted -sort order \
	    -no-progress -noI -noD -noF -no-fragments
	# each file's position in the uncompressed image
	python3 - <<'EOF' >places
data = open("sorted", "rb").read()
for name in "three", 'q"#\\x', "one", "a b", "two":
    print(data.index(open("tree/" + name, "rb").read(4096)), name)
EOF
	is 'puts them in that order' "$(sort -n places)" "$(cat places)"
else
	skip 'no mksquashfs'
fi

# If touchlog is killed, no files or mounts remain.  Only this test has loop
# devices in $TMPDIR.
exact=
! have mkfs.erofs || ! grep -q erofs /proc/filesystems || exact=--exact
left() {
	losetup -a | grep -F "$TMPDIR"
	pgrep -x -f 'sleep 299.5'
}
rm -f go
mkfifo go
# shellcheck disable=SC2086
touchlog --root tree $exact -- \
    sh -c 'mount -t tmpfs none /mnt; echo >go; exec sleep 299.5' &
read -r _ <go
t 'there are marks while it runs' 0 test -n "$(left)"
kill -9 $!
wait $! 2>/dev/null
i=0
while [ -n "$(left)" ] && [ $i -lt 3000 ]; do
	sleep 0.1
	i=$((i + 1))
done
is 'none after SIGKILL' "$(left)" ''
done_testing
