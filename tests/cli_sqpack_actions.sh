#!/bin/sh
# The actions of mksquashfs: sqpack under its name makes the same image.
# COLDPRESS_MKSQUASHFS names a folder with another version's mksquashfs and
# unsquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir ours
ln -s "$(command -v sqpack)" ours/mksquashfs
ours=$PWD/ours/mksquashfs
PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH

mkdir -p tree/linux-6/src/deep tree/var/cache/mirror/offline tree/empty
seq 30000 >tree/linux-6/src/main.c
seq 9 >tree/linux-6/src/deep/util.h
seq 60000 >tree/var/cache/mirror/offline/package
seq 50000 >tree/var/cache/other
echo a >'tree/with space'
echo b >tree/.hidden
echo c >tree/run.sh
chmod 755 tree/run.sh
chmod 600 tree/.hidden
chmod 4711 tree/var/cache/other
ln tree/run.sh tree/var/hard
ln -s /etc tree/abs
ln -s run.sh tree/rel
mkfifo tree/fifo
find tree -exec touch -h -d @1600000000 {} +

is_new=false
if have mksquashfs && have unsquashfs; then
	case $(mksquashfs -version 2>/dev/null) in
	*'version 4.7'*) is_new=true ;;
	esac
fi
# what does not depend on the version of mksquashfs
listed() { unsquashfs -n -lln "$1" | sed 1d; }

set -f
while read -r action; do
	rm -f ours.img theirs.img
	t "$action" 0 "$ours" tree ours.img -noappend -quiet -no-progress \
	    -comp lz4 -action "$action"
	t 'the image is intact' 0 coldwalk -q ours.img
	if have mksquashfs && have unsquashfs; then
		mksquashfs tree theirs.img -noappend -quiet -no-progress \
		    -comp lz4 -action "$action" >their.out 2>&1 || :
		if [ -e theirs.img ]; then
			listed ours.img >ours.txt
			listed theirs.img >theirs.txt
			same 'lists the same' ours.txt theirs.txt
			! $is_new || same 'is the same' ours.img theirs.img
		elif $is_new; then
			not_ok "theirs: $(head -n 1 their.out)"
		else
			skip "an older mksquashfs: $(head -n 1 their.out)"
		fi
	else
		skip 'mksquashfs is not installed'
	fi
done <<'END'
uncompressed@subpathname(var/cache/mirror/offline)
uncompressed@name(*.c) || pathname(var/cache/*)
compressed@true
chmod(o+rX)@!perm(o+rX)
chmod(ugo=rwX)@true
chmod(0640)@type(f)
mode(u=rw,go=r)@perm(/u=x,g=x) && type(f)
uid(7)@name(run.sh)
gid(8)@type(d)
guid(0,9)@!type(d)
uid(3)@depth(1)
uid(3)@depth(>1)
uid(3)@depth(<=2)
uid(3)@depth_range(2,3)
uid(3)@pathname(linux-6/src/*)
uid(3)@subpathname(linux*/src)
exclude@name(*.h)
exclude@name(linux*) && type(d)
exclude@filesize(>200K)
exclude@filesize(<10)
exclude@filesize_range(100,200000)
exclude@depth(>2) || (depth(2) && type(d))
exclude@uid(0) && name(var)
exclude@user(root) && name(v*)
exclude@group(root) && name(v*)
exclude@name(.h*)
prune@name(*.c) || name(empty)
prune@type(l)
prune@type(p)
prune@name(v*)
prune@name("with space")
prune@name(with\ space)
prune@perm(-u=s)
prune@perm(u=rw)
prune@perm(/u=x,g=x)
prune@absolute
prune@!absolute && type(l)
prune@tailsize(<4)
prune@name("+(a|r)*")
prune@name(?hidden)
prune@type(f) && name(run*) || name(rel)
prune@type(f) && (name(run*) || name(rel))
prune@!(type(d) || type(l)) && ! name(*.c)
prune@false
xattrs-add(user.mark=0x0102)@name(main.c)
xattrs-add(trusted.a="b c")@type(d)
noop@true
END
set +f
cat >file <<'END'
# a comment

uid(4)@ \
  name(*.c) && \
type(f)
  chmod(600)@uid(4)
prune@perm(600) && \
name(*.h)
END
t 'a file of actions' 0 "$ours" tree ours.img -noappend -quiet -no-progress \
    -comp lz4 -action-file file -a 'gid(5)@uid(4)'
if $is_new; then
	mksquashfs tree theirs.img -noappend -quiet -no-progress -comp lz4 \
	    -action-file file -a 'gid(5)@uid(4)' >/dev/null 2>&1
	same 'the same' ours.img theirs.img
fi
# octal modes after - and /, which mksquashfs 4.7.5 does not parse
t 'octal bits' 0 "$ours" tree ours.img -noappend -quiet -no-progress \
    -action 'prune@perm(-4000)' -action 'prune@perm(/011) && type(f)'
sqpack -l ours.img >ours.txt
is 'and what has them is gone' "$(grep -c -e run.sh -e cache/other ours.txt)" 0
t 'the data of one more is stored' 0 "$ours" tree big.img -noappend -quiet \
    -no-progress -comp xz -action 'uncompressed@name(package)'
t 'than without' 0 "$ours" tree small.img -noappend -quiet -no-progress \
    -comp xz
t 'so it is larger' 0 test "$(stat -c %s big.img)" -gt \
    $(($(stat -c %s small.img) + 200000))

# refused WORD ACTION: the message contains the word
refused() {
	t "refused: $2" 1 "$ours" tree no.img -noappend -quiet -action "$2"
	shows 'is named' "$1" .t.err
	t 'no image' 1 test -e no.img
}
refused "expected '@'" 'exclude'
refused "expected '@'" 'exclude name(a)'
refused 'there is no action' 'remove@true'
refused 'there is no test' 'exclude@called(a)'
refused 'does not support the test' 'exclude@exec(true)'
refused 'does not support the action' 'move(a)@true'
refused 'expected 1 argument, found 0' 'exclude@name'
refused 'expected 1 argument, found 2' 'exclude@name(a,b)'
refused 'expected 0 arguments' 'exclude(a)@true'
refused 'expected a number' 'exclude@filesize(big)'
refused 'expected a number' 'exclude@filesize(9999999999G)'
refused 'expected a number' 'exclude@depth_range(1,x)'
refused 'there is no user' 'exclude@user(no-such-user-)'
refused 'there is no group' 'gid(no-such-group-)@true'
refused 'expected one of f' 'exclude@type(x)'
refused 'expected a mode' 'chmod(rwx)@true'
refused 'expected a mode' 'exclude@perm(99)'
refused 'expected name=value' 'xattrs-add(user.a)@true'
refused 'quote is not closed' 'exclude@name("a)'
refused "expected ')'" 'exclude@(true'
refused "expected ')'" 'exclude@name(a b'
refused 'expected a name' 'exclude@true &&'
refused 'expected a name' 'exclude@'
refused 'or the end' 'exclude@true false'
refused 'too many arguments' 'exclude@perm(a,b,c,d,e,f,g,h,i)'
nested=true
while [ ${#nested} -lt 200 ]; do
	nested="($nested)"
done
refused 'brackets are nested' "exclude@$nested"
t 'with an archive' 1 "$ours" - no.img -tar -noappend -action 'prune@true' \
    </dev/null
shows 'is refused' 'together with -tar' .t.err
done_testing
