#!/bin/sh
# Other projects' readers find in our images what was packed, and we find in
# their fixtures what unsquashfs does.
# SPDX-License-Identifier: BSD-2-Clause
#
# Readers that are not installed are left out.  go-diskfs is built here with go;
# $COLDPRESS_PYTHON names a Python that has dissect.squashfs, and
# $COLDPRESS_FIXTURES more directories with images.
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
for tool in unsquashfs getfattr setfattr sha256sum; do
	have $tool || skip_all "no $tool"
done
python=${COLDPRESS_PYTHON:-python3}
tables=$SRC/tests/interop

# Our images: fragments, holes, twins, hard links, devices, attributes, and
# a directory with an index
mkdir -p tree/a/b/deep tree/many tree/empty
seq 60000 >tree/a/large
seq 500 >tree/a/small
cp tree/a/large tree/a/b/twin
head -c 300000 /dev/urandom >tree/a/random
truncate -s 2M tree/a/hole
printf x | dd of=tree/a/hole bs=1 seek=1500000 conv=notrunc 2>/dev/null
: >tree/a/nothing
head -c 131072 tree/a/large >tree/a/block
ln tree/a/large tree/a/b/hard
ln -s ../small tree/a/b/soft
i=0
while [ $i -lt 300 ]; do
	echo $i >"tree/many/a file with a long name, number $i"
	i=$((i + 1))
done
find tree/a/b tree/empty -exec touch -h -d @1500000000 {} +
cp -a tree plain	# what readers without devices are given
cp -a tree simple	# what one that is slow, and one without holes, are
rm -r simple/many simple/a/hole
mknod tree/a/block.dev b 8 300
mknod tree/a/char.dev c 4 70
mkfifo tree/a/fifo
chown -R 3:4 tree/a/b
chown -h 70000:80000 tree/a/b/soft
chmod 4711 tree/a/small
chmod 1777 tree/a/b/deep
setfattr -n user.a -v b tree/a/small
setfattr -n trusted.long -v "$(seq 400 | tr '\n' ' ')" tree/a/b
setfattr -n trusted.long -v "$(seq 400 | tr '\n' ' ')" tree/empty

# facts DIR: prints all names with their attributes and digests
facts() {
	(cd "$1" && find . -mindepth 1 -printf '%y %m %U %G %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = "" } { sub(/[.].*/, "", $6); print }' | sort
	find . -type f ! -links 1 -printf 'names %n %P\n' | sort
	find . -type f -exec sha256sum {} + | sort
	find . -type b -exec stat -c '%n %t %T' {} + -o \
	    -type c -exec stat -c '%n %t %T' {} + | sort
	getfattr -Rhd -m - -e hex . 2>/dev/null |
	    awk '/^# file:/ { name = $0; next } NF { print name, $0 }' | sort)
}

# words DIR: prints names, digests and targets, as interop's readers do
words() {
	(cd "$1" && find . -mindepth 1 -type d -printf 'd %P\n' -o \
	    -type l -printf 'l %P %l\n'
	find . -type f -exec sha256sum {} + |
	    sed 's/^\([0-9a-f]*\)  \.\/\(.*\)/f \2 \1/') | sort
}
facts tree >tree.facts
# rdsquashfs and squashfuse show no hard links, and squashfuse 0.1.105 gives
# values that are shared another prefix
grep -v '^names' tree.facts >tree.single
grep -v '^names\|[.]long=' tree.facts >tree.short
words plain >plain.words
words simple >simple.words

# a reader's function reads image $1 and leaves its answer in got
reader_rdsquashfs() {
	rdsquashfs -q -XTCO -u / -p out "$1" &&
	    facts out | grep -v '^names' >got
}
reader_squashfuse() {
	mkdir -p mnt && squashfuse "$1" mnt || return
	facts mnt | grep -v '^names\|[.]long=' >got
	umount mnt
}
reader_sqfs2tar() {
	mkdir out && sqfs2tar -r . "$1" | tar -C out -xp --xattrs \
	    --xattrs-include='*' --numeric-owner -f - && facts out >got
}
reader_unsquashfs() { unsquashfs -q -n -d out "$1" && facts out >got; }
reader_backhand() { unsquashfs-backhand --quiet -d out "$1" && words out >got; }
reader_godiskfs() { ./godiskfs "$1" | sort >got; }
reader_dissect() { "$python" "$tables/squashfs/list_dissect.py" "$1" | sort >got; }
reader_pysquashfs() {
	"$python" -m PySquashfsImage extract -f -d out "$1" >/dev/null &&
	    words out/squashfs-root >got
}
reader_goun() { go-unsquashfs -ip "$1" out && words out >got; }

# readers: prints reader, the tree to pack, and what is compared
readers() {
	have rdsquashfs && echo rdsquashfs tree single
	have sqfs2tar && echo sqfs2tar tree facts
	have squashfuse && [ -e /dev/fuse ] && echo squashfuse tree short
	echo unsquashfs tree facts
	have unsquashfs-backhand && echo backhand plain words
	have go-unsquashfs && echo goun simple words
	[ -x godiskfs ] && echo godiskfs plain words
	"$python" -c 'import dissect.squashfs' 2>/dev/null &&
	    echo dissect simple words
	"$python" -c 'import PySquashfsImage' 2>/dev/null &&
	    echo pysquashfs plain words
}
if have go; then
	cp -r "$tables/squashfs" source
	(cd source && go mod download && go build -o ../godiskfs .) 2>err ||
	    skip "go-diskfs is not built: $(head -n 1 err)"
fi
for name in unsquashfs-backhand go-unsquashfs squashfuse rdsquashfs; do
	have $name || skip "no $name"
done

# reads READER WANT IMAGE: whether the reader finds what is in the file WANT
reads() {
	chmod -R u+rwx out 2>/dev/null
	rm -rf out got
	"reader_$1" "$3" >reader.out 2>reader.err && cmp -s got "$2"
}

# made NAME: all readers read the images with these options
made() {
	readers >list
	while read -r who from what; do
		if reads "$who" "$from.$what" "$from.img"; then
			ok "$1: $who"
			continue
		fi
		# does it fail with mksquashfs's image in the same way?
		mv got got.ours 2>/dev/null || : >got.ours
		mv reader.err ours.err
		if [ -s "$from.ref" ] &&
		    ! reads "$who" "$from.$what" "$from.ref" &&
		    { [ -s got ] || : >got; } && cmp -s got got.ours; then
			skip "$1: $who fails with mksquashfs's image, too"
			continue
		fi
		not_ok "$1: $who"
		sed -n '1,3s/^/# /p' ours.err
		diff got.ours "$from.$what" 2>&1 | sed -n '1,6s/^/# /p'
	done <list
}

while IFS='|' read -r ours theirs; do
	for from in tree plain simple; do
		rm -f $from.img $from.ref
		# shellcheck disable=SC2086
		sqpack -q $ours -o $from.img $from 2>err || continue
		# shellcheck disable=SC2086
		mksquashfs $from $from.ref -quiet -no-progress $theirs \
		    >/dev/null 2>&1 || :
	done
	if [ -s plain.img ]; then
		made "$ours"
	else
		skip "$ours: $(cat err)"
	fi
done <<'END'
-F gzip|-comp gzip
-F zstd -L 1|-comp zstd
-F xz|-comp xz
-F lzo|-comp lzo
-F lz4|-comp lz4
-F lz4hc|-comp lz4 -Xhc
-F none|-noI -noD -noF -noX
-F gzip -b 4K|-comp gzip -b 4K
-F zstd -b 1M|-comp zstd -b 1M
-F xz --bcj x86|-comp xz -Xbcj x86
-F gzip --no-fragments|-comp gzip -no-fragments
-F gzip --no-duplicates --no-export|-comp gzip -no-duplicates -no-exports
-F gzip --no-pad|-comp gzip -nopad
-F zstd --raw data,fragments|-comp zstd -noD -noF
-F lzo --raw inodes,xattrs|-comp lzo -noI -noId -noX
END

# Their fixtures
mkdir fixtures
if [ -d source ]; then
	sample=$(cd source &&
	    go list -m -f '{{.Dir}}' github.com/diskfs/go-diskfs)
	cp "$sample"/filesystem/squashfs/testdata/*.sqs fixtures/ 2>/dev/null
fi
# dissect's are in the archive of its source
"$python" -m pip -q download --no-deps --no-binary :all: -d sdist \
    dissect.squashfs >/dev/null 2>&1
for file in sdist/*.tar.gz; do
	[ -e "$file" ] && tar -xzf "$file" -C fixtures --wildcards \
	    --strip-components=3 '*/tests/_data/*'
done
for dir in ${COLDPRESS_FIXTURES:-}; do
	cp "$dir"/*.sq* fixtures/
done
for file in fixtures/*; do
	[ -e "$file" ] || {
		skip 'no fixtures'
		break
	}
	rm -rf theirs ours
	name=${file#fixtures/}
	if ! unsquashfs -q -n -d theirs "$file" >/dev/null 2>&1; then
		t "$name: rejected, as by unsquashfs" 1 sqpack -q -x ours "$file"
		t "$name: coldwalk" 1 coldwalk "$file"
		continue
	fi
	t "$name" 0 sqpack -q -x ours "$file"
	facts theirs >theirs.facts
	facts ours >ours.facts
	same "$name: as by unsquashfs" ours.facts theirs.facts
	t "$name: coldwalk" 0 coldwalk "$file"
done
done_testing
