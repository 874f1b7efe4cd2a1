# shellcheck shell=sh
# A full filesystem leads to an error message, and to no image or half-written
# file.  A user other than root extracts no devices, set-id bits or owners.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
mkdir small
mount -t tmpfs -o size=256k none small 2>/dev/null || skip_all 'no tmpfs'
trap 'umount small 2>/dev/null' EXIT

mkdir -p tree/sub
seq 100000 >tree/large
seq 100000 | tac >tree/sub/other
seq 300 >tree/sub/little
ln tree/large tree/sub/hard
mknod tree/device c 1 3 2>/dev/null || :
cp /bin/true tree/set-id
chmod 6755 tree/set-id
chown 12:34 tree/sub/little

sqpack -F lz4 -o image tree
t 'an image on a full filesystem' 1 sqpack -F none -o small/image tree
shows 'is reported' 'small/image: No space left on device' .t.err
is 'nothing is left of it' "$(ls -A small)" ''
sqpack -F none -o raw tree
(cd tree && tar -cf ../tree.tar .)
t 'from an archive' 1 sqpack -F none -o small/image tree.tar
t 'from an image' 1 sqpack -F none -o small/image raw
is 'nothing is left of them' "$(ls -A small)" ''
t '-x onto a full filesystem' 1 sqpack -x small/out image
shows 'is reported' 'No space left on device' .t.err
is 'whatever exists is complete' "$(cd small/out && find . -type f -size +0 |
    while read -r f; do cmp "$f" "../../tree/$f"; done 2>&1)" ''
rm -rf small/out
t '--cat onto a full filesystem' 1 sh -c 'sqpack --cat large image >small/a
    sqpack --cat sub/other image >>small/a'
shows 'is also reported' 'standard output: No space left' .t.err
umount small

# Make the directory and the tools accessible to another user.
if have setpriv; then
	chmod 755 .. .
	mkdir -m 777 free
	cp "$(command -v sqpack)" free/sqpack
	chmod 755 free/sqpack
	t '-x by another user' 0 setpriv --reuid 65534 --regid 65534 \
	    --clear-groups free/sqpack -x free/out image
	[ ! -e tree/device ] ||
	    shows 'devices are left out' 'device nodes are skipped' .t.err
	t 'none exists' 1 test -e free/out/device
	is 'no set-id bits' "$(stat -c %a free/out/set-id)" 755
	is 'no owners' "$(stat -c %u:%g free/out/sub/little)" 65534:65534
	same 'data' free/out/sub/little tree/sub/little
	chmod 700 tree/sub
	chmod 755 tree
	t 'a directory that cannot be read' 1 setpriv --reuid 65534 \
	    --regid 65534 --clear-groups free/sqpack -o free/image tree
	shows 'is reported' 'tree/sub: Permission denied' .t.err
	t 'and no image exists' 1 test -e free/image
	chmod 755 tree/sub
	chmod 0 tree/sub/little
	t 'a file that cannot be read' 1 setpriv --reuid 65534 \
	    --regid 65534 --clear-groups free/sqpack -o free/image tree
	shows 'is reported' 'tree/sub/little: Permission denied' .t.err
	t 'and no image exists' 1 test -e free/image
	t '-k' 1 setpriv --reuid 65534 --regid 65534 --clear-groups \
	    free/sqpack -k -F lz4 -o free/image tree
	is 'leaves it out' "$(sqpack -l sub free/image | tr '\n' ' ')" \
	    'sub/ sub/hard sub/other '
else
	skip 'setpriv is not installed'
fi
done_testing
