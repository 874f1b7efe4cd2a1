#!/bin/sh
# The tar reader finds the same tree in archives from GNU tar and bsdtar.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
list=$BIN/tests/tar_list

mkdir -p tree/sub
seq 20000 >tree/file
: >tree/empty
head -c 512 /dev/urandom >tree/block
ln tree/file tree/zz-hard
ln -s sub/somewhere tree/soft
mkfifo tree/fifo
printf x >'tree/odd "name" =1'
truncate -s 3000000 tree/sparse
printf middle | dd of=tree/sparse bs=1 seek=1500000 conv=notrunc 2>/dev/null
printf end | dd of=tree/sparse bs=1 seek=2999997 conv=notrunc 2>/dev/null
truncate -s 500000 tree/hole
# many extents: more than fit in an old GNU header and the block after it
i=0
while [ $i -lt 60 ]; do
	printf '%04d' $i |
	    dd of=tree/comb bs=65536 seek=$((2 * i)) 2>/dev/null conv=notrunc
	i=$((i + 1))
done
chmod 4711 tree/block
touch -d '1969-07-20 20:17:40.25 UTC' tree/empty
touch -d '2033-05-18 03:33:20.5 UTC' tree/file
cp -a tree short
long=$(printf 'd%.0s' $(seq 90))
mkdir -p "tree/$long/$long/$long"
echo deep >"tree/$long/$long/$long/$long"
ln -s "$long/$long/$long/$long" tree/far
find tree short -exec touch -h -d '2001-09-09 01:46:40 UTC' {} + 2>/dev/null
touch -d '2033-05-18 03:33:20 UTC' tree/file short/file

# crc FILE: prints its CRC-32, taken from a gzip trailer
crc() {
	gzip -c1 <"$1" | tail -c 8 | od -An -tx1 |
	    awk '{ print $4 $3 $2 $1 }'
}

# Prints the files on disk, in tar_list's format, in GNU tar's name order
truth() {
	tar -cf - --sort=name "$1" | tar -tf - | while IFS= read -r path; do
		path=${path%/}
		set -- "$(stat -c '%F' "$path")" \
		    "$(stat -c '%a %u %g %s %Y' "$path")"
		case $1 in
		*file)
			case $path in
			*/zz-hard) printf 'h %s 0 %s\n' "$path" \
			    "${path%/*}/file" ;;
			*) printf 'f %s %s %s\n' "$2" "$path" \
			    "$(crc "$path")" ;;
			esac ;;
		directory) printf 'd %s %s\n' "$2" "$path" ;;
		symbolic*) printf 'l %s %s %s\n' "$2" "$path" \
		    "$(readlink "$path")" ;;
		fifo) printf 'p %s %s\n' "$2" "$path" ;;
		esac
	done
}

# plain: prints tar_list's lines in the format that truth uses; directory sizes
# depend on the filesystem, and link sizes are the length of the target
plain() {
	sed -e 's,/ *$,,' -e 's/ *$//' -e 's/^\(.\) 0*\([0-7]\)/\1 \2/' |
	    awk '
	{ type = $1 }
	type == "h" { print type, $7, $8; next }
	type == "f" { print; next }
	{ $5 = ""; $2 = type == "l" ? "" : $2; print }' |
	    sed 's/  */ /g'
}
truth_plain() {
	truth "$1" | awk '
	$1 == "h" { print $1, $2, $4; next }
	$1 == "f" { print; next }
	{ $5 = ""; $2 = $1 == "l" ? "" : $2; print }' | sed 's/  */ /g'
}

# holds NAME TREE ARCHIVE: checks that the archive contains the tree
holds() {
	t "$1: read" 0 "$list" -r copy <"$3"
	plain <.t.out >got
	same "$1: entries" got "want.$2"
	same "$1: raw bytes" copy "$3"
}

truth_plain short >want.short
truth_plain tree >want.tree
t 'there is something to compare' 0 test "$(wc -l <want.tree)" -gt 14

tar -cf v7.tar --format=v7 --sort=name --exclude='*fifo' short 2>/dev/null
grep -v '^p ' want.short >want.v7
holds v7 v7 v7.tar
tar -cf a.tar --format=ustar --sort=name short
holds ustar short a.tar
for format in gnu oldgnu posix; do
	tar -cf a.tar --format=$format --sort=name tree
	holds $format tree a.tar
	tar -cf a.tar --format=$format --sort=name -S tree
	holds "$format, sparse" tree a.tar
done
for version in 0.0 0.1 1.0; do
	tar -cf a.tar --format=posix --sort=name --sparse-version=$version \
	    -S tree
	holds "pax sparse $version" tree a.tar
done

# attr NAME ARCHIVE: checks that the attribute exists with its value
if have setfattr && setfattr -n user.color -v 'dark red' tree/file \
    2>/dev/null; then
	tar -cf a.tar --format=posix --xattrs tree/file
	t 'extended attributes' 0 "$list" <a.tar
	shows 'an attribute by name and value' ' user.color=dark red$'
	setfattr -x user.color tree/file
else
	skip 'extended attributes: none can be set here'
fi
tar -cf a.tar --format=posix --pax-option='globexthdr.name=g,uname=one' \
    tree/empty
t 'global records' 0 "$list" <a.tar
tar -cf a.tar --format=gnu --owner=x:3000000000 --mtime=@-86400 tree/empty
t 'base-256 numbers' 0 "$list" <a.tar
shows 'a large uid, a time before 1970' '^f [0-7]* 3000000000 .* -86400 '
tar -cf a.tar --label=volume --format=gnu tree/block
t 'a volume label' 0 "$list" <a.tar
is 'is not an entry' "$(wc -l <.t.out)" 1
if have bsdtar; then
	bsdtar -cf a.tar --format pax tree
	t 'pax of bsdtar' 0 "$list" <a.tar
	plain <.t.out | grep -v '/zz-hard\|/file ' | sort >got
	grep -v '/zz-hard\|/file ' want.tree | sort >want
	same 'pax of bsdtar: entries' got want
fi

# Files that are not archives, or only the beginning of one
tar -cf a.tar --format=posix -S tree
size=$(stat -c %s a.tar)
for cut in 1 511 513 1100 1600 $((size / 2)) $((size / 3)); do
	head -c $cut a.tar >cut.tar
	t "cut after $cut bytes" 1 "$list" <cut.tar
	shows "cut after $cut bytes: a message" 'archive' .t.err
done
t 'empty input is an empty archive' 0 "$list" </dev/null
t 'text is not an archive' 1 "$list" <tree/file
shows 'text: not a tar archive' 'not a tar archive' .t.err
done_testing
