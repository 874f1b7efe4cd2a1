#!/bin/sh
# Tests sqpack under the names mksquashfs, sqfstar, unsquashfs and sqfscat:
# options that came after 4.5.1, pseudo files, and what needs no peer.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

mkdir bin
for name in mksquashfs sqfstar unsquashfs sqfscat; do
	ln -s "$(command -v sqpack)" bin/$name
done
PATH=$PWD/bin:$PATH
mkdir -p one/dir
echo a >one/a
echo b >one/dir/b
seq 40000 >one/dir/large
ln -s dir/b one/link
ln -s nowhere one/lost
touch -h -d @1600000000 one/a one/link one/lost one/dir/* one/dir one
set -- -noappend -quiet -no-progress

# mode IMAGE PATH: what a long listing says of a path
line() { sqpack -lv "$2" "$1" 2>/dev/null | grep " $2/*\$"; }

# Data
for n in 1 2 3; do
	{ seq 40000; echo $n; } >one/tail$n
done
t 'tails in fragments' 0 mksquashfs one tails.img "$@" -tailends
t 'their superblock' 0 unsquashfs -s tails.img
shows 'has the flag' 'Always-use-fragments option is specified'
t 'and they are extracted' 0 unsquashfs -q -n -d tails tails.img
t 'unchanged' 0 diff -r --no-dereference tails one
t 'coldwalk reads them' 0 coldwalk -q tails.img
t 'tails are not' 0 mksquashfs one blocks.img "$@" -tailends -no-tailends
t 'smaller with tails' 0 test "$(stat -c %s tails.img)" -lt \
    "$(stat -c %s blocks.img)"
head -c 300000 /dev/zero >zeros
t 'zeros stored' 0 mksquashfs zeros z.img "$@" -no-sparse -noD -noF
t 'take space' 0 test "$(stat -c %s z.img)" -gt 300000
t 'as other data' 0 unsquashfs -q -n -d z z.img
same 'and are read' z/zeros zeros
t 'nothing compressed' 0 mksquashfs one raw.img "$@" -no-compression
t 'its superblock' 0 unsquashfs -s raw.img
is 'says so' "$(grep -c -e 'are uncompressed' -e 'is uncompressed' .t.out)" 5

# Modes, owners and times
t 'modes for all' 0 mksquashfs one m.img "$@" -force-file-mode u=rw,go=r \
    -force-dir-mode 711
shows 'of a file' '^-rw-r--r--' "$(line m.img a >m.txt; echo m.txt)"
shows 'of a directory' '^drwx--x--x' "$(line m.img dir >m.txt; echo m.txt)"
t 'a mode that is none' 1 mksquashfs one x.img "$@" -force-file-mode u=q
shows 'is named' "symbolic mode, found 'u=q'" .t.err
t 'owners shifted' 0 mksquashfs one s.img "$@" -all-root -uid-gid-offset 1000
shows 'by so much' ' 1000/1000 ' "$(line s.img a >m.txt; echo m.txt)"
t 'too far' 1 mksquashfs one x.img "$@" -force-uid 4294967295 \
    -uid-gid-offset 1
shows 'is named' 'out of range after adding 1' .t.err
touch -d @1600000000 one
t 'the latest time' 0 mksquashfs one t.img "$@" -mkfs-time inode \
    -all-time inode -e tail1 tail2 tail3
is 'is that of the image' "$(unsquashfs -fstime t.img)" 1600000000
t 'a date' 0 mksquashfs one t.img "$@" -mkfs-time '2001-02-03 UTC'
is 'is understood' "$(unsquashfs -fstime t.img)" 981158400
t 'no date' 1 mksquashfs one x.img "$@" -mkfs-time 'some day'
shows 'is named' "found 'some day'" .t.err
t 'depth' 0 mksquashfs one d.img "$@" -max-depth 1
t 'one level' 1 sqpack -l dir/b d.img
t 'accepted and ignored' 0 mksquashfs one i.img "$@" -mem-percent 20 \
    -throttle 5 -limit 90 -single-reader -overcommit 10 -no-pager
t 'names to a file' 0 mksquashfs one i.img "$@" -info-file names.txt
shows 'are listed' '^file /dir/b, uncompressed size 2 bytes *$' names.txt

# Attributes
t 'attributes added' 0 mksquashfs one x.img "$@" \
    -xattrs-add user.added=0x41420a
unsquashfs -pf - x.img 2>/dev/null | grep -a ' x ' >x.txt
is 'to files and directories' "$(grep -c '^a x user.added=0tAB\\012$' x.txt)" 1
is 'not to links' "$(grep -c '^link' x.txt)" 0
t 'a value that is none' 1 mksquashfs one x.img "$@" -xattrs-add user.x
if setfattr -n user.one -v 1 one/a 2>/dev/null; then
	setfattr -n user.two -v 2 one/a
	t 'attributes excluded' 0 mksquashfs one x.img "$@" \
	    -xattrs-exclude '^user.o'
	is 'by name' "$(unsquashfs -pf - x.img | grep -ac 'a x user')" 1
	t 'or included' 0 mksquashfs one x.img "$@" -xattrs-include 'one$'
	is 'the same way' "$(unsquashfs -pf - x.img |
	    grep -ac 'a x user.one=1$')" 1
else
	skip 'attributes: none here'
fi

# Pseudo files
cat >pseudo <<'END'
# a line that \
  goes on
sub d 755 0 0
sub/file f 640 1 2 echo hello; echo world
sub/dated F 1600000007 640 1 2 seq 60000
sub/outside l elsewhere
sub/second L sub/file
sub/file x user.label=some text
a x security.selinux=0tsystem_u:object_r:bin_t:s0\000
END
echo outside >elsewhere
t 'pseudo files' 0 mksquashfs one p.img "$@" -pf pseudo
t 'with the output of a command' 0 sqfscat p.img sub/file
is 'which is all' "$(cat .t.out)" 'hello
world'
seq 60000 >want
t 'a larger one' 0 to got sqfscat p.img sub/dated
same 'complete' got want
t 'a file elsewhere' 0 sqfscat p.img sub/outside
is 'is read' "$(cat .t.out)" outside
t 'another name' 0 sqfscat p.img sub/second
is 'has the same data' "$(cat .t.out)" 'hello
world'
t 'they are written back' 0 to p.pf unsquashfs -pf - p.img
shows 'with attributes' '^sub/file x user.label=some text$' p.pf
shows 'in the format' '^# START OF DATA' p.pf
t 'and an image is made of that alone' 0 mksquashfs - q.img "$@" -pf p.pf \
    -mkfs-time 5
t 'from standard input as well' 0 sh -c \
    "mksquashfs - r.img $* -pf - -mkfs-time 5 <p.pf"
same 'the same' q.img r.img
t 'which has the same contents' 0 to q.pf unsquashfs -pf - q.img
same 'in all respects' p.pf q.pf
if [ -e /dev/full ]; then
	mkdir -p dirs/only
	t 'directories' 0 mksquashfs dirs dirs.img "$@"
	t 'are not written back to a full disk' 1 \
	    unsquashfs -pf /dev/full dirs.img
	shows 'with a reason' '/dev/full: No space left on device' .t.err
fi
t 'to a full device' 1 sh -c 'unsquashfs -pf - q.img >/dev/full'
is 'with one message' "$(grep -c 'No space left' .t.err)" 1
mkdir single
seq 90000 >single/file
mksquashfs single bad.img "$@" -noappend -comp gzip >out
printf '\377\377\377\377' | dd of=bad.img bs=1 seek=120 conv=notrunc 2>/dev/null
t 'a bad block' 1 sh -c 'unsquashfs -pf - bad.img >out'
is 'is reported once' "$(grep -c . .t.err)" 1
t 'to a file' 0 unsquashfs -pf q2.pf q.img
same 'it is written, too' q.pf q2.pf
t 'a name of two, the second' 0 to z.pf unsquashfs -pf - p.img sub/second
t 'has its data' 0 mksquashfs - z.img "$@" -pf z.pf
is 'which is complete' "$(sqfscat z.img sub/second)" 'hello
world'
t 'both names' 0 to z.pf unsquashfs -pf - p.img sub/second sub/file
is 'have it once' "$(grep -ac hello z.pf)$(grep -ac ' L ' z.pf)" 11
head -c 1000 p.pf >cut.pf
t 'a file that ends early' 1 mksquashfs - x.img "$@" -pf cut.pf
for bad in 'x f 644 0 0' 'x R 5 644 0 0 5 0 0' 'x h /no/such' 'x L none' \
    '/ f 644 0 0 true' '../x d 755 0 0' 'x x user.a=b' 'a x user.a' \
    'a x other.a=b' 'x "" 755 0 0'; do
	rm -f no.img
	t "pseudo: $bad" 1 mksquashfs one no.img "$@" -p "$bad"
	t 'there is no image' 1 test -e no.img
done
t 'no source, and none defined' 1 mksquashfs - no.img "$@"
shows 'is named' 'neither -tar nor a pseudo definition of /' .t.err
t 'the command that fails' 1 mksquashfs one no.img "$@" -p 'x f 644 0 0 exit 3'
shows 'is named' 'exit 3.*the command failed' .t.err

# sqfstar and sqfscat
tar -C one -cf one.tar .
rm s.img
t 'an archive' 0 sh -c 'sqfstar -comp xz -b 64K -no-progress s.img dir <one.tar'
t 'without what is excluded' 1 sqpack -l dir/b s.img
t 'and options with values' 0 unsquashfs -s s.img
shows 'that were understood' '^Block size 65536$'
shows 'it is not exportable' 'is not exportable'
t 'replaces an image' 0 sh -c \
    'sqfstar -quiet -no-progress -force s.img <one.tar'
t 'the same as -tar' 0 sh -c \
    "mksquashfs - t.img $* -tar -no-exports -mkfs-time 5 -root-time 6 <one.tar"
t 'indeed' 0 sh -c \
    'sqfstar -quiet -mkfs-time 5 -root-time 6 -no-progress -force s.img <one.tar'
same 'bytes' s.img t.img
t 'no image named' 1 sqfstar -comp xz
t 'the version' 0 sqfstar -version
shows 'of sqfstar' '^sqfstar version 4\.7\.5'
t 'files printed' 0 sqfscat s.img a dir/b
is 'one after another' "$(cat .t.out)" 'a
b'
t 'no file named' 1 sqfscat s.img
t 'a missing one' 2 sqfscat s.img none
t 'its version' 1 sqfscat -version

# unsquashfs
mksquashfs one u.img "$@" -e tail1 tail2 tail3
t 'excludes' 0 unsquashfs -l -excludes u.img dir/large a
is 'the rest' "$(tr '\n' ' ' <.t.out)" 'squashfs-root squashfs-root/dir '"\
squashfs-root/dir/b squashfs-root/link squashfs-root/lost "
for name in / // ''; do
	t "a name without letters, '$name'" 1 unsquashfs -q -n -d none u.img \
	    "$name"
	shows 'is refused' "expected a name in the image, found '$name'" .t.err
done
is 'and nothing is extracted' "$(test -e none && echo made)" ''
t 'a list of excludes' 0 unsquashfs -l -exclude-list a 'd*' \; u.img
is 'is a list' "$(grep -c / .t.out)" 2
t 'that does not end' 1 unsquashfs -l -exclude-list a u.img
printf 'dir\n' >list
t 'a file of them' 0 unsquashfs -l -excf list u.img
is 'leaves out all below' "$(grep -c dir .t.out)" 0
t 'levels' 0 unsquashfs -l -max-depth 1 u.img
is 'are counted' "$(grep -c dir/ .t.out)" 0
t 'links followed' 0 unsquashfs -q -n -follow-symlinks -d f u.img link
same 'to the file' f/dir/b one/dir/b
t 'and nothing else' 1 test -e f/a
t 'one that leads nowhere' 0 unsquashfs -q -n -L -d f2 u.img lost
t 'unless it must not' 2 unsquashfs -q -n -missing-symlinks -d f3 u.img lost
t 'a pattern that must match' 2 unsquashfs -l -match u.img 'x*'

# Limits
awk 'BEGIN { for (i = 0; i < 33000; i++)
	printf "f%d I 5 644 %d %d f\n", i, i + 5, i + 100000
	print "/ D 5 755 0 0" }' >owners
t 'too many owners' 1 mksquashfs - no.img "$@" -pf owners
shows 'are counted' '66001 different users and groups.*at most 65535' .t.err
t 'and no image is begun' 1 test -e no.img

# A root that only a definition describes is new, as other names of this type
t 'a root without a time' 0 env SOURCE_DATE_EPOCH=1700000000 mksquashfs - \
    root.img "$@" -p '/ d 711 3 4'
t 'a listing of it' 0 unsquashfs -lln -UTC root.img
shows 'has the time of the build' '^drwx--x--x 3/4 .* 2023-11-14 22:13 '
# Times and attributes of unsquashfs
mkdir -p times
echo a >times/a
touch -d @1600000001 times/a times
setfattr -n user.keep -v 1 times/a 2>/dev/null
setfattr -n user.drop -v 2 times/a 2>/dev/null
mksquashfs times t.img "$@"
t '-full-precision' 0 unsquashfs -UTC -full-precision -lln t.img
shows 'shows seconds' '2020-09-13 12:26:41 squashfs-root/a'
t '-all-time' 0 unsquashfs -UTC -all-time 5 -full -lln t.img
shows 'replaces times' '1970-01-01 00:00:05 squashfs-root/a'
t 'in pseudo definitions' 0 unsquashfs -all-time 5 -pf - t.img
shows 'as well' '^a R 5 '
t 'when extracting' 0 unsquashfs -q -n -all-time 5 -d extracted t.img
is 'a file' "$(stat -c %Y extracted/a extracted | tr '\n' ' ')" '5 5 '
t 'a wrong time' 1 unsquashfs -all-time nonsense -d no t.img
shows 'is named' 'expected seconds since 1970' .t.err
if getfattr -n user.keep times/a >/dev/null 2>&1; then
	t 'without some attributes' 0 unsquashfs -q -n \
	    -xattrs-exclude '^user.d' -d some t.img
	is 'the others remain' \
	    "$(getfattr --only-values -n user.keep some/a)" 1
	t 'these do not' 1 getfattr -n user.drop some/a
	t 'only some attributes' 0 unsquashfs -q -n \
	    -xattrs-include '^user.d' -d few t.img
	is 'they are there' "$(getfattr --only-values -n user.drop few/a)" 2
	t 'the others are not' 1 getfattr -n user.keep few/a
else
	skip 'no user attributes here'
fi
t 'a wrong expression' 1 unsquashfs -xattrs-include '(' -d no t.img
# -root-mode has no effect beside -force-dir-mode
mksquashfs one times r.img "$@" -root-mode 711 -force-dir-mode go-w
is 'the mode of the root' "$(unsquashfs -lln r.img | sed -n '/squashfs-root$/s/ .*//p')" \
    drwxr-xr-x
# What cannot be asked for, or not together.  An image that is there is kept.
echo kept >no.img
cp no.img kept.img
# wrong TEXT SOURCE... OPTION...: refused, with the text
wrong() {
	wrong_text=$1
	shift
	t "refused: $*" 1 mksquashfs "$@" <one.tar
	shows 'which says why' "$wrong_text" .t.err
	same 'the file is kept' no.img kept.img
}
for size in x 0 4K 256K 40K 5% 0% 101% %; do
	wrong 'expected 8K to the block' one no.img "$@" -comp xz \
	    -Xdict-size $size
done
for size in 8K 24K 50% 128K; do
	t "a dictionary of $size" 0 mksquashfs one x.img "$@" -comp xz \
	    -Xdict-size $size
done
for comp in lz4 xz; do
	wrong "-Xcompression-level cannot be used with $comp" one no.img "$@" \
	    -comp $comp -Xcompression-level 1
done
for level in 0 13; do
	wrong 'compression-level' one no.img "$@" -comp gzip \
	    -Xcompression-level $level
done
for comp in none lz4hc nosuch; do
	wrong 'expected gzip, lz4, lzo, xz or zstd' one no.img "$@" -comp $comp
done
wrong '-Xhc is for lz4' one no.img "$@" -comp zstd -Xhc
wrong 'is for xz' one no.img "$@" -comp zstd -Xdict-size 8K
for o in -mkfs-time -all-time -root-time; do
	wrong 'either a time or inode' one no.img "$@" $o 5 $o inode
done
for o in '-xattrs-add user.a=b' '-xattrs-include a' '-xattrs-exclude a'; do
	# shellcheck disable=SC2086 # two words
	wrong '-no-xattrs cannot be combined' one no.img "$@" -no-xattrs $o
done
wrong 'requires the source -' one no.img "$@" -tar
wrong 'requires the source -' - one no.img "$@" -tar
wrong 'requires the source -' one no.img "$@" -cpiostyle
wrong 'requires the source -' - one no.img "$@" -cpiostyle
wrong 'wildcards must be specified' - no.img "$@" -tar -e dir
for o in -wildcards -regex; do
	t "an archive without some names, $o" 0 sh -c \
	    "mksquashfs - x.img $* -tar $o -e dir <one.tar"
	is 'has the others' "$(sqpack -l x.img 2>&1 | grep -c dir)$(sqpack -l \
	    x.img | grep -c '^a *$')" 01
done
: >order
wrong '-sort cannot be used' - no.img "$@" -tar -sort order
wrong 'actions together' - no.img "$@" -tar -action 'exclude@name(a)'
mkdir again
cp one/a again
echo 'a 5' >order
wrong 'a is in more than one source' one again no.img "$@" -sort order
for line in 'a x' 'a 32768' 'a'; do
	echo "$line" >order
	wrong 'expected a priority' one no.img "$@" -sort order
done
wrong 'nothing: No such file' one no.img "$@" -sort nothing
wrong 'nothing: No such file' one no.img "$@" -ef nothing
echo 'b 5' >order
t 'a file to sort that is not there' 0 mksquashfs one x.img "$@" -sort order
shows 'is named' 'b: no such file in the sources' .t.err
wrong 'no.img: ' one no.img -quiet -no-progress
wrong 'an archive cannot be appended' - no.img -quiet -no-progress -tar
done_testing
