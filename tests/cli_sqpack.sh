#!/bin/sh
# sqpack's images contain the tree, with every method and for every reader.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"

have unsquashfs || skip_all 'unsquashfs is not installed'

nasty_tree

# facts DIR: prints everything about a tree that an image preserves; times
# before 1970 become 0
facts() {
	(cd "$1" && find . -printf '%y %m %U %G %n %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = $6 = "" }
	    { sub(/[.].*/, "", $7); if ($7 < 0) $7 = 0; print }' | sort
	find . -type f -exec sha256sum {} + | sort)
}
facts tree >want

# holds NAME IMAGE: checks that unsquashfs extracts the original tree from it
holds() {
	rm -rf got
	t "$1: unsquashfs" 0 unsquashfs -q -n -d got "$2"
	facts got >got.facts
	same "$1: the same tree" got.facts want
}

for o in '-F zstd -L 1' '-F gzip' '-F gzip -L 12' '-F lz4' '-F lz4hc' \
    '-F xz' '-F lzo' '-F none' '-F zstd -b 4K' '-F gzip -b 1M' \
    '-F zstd -L 2 --no-fragments --no-duplicates' \
    '-F zstd -L 2 --raw data,inodes' '-F gzip --raw fragments,xattrs' \
    '-F zstd --no-export --no-pad --no-probe'; do
	case $o in
	*lzo*)
		sqpack -F lzo --dry-run tree/mode 2>/dev/null || continue ;;
	esac
	# shellcheck disable=SC2086
	t "sqpack $o" 0 sqpack -f $o -o image tree
	holds "sqpack $o" image
	# shellcheck disable=SC2086
	sqpack -f -p1 $o -o image.1 tree
	same "sqpack $o: also with one thread" image.1 image
done

# An archive sorted by name gives the same image as the directory
sqpack -F zstd -L 1 -o dir.image tree
for format in gnu posix; do
	(cd tree && tar --format=$format -S --sort=name -cf - .) >a.tar
	t "$format archive" 0 sqpack -f -F zstd -L 1 -o tar.image a.tar
	case $format in
	posix) same 'pax archive and directory' tar.image dir.image ;;
	*) holds 'GNU archive' tar.image ;;
	esac
	for tool in gzip bzip2 xz zstd; do
		have $tool || continue
		$tool -c <a.tar >a.tar.z
		t "$format archive by $tool" 0 \
		    sqpack -f -F zstd -L 1 -p3 -o z.image a.tar.z
		same "$format archive by $tool: the same" z.image tar.image
	done
done
(cd tree && tar -cf - a/random a/large many empty a/b/tail . 2>/dev/null) |
    told sqpack -f -F zstd -L 1 -o order.image -
is 'an archive in another order' $? 0
holds 'an archive in another order' order.image

# An empty directory
mkdir nothing
t 'an empty directory' 0 sqpack -f -F gzip -o image nothing
t 'an empty directory: listed' 0 sqpack -l image
t 'an empty directory: extracted' 0 sqpack -x got.nothing image
t 'an empty directory: unsquashfs' 0 unsquashfs -q -n -d got.too image

# Existing files are not changed, and no files remain after an error
echo precious >there
t 'an image is not replaced' 1 sqpack -o there tree
is 'existing files are kept' "$(cat there)" precious
t 'unless -f is given' 0 sqpack -f -F lz4 -o there tree
# a0 could begin an .lzma file with a dictionary of 48 bytes
echo hi >a0
tar -cf name.tar a0
t 'an archive whose first name is a0' 0 sqpack -q -o name.image name.tar
is 'has it' "$(sqpack --cat a0 name.image)" hi
head -c 70000 a.tar >cut.tar
t 'a truncated archive' 1 sqpack -o cut.image cut.tar
shows 'is reported' 'the archive ends' .t.err
t 'no image is created' 1 test -e cut.image
t 'an empty file is not an archive' 1 sqpack -o cut.image - </dev/null
shows 'is said to be empty' 'the archive is empty: ' .t.err
seq 100 >end
tar --format=ustar -cf end.tar end
head -c $((512 + 292)) end.tar >cut.tar
t 'an archive without its last padding' 0 sqpack -o end.image cut.tar
shows 'is pointed out' '^sqpack: cut.tar: the archive ends within the padding' \
    .t.err
is 'its data is complete' "$(sqpack -x got.end end.image &&
    cmp end got.end/end && echo same)" same
head -c $((512 + 291)) end.tar >cut.tar
t 'without a byte of data' 1 sqpack -o cut.image cut.tar
t 'text is not an archive' 1 sqpack -o cut.image tree/a/large
shows 'is also reported' 'not a tar archive' .t.err
t 'nor does a missing directory' 1 sqpack -o cut.image nowhere
if [ "$(id -u)" != 0 ]; then
	chmod 0 tree/a/less
	t 'a file that cannot be read' 1 sqpack -o cut.image tree
	chmod 644 tree/a/less
fi
t 'no image is created' 1 test -e cut.image
head -c 100000 a.tar | gzip | head -c 20000 >cut.tar.gz
t 'a truncated compressed archive' 1 sqpack -o cut.image cut.tar.gz
t 'and no image' 1 test -e cut.image

mkfifo pipe.out; cat pipe.out >/dev/null &
t 'an image cannot go to a pipe' 1 sqpack -f -o pipe.out tree
shows 'the amount needed is reported' 'needs a file or a block device' .t.err
t 'nor to standard output' 1 sqpack -o - tree

# Owners, times, exclusions
t "everything is root's" 0 sqpack -f --all-root --mtime 7 -F lz4 -o image tree
unsquashfs -lln image | awk '/^[-dlp]/ { print $2 }' | sort -u >owners
is 'all owners' "$(cat owners)" 0/0
TZ=UTC unsquashfs -lln image >long
is 'all times' "$(grep -c '1970-01-01 00:00 ' long)" "$(wc -l <long)"
SOURCE_DATE_EPOCH=1000000000 sqpack -f -F lz4 -o epoch.1 tree
touch tree/empty
SOURCE_DATE_EPOCH=1000000000 sqpack -f -F lz4 -o epoch.2 tree
same 'SOURCE_DATE_EPOCH' epoch.1 epoch.2
t 'an invalid SOURCE_DATE_EPOCH' 1 \
    env SOURCE_DATE_EPOCH=soon sqpack -f -o image tree
sqpack -f -F lz4 --exclude many --exclude 'a/b/*' --exclude '*-too' \
    -o image tree
unsquashfs -l image >names
for gone in many/7 a/b/tail a/b/c/twin a/random-too; do
	t "left out: $gone" 1 grep -qx "squashfs-root/$gone" names
done
t 'not left out: a/random' 0 grep -qx squashfs-root/a/random names

if have setfattr && setfattr -n user.color -v red tree/a/large 2>/dev/null
then
	setfattr -n user.color -v red tree/mode
	setfattr -n user.shape -v "$(seq 300 | tr '\n' ' ')" tree/a/exact
	sqpack -f -F zstd -L 1 -o image tree
	rm -rf got
	t 'attributes: unsquashfs' 0 unsquashfs -q -n -xattrs -d got image
	for f in a/large mode a/exact; do
		is "attributes of $f" \
		    "$(getfattr -d "got/$f" | grep -v '^#')" \
		    "$(getfattr -d "tree/$f" | grep -v '^#')"
	done
	(cd tree && tar --format=posix --xattrs --sort=name -cf - .) |
	    sqpack -f -F zstd -L 1 -o tar.image -
	same 'attributes of an archive' tar.image image
	sqpack -f -F zstd -L 1 --no-xattrs -o image tree
	rm -rf got
	unsquashfs -q -n -xattrs -d got image
	is 'no attributes' "$(getfattr -d got/mode)" ''
else
	skip 'extended attributes: none can be set here'
fi

# Statistics, as JSON
t 'statistics' 0 sqpack -f --stats=stats -F lz4 -o image tree
is 'the size of the image' "$(sed 's/.*"image_B":\([0-9]*\).*/\1/' stats)" \
    "$(stat -c %s image)"
for column in units raw_units duplicates fragments data_s read_busy_s \
    read_stalled_s hash_busy_s compress_busy_s compress_stalled_s write_busy_s \
    write_stalled_s utilisation_pct maxrss_KiB; do
	t "statistics: $column" 0 grep -Eq "\"$column\":[0-9]+" stats
done
shows 'statistics: versions' '"versions":"sqpack .*,zstd [0-9]' stats
# shellcheck disable=SC2016
t 'stages are busy or stalled while data is compressed' 0 awk -F '[,:]' '{
	for (i = 1; i < NF; i++) {
		gsub(/"/, "", $i)
		at[$i] = $(i + 1)
	}
	off = at["read_busy_s"] + at["read_stalled_s"] + at["hash_busy_s"] - at["data_s"]
	off2 = at["write_busy_s"] + at["write_stalled_s"] - at["data_s"]
	exit off * off > 1e-5 || off2 * off2 > 1e-5 || !(at["data_s"] > 0)
}' stats
t 'without writing an image' 0 sqpack --dry-run --stats=dry -F lz4 tree
is 'the same size' "$(sed 's/.*"image_B":\([0-9]*\).*/\1/' dry)" \
    "$(stat -c %s image)"

# Invalid command lines
for o in '-F zip' '-F xz -L 3' '-F zstd -L 23' '-b 3000' '-b 2M' '--raw all' \
    '--uid -1' '--uid 4294967296'; do
	# shellcheck disable=SC2086
	t "refused: $o" 1 sqpack -f $o -o cut.image tree
done
t 'no source' 1 sqpack -o image
t 'no image' 1 sqpack tree
t 'no image is created from these' 1 test -e cut.image
# What cannot be asked for together.  The image that is there is kept.
cp there kept
# wrong TEXT ARGUMENT...: refused, with the text
wrong() {
	wrong_text=$1
	shift
	t "refused: sqpack $*" 1 sqpack -f "$@"
	shows 'which says why' "$wrong_text" .t.err
	same 'the image is kept' there kept
}
wrong 'expected one directory or archive, found 2' -o there tree nothing
wrong 'expected a directory or an archive' -o there
wrong 'no output image given' tree
wrong '-L and --best cannot be combined' -L 3 --best -o there tree
for method in gzip:13 lzo:10; do
	wrong "${method%:*} level ${method#*:} is not in" -F ${method%:*} \
	    -L ${method#*:} -o there tree
done
for method in lz4 lz4hc xz none; do
	wrong "$method has no levels" -F $method -L 1 -o there tree
	[ $method = xz ] || wrong "cannot be used with $method" -F $method \
	    --bcj x86 -o there tree
done
for o in --dry-run --no-pad; do
	wrong 'cannot be combined' --verity $o -o there tree
done
wrong 'need each other' --verity --verity-key key -o there tree
wrong 'need each other' --verity --verity-cert cert -o there tree
wrong 'need each other' --verity-key key --verity-cert cert -o there tree
wrong 'labels: ' --selinux labels -o there tree
: >labels
wrong 'cannot be combined' --selinux labels --no-xattrs -o there tree
wrong 'cannot be combined' --base image --like mksquashfs -o there tree
wrong 'requires a directory' --like mksquashfs -o there a.tar
wrong 'not supported by mksquashfs' --like mksquashfs -F gzip -L 10 -o there \
    tree
t 'the best' 0 sqpack -f --best -F gzip -o like.img nothing
t 'the highest level that it has' 0 \
    sqpack -f --like mksquashfs -F gzip -L 9 -o like.img nothing
wrong 'expected an image' -l
wrong 'expected one image, found 2' --cat a image image
wrong '-o can only be used to build' -l -o there image
for o in "-o there" --dry-run; do
	# shellcheck disable=SC2086 # two words
	wrong 'nowhere: No such file' $o nowhere
done
t 'no directory for temporary files' 1 \
    env TMPDIR="$PWD/nowhere" sqpack --dry-run tree
is 'is one error' "$(sed "s|$PWD/||" .t.err)" \
    'sqpack: nowhere: No such file or directory'
done_testing
