#!/bin/sh
# layerpack reads repositories in CVMFS format: repositories that it wrote, and
# modified ones, in which it must detect every change.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"
# shellcheck source=tests/cas.sh
. "$SRC/tests/cas.sh"

layerpack -h | grep -q -e '-F cas' || skip_all 'layerpack without SQLite'
have sqlite3 || skip_all 'no sqlite3'
have openssl || skip_all 'no openssl'

# make REPOSITORY OPTION... ARCHIVE...
make() {
	make_to=$1
	shift
	layerpack -q -F cas --name a.test --key key.pem -o "$make_to" "$@" >said
}

# seen DIR: prints names, attributes and contents; a file with names in several
# directories counts as several files
seen() {
	(cd "$1" && find . ! -type d -printf '%P %y %m %U %G %s %T@ %l\n' |
	    sort
	find . -type d -printf '%P %m %T@\n' | sort
	find . -type f -exec sha256sum {} + | sort
	getfattr -dhR . 2>/dev/null || :) |
	    sed 's/\(\.[0-9]\{9\}\)0*/\1/'
}

# round NAME ARCHIVE OPTION...: checks that layerpack extracts the same files as
# tar
round() {
	round_name=$1 round_tar=$2
	shift 2
	rm -rf repo got want
	mkdir want
	tar --xattrs --xattrs-include='*' -xpf "$round_tar" -C want 2>/dev/null
	t "$round_name: a repository" 0 make repo "$@" "$round_tar"
	t "$round_name: is extracted" 0 layerpack -q -x got repo
	seen want >want.seen
	seen got >got.seen
	same "$round_name: as it was" got.seen want.seen
	t "$round_name: and is good" 0 layerpack --verify --key pub.pem repo
}

openssl genrsa -out key.pem 2048 2>/dev/null
openssl rsa -in key.pem -pubout -out pub.pem 2>/dev/null
openssl genrsa 2048 2>/dev/null | openssl rsa -pubout -out other.pem 2>/dev/null

nasty_tree
mkdir tree/hl
echo one >tree/hl/one
ln tree/hl/one tree/hl/two
ln tree/hl/one tree/hl/three
echo else >tree/hl/else
ln tree/hl/else tree/hl/four
setfattr -n user.key -v value tree/hl/one 2>/dev/null || :
setfattr -n user.empty tree/a/b 2>/dev/null || :
if [ "$(id -u)" = 0 ]; then
	mknod tree/null c 1 3
	mknod tree/loop b 7 300
	chown -h 1234:70000 tree/a/soft tree/hl/one
fi
(cd tree && tar --sort=name --xattrs --xattrs-include='*' --format=pax \
    -cf ../pax.tar . && tar --sort=name --format=gnu -Scf ../gnu.tar .)
round pax pax.tar -c 64K
round 'nested catalogs' pax.tar -c 1M --catalog 20
round 'gnu, sparse' gnu.tar -c 4K
is 'hard links in a directory' "$(stat -c %h got/hl/one got/hl/two \
    got/hl/four | tr '\n' ' ')" '3 3 2 '
is 'one file' "$(stat -c %i got/hl/one)" "$(stat -c %i got/hl/three)"
t 'a listing' 0 layerpack -t repo
is 'has no marks' "$(grep -c cvmfs .t.out)" 0

if have python3; then
	python3 - <<'END'
import tarfile
t = tarfile.open('many.tar', 'w', format=tarfile.PAX_FORMAT)
for d in range(100):
    i = tarfile.TarInfo('d%d' % d)
    i.type, i.mode = tarfile.DIRTYPE, 0o755
    t.addfile(i)
    for f in range(300 if d else 20000):
        i = tarfile.TarInfo('d%d/\udcff%d' % (d, f))
        i.mtime = f
        t.addfile(i)
t.close()
END
	t '50,000 entries' 0 make many.repo many.tar
	is 'several catalogs' "$(($(sed -n 's/^catalogs //p' said) > 1))" 1
	t 'are listed' 0 layerpack -t --csv many.repo
	is 'all' "$(wc -l <.t.out)" "$((1 + 1 + 100 + 99 * 300 + 20000))"
else
	skip 'no python3'
fi

# keys
sum=$(openssl pkey -pubin -in pub.pem -outform DER | sha256sum)
t 'the digest of the key' 0 layerpack -t --key "sha256:${sum%% *}" repo
t 'another key' 1 layerpack -t --key other.pem repo
shows 'is refused' 'not signed by the expected key' .t.err
t 'no key' 1 layerpack -t --key pax.tar repo
t 'no repository' 1 layerpack -t --key pub.pem got

# layers
mkdir -p low/gone low/opaque/sub low/kept high/opaque high/replaced
echo gone >low/gone/file
echo opaque >low/opaque/sub/file
echo kept >low/kept/file
ln low/kept/file low/kept/link
echo replaced >low/replaced
: >high/.wh.gone
: >high/opaque/.wh..wh..opq
echo new >high/opaque/new
echo in >high/replaced/in
for i in low high; do
	(cd $i && tar --sort=name --format=gnu -cf ../$i.tar .)
done
t 'two layers' 0 make two low.tar high.tar
layerpack -q -x merged two
is 'are one tree' "$(cd merged && find . -type f | sort | tr '\n' ' ')" \
    './kept/file ./kept/link ./opaque/new ./replaced/in '

# damage is detected
damaged() {
	layerpack -q --verify --key pub.pem bad 2>err && echo "$1: good"
	rm -rf bad.out
	layerpack -q -x bad.out bad 2>>err && echo "$1: extracted"
	grep -q . err || echo "$1: no message"
	# extracted files are complete and unchanged
	[ ! -d bad.out ] || (cd bad.out && find . -type f -size +0) |
	    while IFS= read -r file; do
		cmp -s "bad.out/$file" "merged/$file" || echo "$1: $file"
	done
}
# flip FILE OFFSET
flip() {
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059
	printf "\\$(printf %o $((byte ^ 64)))" |
	    dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# only CVMFS's client reads the others
(cd two && find . -type f -size +0 ! -name .cvmfswhitelist \
    ! -name .cvmfs_master_replica) >objects
cp -r two bad
while IFS= read -r file; do
	case $file in */e8/ec3d88b62ebf526e4e5a4ff6162a3aa48a6b78) continue ;;
	esac
	size=$(stat -c %s "two/$file")
	for how in first middle last cut gone; do
		case $how in
		first) flip "bad/$file" 0 ;;
		middle) flip "bad/$file" $((size / 2)) ;;
		last) flip "bad/$file" $((size - 1)) ;;
		cut)
			# what is missing is read as zeros
			[ "$(tail -c 1 "two/$file" | od -An -tu1)" -ne 0 ] ||
			    continue
			truncate -s -1 "bad/$file"
			;;
		gone) rm "bad/$file" ;;
		esac
		damaged "$file $how"
		cp "two/$file" "bad/$file"
	done
done <objects >wrong 2>&1
is 'all damage to objects is detected' "$(cat wrong)" ''
at=0
while [ $at -lt "$(stat -c %s two/.cvmfspublished)" ]; do
	cp two/.cvmfspublished bad/.cvmfspublished
	flip bad/.cvmfspublished $at
	layerpack -t --key pub.pem bad >/dev/null 2>&1 && echo $at
	at=$((at + 3))
done >wrong
is 'and all damage to the manifest' "$(cat wrong)" ''

# malicious catalogs that are signed with the key
inflated "$(object two "$(published two C)C")" >root.db
# put FILE SUFFIX: adds an object to `evil', and prints its hash
put() {
	pzc -F zlib -c "$1" >put.z
	put_hash=$(sha1sum <put.z | cut -d ' ' -f 1)
	cp put.z "$(object evil "$put_hash$2")"
	echo "$put_hash"
}
# evil SQL: changes the root catalog, and signs the repository again
evil() {
	cp root.db evil.db
	sqlite3 evil.db "$1" >/dev/null
	evil_hash=$(put evil.db C)
	LC_ALL=C sed '/^--$/,$d' two/.cvmfspublished |
	    sed "s/^C.*/C$evil_hash/; s/^B.*/B$(stat -c %s evil.db)/" >lines
	{
		cat lines
		echo --
		sha1sum <lines | cut -d ' ' -f 1
		printf %s "$(sha1sum <lines | cut -d ' ' -f 1)" |
		    openssl dgst -sha1 -sign key.pem
	} >evil/.cvmfspublished
}
# bad NAME SQL PATTERN: checks that the catalog is rejected, and the reason
bad() {
	evil "$2"
	t "$1" 1 layerpack -t --key pub.pem evil
	shows "$1: why" "$3" .t.err
}
cp -r two evil
evil ''
t 'signed again' 0 layerpack -t --key pub.pem evil
bad 'the MD5 of a path' "UPDATE catalog SET name = 'other'
    WHERE name = 'kept'" 'MD5'
bad 'a name with a slash' "UPDATE catalog SET name = 'a/b'
    WHERE name = 'kept'" 'not a valid name'
bad 'a name that leads outside' "UPDATE catalog SET name = '..'
    WHERE name = 'kept'" 'not a valid name'
bad 'a view' "ALTER TABLE catalog RENAME TO c;
    CREATE VIEW catalog AS SELECT * FROM c" 'damaged'
bad 'an endless view' "DROP TABLE chunks; CREATE VIEW chunks AS
    WITH RECURSIVE t(md5path_1, md5path_2, offset, size, hash) AS (
    SELECT 1, 1, 1, 1, x'00' UNION ALL SELECT md5path_1 + 1, 1, 1, 1, x'00'
    FROM t) SELECT * FROM t" 'damaged'
bad 'a missing table' 'DROP TABLE nested_catalogs' 'damaged'
bad 'an invalid hash' "UPDATE catalog SET hash = x'00'
    WHERE name = 'file'" 'no hash'
bad 'a negative size' "UPDATE catalog SET size = -1
    WHERE name = 'file'" 'out of range'
bad 'a size beyond the limit' "UPDATE catalog SET size = 1 << 62
    WHERE name = 'file'" '/file: an object of 4611686018427387904 bytes is larger'
# what CVMFS does not cut, when it ingests an archive
head -c 70000000 /dev/zero >large
evil "UPDATE catalog SET hash = x'$(put large '')', size = 70000000
    WHERE name IN ('file', 'link')"
t 'an object of 70 MB' 0 layerpack -q -F cas -x back evil
same 'its bytes' back/kept/file large
rm -rf large back
bad 'an object beyond the limit' "UPDATE catalog SET size = 1 << 31
    WHERE name = 'file'" '2147483648 bytes is larger than 1 GiB'
bad 'missing chunks' "UPDATE catalog SET flags = flags | 64
    WHERE name = 'file'" 'do not cover the whole file'
bad 'another hash function' "UPDATE catalog SET flags = flags | 256
    WHERE name = 'file'" 'only SHA-1'
bad 'content elsewhere' "UPDATE catalog SET flags = flags | 128
    WHERE name = 'file'" 'not in the repository'
bad 'a missing nested catalog' "UPDATE catalog
    SET flags = flags | 2 WHERE name = 'kept'" 'missing'
bad 'damaged attributes' "UPDATE catalog SET xattr = x'0105ff'
    WHERE name = 'kept'" 'attributes are damaged'
bad 'a directory marked as a file' "UPDATE catalog SET flags = 4
    WHERE name = 'kept'" 'contradicts the flags'
bad 'names that are computed' "CREATE TABLE c AS SELECT * FROM catalog;
    DROP TABLE catalog; CREATE TABLE catalog (md5path_1, md5path_2, parent_1,
    parent_2, hardlinks, hash, size, mode, mtime, mtimens, flags, name, uid,
    gid, xattr, x, y AS (x || x || x || x || x || x || x || x),
    symlink AS (y || y || y || y || y || y || y || y));
    INSERT INTO catalog SELECT md5path_1, md5path_2, parent_1, parent_2,
    hardlinks, hash, size, mode, mtime, mtimens, flags, name, uid, gid, xattr,
    printf('%.*c', 4000, 'x') FROM c" 'exceed its size'
bad 'a duplicate name' "CREATE TABLE c AS SELECT * FROM catalog;
    DROP TABLE catalog; ALTER TABLE c RENAME TO catalog;
    INSERT INTO catalog SELECT * FROM catalog WHERE name = 'kept'" 'twice'
evil "UPDATE catalog SET hash = x'$(sha1sum </dev/null | cut -d ' ' -f 1)'
    WHERE name = 'new'"
rm -rf out
t 'an object that does not exist' 1 layerpack -x out evil
done_testing
