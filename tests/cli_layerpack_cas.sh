#!/bin/sh
# layerpack makes repositories in the CVMFS format; SQLite, sha1sum and openssl
# verify their contents; the CVMFS client does in root_cvmfs.sh.
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

# make REPOSITORY OPTION...  ARCHIVE...: creates it with the test's key
make() {
	make_to=$1
	shift
	layerpack -q -F cas --key key.pem --name test.example.org -o "$make_to" \
	    "$@" >said
}

# said KEY: prints a value from the last description
said() { sed -n "s/^$1 //p" said; }

# bytes REPOSITORY: prints the contents of all of its files
bytes() { (cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum); }

# query CATALOG SQL: prints the result
query() { sqlite3 "$1" "$2"; }

openssl genrsa -out key.pem 2048 2>/dev/null
nasty_tree
(cd tree && tar --sort=name --format=gnu -cf ../t.tar . &&
    tar --sort=name --format=gnu -Scf ../sparse.tar .)

t 'a repository' 0 make repo -c 64K --catalog 200 t.tar
is 'every object is named by its SHA-1' "$(misnamed repo)" ''
is 'the number of objects' "$(said objects)" \
    "$(find repo/data -type f | wc -l)"
is 'and their bytes' "$(said objects_B)" \
    "$(find repo/data -type f -exec cat {} + | wc -c)"

# the manifest
is 'the manifest names the root catalog' "$(published repo C)" \
    "$(said root_catalog)"
is 'its name' "$(published repo N)" test.example.org
is 'the MD5 of the root' "$(published repo R)" \
    d41d8cd98f00b204e9800998ecf8427e
inflated "$(object repo "$(said certificate)X")" >cert.pem
openssl x509 -in cert.pem -noout -pubkey >pub.pem
openssl pkey -pubin -in pub.pem -outform DER -out pub.der
is 'the key in the certificate' "$(said key)" \
    "sha256:$(sha256sum pub.der | cut -d ' ' -f 1)"
LC_ALL=C sed '/^--$/,$d' repo/.cvmfspublished >lines
printf %s "$(sha1sum lines | cut -d ' ' -f 1)" >digits
is 'the digest of the lines' "$(LC_ALL=C sed -n '/^--$/{n;p;q}' \
    repo/.cvmfspublished)" "$(cat digits)"
tail -c 256 repo/.cvmfspublished >signature
t 'openssl verifies the signature' 0 openssl dgst -sha1 -verify pub.pem \
    -signature signature digits
t 'and the certificate' 0 openssl verify -CAfile cert.pem cert.pem

# the catalogs
rm -f catalogs.list
catalogs repo "$(published repo C)" ''
is 'nested catalogs' "$(wc -l <catalogs.list)" "$(said catalogs)"
t 'there are several' 0 test "$(said catalogs)" -gt 1
while IFS='|' read -r db path; do
	is "$path: integrity" "$(query "$db" 'PRAGMA integrity_check')" ok
	is "$path: its size" "$(stat -c %s "$db")" "$(
		while IFS='|' read -r other _; do
			query "$other" "SELECT size FROM nested_catalogs
			    WHERE sha1 = '${db%.db}'"
		done <catalogs.list
		[ -n "$path" ] || published repo B)"
	is "$path: counts" "$(query "$db" "SELECT
	    (SELECT sum(flags & 1) FROM catalog) = max(CASE counter WHEN
	    'self_dir' THEN value END) AND (SELECT count(*) FROM chunks) =
	    max(CASE counter WHEN 'self_chunks' THEN value END) FROM
	    statistics")" 1
	if [ -n "$path" ]; then
		is "$path: prefix" "$(query "$db" "SELECT value FROM properties
		    WHERE key = 'root_prefix'")" "$path"
	fi
done <catalogs.list
root=$(published repo C).db
is 'the sum of all counts' "$(query "$root" "SELECT sum(value) FROM statistics
    WHERE counter IN ('self_regular', 'subtree_regular')")" "$(
	while IFS='|' read -r db _; do
		query "$db" 'SELECT count(*) FROM catalog
		    WHERE mode >> 12 = 8'
	done <catalogs.list | awk '{ n += $1 } END { print n }')"
is 'the MD5 of a path' "$(query "$root" "SELECT md5path_1, md5path_2 FROM
    catalog WHERE name = 'empty'")" "$(printf /empty | openssl md5 -binary |
    od -An -td8 | awk '{ print $1 "|" $2 }')"

# the tree as extracted by tar and listed by find
mkdir want
tar -xpf t.tar -C want
listing >all
sed 's/|[^|]*$//' all >got.list
(cd want && find . -printf '/%P|%#m|%y|%s|%U|%G|%T@|%l\n') | awk -F'|' '
BEGIN { t["f"] = 32768; t["d"] = 16384; t["l"] = 40960; t["p"] = 4096 }
{
	mode = 0
	for (i = 1; i <= length($2); i++)
		mode = mode * 8 + substr($2, i, 1)
	sub("\\..*", "", $7)
	if ($1 == "/")
		$1 = ""
	printf "%s|%x|%d|%d|%d|%d|%s\n", $1, mode + t[$3],
	    $3 == "f" || $3 == "l" ? $4 : 0, $5, $6, $7, $8
}' | LC_ALL=C sort >want.list
same 'the entries' got.list want.list
grep '^[^|]*|8' all | awk -F'|' '$8 != "" { print $8 }' | sort -u >hashes
t 'files that are not chunked' 0 test "$(wc -l <hashes)" -gt 3
while read -r hash; do
	want=$(grep "|$hash\$" all | head -n 1 | sed 's/|.*//')
	inflated "$(object repo "$hash")" | cmp -s - "want$want" || echo "$want"
done <hashes >differ
is 'the contents' "$(cat differ)" ''
while IFS='|' read -r db _; do
	query "$db" "SELECT lower(hex(chunks.hash)) || 'P' FROM chunks
	    JOIN catalog USING (md5path_1, md5path_2) WHERE name = 'large'
	    ORDER BY offset"
done <catalogs.list >chunks
while read -r hash; do
	inflated "$(object repo "$hash")"
done <chunks >joined
same 'the chunks of a file' joined want/a/large

# hard links form groups within a directory
(mkdir hl && cd hl && mkdir d && echo x >d/one && ln d/one d/two &&
    ln d/one three && tar --sort=name -cf ../hl.tar .)
t 'hard links' 0 make hl.repo hl.tar
rm -f catalogs.list
catalogs hl.repo "$(published hl.repo C)" ''
is 'two names in a directory' "$(query "$(published hl.repo C).db" "SELECT
    name, hardlinks >> 32, hardlinks & 9 FROM catalog WHERE mode >> 12 = 8
    ORDER BY name")" 'one|1|0
three|0|1
two|1|0'

# the same bytes
for n in 1 2 7; do
	rm -rf again
	make again -c 64K --catalog 200 -p $n t.tar
	bytes again >"bytes.$n"
done
bytes repo >bytes.repo
for n in 1 2 7; do
	same "-p $n" "bytes.$n" bytes.repo
done
rm -rf again
gzip -1 <t.tar | make again -c 64K --catalog 200 -
bytes again >bytes.again
same 'compressed, from a pipe' bytes.again bytes.repo
rm -rf again
make again -c 64K --catalog 200 sparse.tar
is 'holes' "$(published again C)" "$(published repo C)"

# layers: whiteouts, files replaced by directories, and leftover objects
mkdir -p low/gone low/opaque/sub low/kept high/opaque high/replaced
echo gone >low/gone/file
echo opaque >low/opaque/sub/file
echo kept >low/kept/file
echo replaced >low/replaced
: >high/.wh.gone
: >high/opaque/.wh..wh..opq
echo new >high/opaque/new
echo in >high/replaced/in
for i in low high; do
	(cd $i && tar --sort=name -cf ../$i.tar .)
done
t 'two layers' 0 make two low.tar high.tar
rm -f catalogs.list
catalogs two "$(published two C)" ''
is 'are merged' "$(listing | sed 's/|.*//' | LC_ALL=C sort | tr '\n' ' ')" \
    ' /kept /kept/file /opaque /opaque/new /replaced /replaced/in '
is 'no object is left over' "$(find two/data -type f | wc -l)" \
    "$(said objects)"
is 'four files'\'' objects, a catalog, a certificate, the empty one' \
    "$(said objects)" 6

# the same from an image
if layerpack -h | grep -q -e --image; then
	rm -rf layout
	(
		# shellcheck source=tests/oci.sh
		. "$SRC/tests/oci.sh"
		layers='' diffs='' refs=''
		layer low gzip
		layer high tar
		manifest one
	)
	t 'an image' 0 layerpack -q --image -F cas --key key.pem --name a.test \
	    layout:one image
	rm -f catalogs.list
	catalogs image "$(published image C)" ''
	is 'its layers are merged' "$(listing | sed 's/|.*//' | LC_ALL=C sort |
	    tr '\n' ' ')" \
	    ' /kept /kept/file /opaque /opaque/new /replaced /replaced/in '
	t 'a missing tag' 1 layerpack -q --image -F cas --name a.test \
	    layout:two none
else
	skip 'layerpack without OCI'
fi

# catalog markers in the archive itself
mkdir -p marked/sub/deep
: >marked/sub/.cvmfscatalog
echo x >marked/sub/deep/file
(cd marked && tar --sort=name -cf ../marked.tar .)
t 'a mark in the archive' 0 make marked.repo marked.tar
is 'begins a catalog' "$(said catalogs)" 2

# a repository is complete or does not exist
head -c 1000000 t.tar >short.tar
t 'a truncated archive' 1 make short -c 64K short.tar
shows 'is reported' 'truncated\|ends' .t.err
t 'an existing repository' 1 make repo t.tar
shows 'is not replaced' 'File exists' .t.err
t 'a name with a slash' 1 layerpack -F cas --name a/b -o new t.tar
openssl genpkey -algorithm ed25519 -out other.pem 2>/dev/null
t 'another kind of key' 1 layerpack -F cas --name a.test --key other.pem \
    -o new t.tar
shows 'says so' 'not an RSA key' .t.err
t 'no key at all' 1 layerpack -F cas --name a.test --key t.tar -o new t.tar
t 'an option for other formats' 1 make new --order key.pem t.tar
python3 - 300 <<'END' 2>/dev/null || skip 'no python3'
import sys, tarfile
t = tarfile.open('xattr.tar', 'w', format=tarfile.PAX_FORMAT)
i = tarfile.TarInfo('file')
i.pax_headers = {'SCHILY.xattr.user.long': 'x' * int(sys.argv[1]),
                 'SCHILY.xattr.user.short': 'x'}
t.addfile(i)
t.close()
END
if [ -e xattr.tar ]; then
	t 'an attribute of 300 bytes' 0 layerpack -F cas --name a.test \
	    -o long xattr.tar
	shows 'is left out, as by CVMFS' 'layerpack: long: file: .*left out' \
	    .t.err
	is 'the others are there' "$(rm -f catalogs.list
	    catalogs long "$(published long C)" ''
	    query "$(published long C).db" "SELECT hex(xattr) FROM catalog
	        WHERE name = 'file'")" "0101$(printf '\012\001user.shortx' |
	    od -An -tx1 | tr -d ' \n' | tr a-f A-F)"
fi
is 'nothing is left over' "$(ls -d .coldpress-* short new 2>/dev/null)" ''

# the whitelist
is 'the whitelist names the repository' \
    "$(sed -n 3p repo/.cvmfswhitelist)" Ntest.example.org
openssl x509 -in cert.pem -noout -fingerprint -sha1 | sed 's/.*=//' >print
is 'and the certificate' "$(sed -n 4p repo/.cvmfswhitelist)" "$(cat print)"
is 'whose fingerprint is printed' "$(make other hl.tar; said fingerprint)" \
    "$(openssl x509 -in cert.pem -noout -fingerprint -sha1 | sed 's/.*=//')"
# verified REPOSITORY PUBLIC-KEY: checks the whitelist's digest and signature
verified() {
	LC_ALL=C sed '/^--$/,$d' "$1/.cvmfswhitelist" >lines
	printf %s "$(sha1sum lines | cut -d ' ' -f 1)" >digits
	[ "$(LC_ALL=C sed -n '/^--$/{n;p;q}' "$1/.cvmfswhitelist")" = \
	    "$(cat digits)" ] || return
	tail -c 256 "$1/.cvmfswhitelist" >signature
	openssl pkeyutl -verifyrecover -pubin -inkey "$2" -in signature \
	    2>/dev/null | cmp - digits
}
t 'it is signed by the key' 0 verified repo pub.pem
openssl genrsa -out master.pem 2048 2>/dev/null
openssl rsa -in master.pem -pubout -out master.pub 2>/dev/null
t 'a master key' 0 make site --master-key master.pem hl.tar
t 'signs it instead' 0 verified site master.pub
t 'not the key' 1 verified site pub.pem
t 'a master key that is none' 1 make none --master-key hl.tar hl.tar
shows 'is refused' 'the master key is not a private key' .t.err
t 'replication is allowed' 0 test -f repo/.cvmfs_master_replica

# revisions
is 'the first revision' "$(published other S)" 1
t 'an update' 0 make newer --update other low.tar
is 'is the second' "$(said revision) $(published newer S)" '2 2'
(cd other && find data -type f | LC_ALL=C sort) >were
(cd newer && find data -type f | LC_ALL=C sort) >are
is 'and has the objects of the first' "$(LC_ALL=C comm -23 were are)" ''
is 'as links' "$(find newer/data -type f -links +1 | wc -l)" \
    "$(said kept)"
is 'the rest are its own' "$(find newer/data -type f -links 1 | wc -l)" \
    "$(said objects)"
is 'the catalog says so' "$(rm -f catalogs.list
    catalogs newer "$(published newer C)" ''
    query "$(published newer C).db" "SELECT value FROM properties
	WHERE key = 'revision'")" 2
t 'a revision of our own' 0 make tenth --revision 10 --update newer low.tar
is 'has its number' "$(published tenth S)" 10
t 'one that is not later' 1 make none --revision 10 --update tenth low.tar
shows 'is refused' 'not later than 10' .t.err
t 'another name' 1 make none --name other.example.org --update other low.tar
shows 'is refused' 'test.example.org, not other.example.org' .t.err
t 'one of the same length' 1 make none --name best.example.org --update other \
    low.tar
shows 'as well' 'test.example.org, not best.example.org' .t.err
t 'another key' 1 layerpack -q -F cas --name test.example.org --update other \
    -o none low.tar
shows 'is refused' 'not signed by the expected key' .t.err
t 'another key, with a master' 0 layerpack -q -F cas --name test.example.org \
    --master-key master.pem --update site -o rotated low.tar
cp -r other spoilt
sed -i 's/^S1$/S7/' spoilt/.cvmfspublished
t 'a damaged one before' 1 make none --update spoilt low.tar
shows 'is refused' 'spoilt: the manifest is damaged' .t.err
t 'none before' 1 make none --update nothing low.tar
shows 'is refused' 'nothing: No such file' .t.err
rm -r spoilt
cp -r other spoilt
spoilt_to=$(object spoilt "$(LC_ALL=C sed -n 's/^X//p' \
    other/.cvmfspublished | head -n 1)X")
printf x | dd of="$spoilt_to" bs=1 seek=100 conv=notrunc 2>/dev/null
t 'one with a damaged certificate' 1 make none --update spoilt low.tar
shows 'is refused' 'the certificate does not match its hash' .t.err
rm "$spoilt_to"
t 'one without a certificate' 1 make none --update spoilt low.tar
shows 'is refused' "spoilt: data/.*: No such file" .t.err
: >other/data/00/other
t 'an update of one with another file' 0 make rest --update other low.tar
t 'leaves that out' 1 test -e rest/data/00/other
if have layerpack-fault; then
	t 'an update on another filesystem' 0 env COLDPRESS_FAULT=linkat:4+:EXDEV \
	    layerpack-fault -q -F cas --key key.pem --name test.example.org \
	    --update other -o copied low.tar
	t 'has the same' 0 diff -r rest copied
	is 'as copies' "$(find copied/data -type f -links +1 | wc -l)" 0
fi
# clients refuse what is older than what they have
touch -d 2060-01-01 low/kept/file
tar -C low -cf future.tar kept
t 'a date in the future' 0 make future future.tar
t 'is not that of the repository' 0 test "$(published future T)" -le \
    "$(date +%s)"
touch -d 2001-01-01 low/kept/file low/kept
tar -C low -cf past.tar kept
t 'an update with older files' 0 make past --update future past.tar
is 'is not older' "$(published past T)" "$(published future T)"
# a catalog below which nothing changes stays the same
mkdir -p deep/a deep/b
for i in $(seq 30); do echo "$i" | tee "deep/a/$i" >"deep/b/$i"; done
: >deep/a/.cvmfscatalog
: >deep/b/.cvmfscatalog
tar --sort=name -C deep -cf deep.tar .
make deep1 deep.tar
echo new >deep/b/1
tar --sort=name -C deep -cf deep.tar .
make deep2 --update deep1 deep.tar
is 'three catalogs, of which two are new' "$(
    (cd deep1 && find data -name '*C') >were
    (cd deep2 && find data -name '*C') | grep -vxc -f were) of $(
    find deep2 -name '*C' | wc -l)" '2 of 5'
t 'a name without a domain' 1 layerpack -q -F cas -o own hl.tar
shows 'is refused' 'own is not a repository name: .*own.example.org' .t.err
rm -rf none

# a newly generated key
t 'without a key' 0 layerpack -q -F cas -o own.org hl.tar
t 'the directory names the repository' 0 test "$(published own.org N)" = own.org
done_testing
