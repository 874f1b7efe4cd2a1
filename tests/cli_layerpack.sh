#!/bin/sh
# layerpack lists, extracts and verifies layers, including hostile ones.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"
# shellcheck source=tests/graft.sh
. "$SRC/tests/graft.sh"

have sha256sum || skip_all 'no sha256sum'

# facts DIR: prints names, attributes and contents, with times in whole seconds
facts() {
	(cd "$1" && find . -mindepth 1 -printf '%y %m %U %G %n %s %T@ %P %l\n' |
	    awk '$1 == "d" { $5 = $6 = "" } { sub(/[.].*/, "", $7); print }' |
	    sort
	find . -type f -exec sha256sum {} + | sort
	! have getfattr || getfattr -Rhd -m user - . 2>/dev/null)
}

# pack FORMAT ARCHIVE OPTION...: makes the layer l
pack() {
	pack_as=$1
	shift
	layerpack -q -f -F "$pack_as" -o l "$@" >said
}

nasty_tree
setfattr -n user.a -v lower tree/a/large 2>/dev/null
setfattr -n user.empty tree/a/b 2>/dev/null
printf middle | dd of=tree/a/hole bs=1 seek=1500000 conv=notrunc 2>/dev/null
find tree -exec touch -h -d '2001-09-09 01:46:40 UTC' {} + 2>/dev/null
touch -d '1960-01-01 UTC' tree/a/random
mkdir tar-x
tar --format=posix --xattrs --sort=name -Scf t.tar -C tree .
tar --xattrs -xpf t.tar -C tar-x 2>/dev/null
facts tar-x >want

for format in estargz zstd-chunked; do
	for more in '' '-c 4K' '--min-chunk 64K' '-c 10000 --min-chunk 9000'; do
		name="$format${more:+ $more}"
		# shellcheck disable=SC2086
		pack $format $more t.tar
		t "$name: good" 0 layerpack --verify -v l
		shows "$name: said" ' entries, .* units and .* data are valid' \
		    .t.err
		t "$name: extracted" 0 layerpack -x x l
		is "$name: silently" "$(cat .t.out .t.err)" ''
		facts x >got
		same "$name: as tar does" got want
		rm -rf x
	done
	t "$format: with one thread" 0 layerpack -p 1 -x x l
	facts x >got
	same "$format: the same" got want
	t "$format: extracted again" 1 layerpack -x x l
	shows "$format: refused" 'x/0-hard: already exists (-f' .t.err
	t "$format: extracted again with -f" 0 layerpack -f -x x l
	facts x >got
	same "$format: the same again" got want
	rm -rf x
	tar -tf t.tar | sed 's,^\./,,; s,/$,,; s,^$,.,' | sort >names
	layerpack -t l | sed 's,/$,,' | sort >listed
	t "$format: all names" 0 test "$(wc -l <listed)" -eq "$(wc -l <names)"
	digest=$(sed -n 's/^annotation .*\(sha256:.*\)/\1/p' said | head -n 1)
	t "$format: the digest of the index" 0 \
	    layerpack -t --index-digest "$digest" l
	t "$format: another" 1 layerpack -t \
	    --index-digest "sha256:$(printf %064d 0)" l
	shows 'refused' 'l: the index does not match the expected digest' .t.err
done
layerpack -tv l >list
shows 'a long list' '^-rwsr-xr-x .* 131072 2001-09-09 01:46 a/exact$' list
shows 'a hard link' '^h.* link to ' list
t 'rows' 0 layerpack -t --csv l
shows 'a file' '^a/large,file,0644,' .t.out
is 'one for each name' "$(wc -l <.t.out)" "$(($(wc -l <listed) + 1))"
t 'rows of JSON' 0 layerpack -t --json l
shows 'a link' '{"path":"a/soft","type":"symlink",.*"link":"nowhere"' .t.out

# A path that occurs twice, links to a replaced file, and whiteouts
mkdir d1 d2
echo first >d1/f
ln d1/f d1/g
echo second >d2/f
ln -s /etc d2/s
mkdir d2/w
: >d2/w/.wh.gone
: >d2/w/.wh..wh..opq
tar -cf a.tar -C d1 f g
tar -rf a.tar -C d2 f s w
tar -xf a.tar -C d1
for format in estargz zstd-chunked; do
	pack $format a.tar
	t "$format: a path twice" 0 layerpack -x x l
	t "$format: as tar does" 0 diff -r --no-dereference x d1
	is "$format: no longer a link" "$(stat -c %h x/f x/g | tr '\n' ' ')" \
	    '1 1 '
	rm -rf x
done
if [ "$(id -u)" = 0 ]; then
	if layerpack -x x --whiteouts overlay l 2>.t.err; then
		is 'a whiteout' "$(stat -c '%F %t %T' x/w/gone)" \
		    'character special file 0 0'
		! have getfattr || is 'an opaque directory' \
		    "$(getfattr --absolute-names --only-values -n \
		    trusted.overlay.opaque x/w 2>/dev/null)" y
	else
		skip 'overlayfs whiteouts: not permitted here'
	fi
	rm -rf x
fi

# Names that lead outside the directory
mkdir out evil evil/dir
echo outside >out/file
echo new >evil/dir/file
ln -s "$PWD/out" evil/link
tar -cf e.tar -C evil link
tar -rf e.tar -C evil --transform 's,^dir,link,' dir/file
t 'a file below a link' 1 pack estargz e.tar
shows 'is refused' 'e.tar: link/file: link is not a directory' .t.err
# index FORMAT ENTRY...: makes the layer l, which contains only an index
index() {
	index_as=$1
	shift
	{
		printf '{"version":1,"entries":['
		printf %s "$*"
		printf ']}'
	} >table.json
	: >l
	finish "$index_as" l
}
index estargz "{\"name\":\"link\",\"type\":\"symlink\",
    \"linkName\":\"$PWD/out\"},{\"name\":\"link/file\",\"type\":\"reg\"}"
t 'a layer with one' 1 layerpack -x x l
shows 'is extracted without it' 'x/link/file: ' .t.err
is 'is not written through it' "$(cat out/file)" outside
rm -rf x
mkdir x
ln -s "$PWD/out" x/link
tar -cf e.tar -C evil --transform 's,^dir,link,' dir/file
pack estargz e.tar
t 'an existing link' 1 layerpack -f -x x l
is 'is not followed' "$(cat out/file)" outside
rm -rf x
tar -cPf e.tar --transform 's,^evil/dir,../out,' evil/dir/file
for format in estargz zstd-chunked ztoc; do
	t "$format: a path that leads outside" 1 pack $format e.tar
	shows "$format: is named" '../out/file contains ..' .t.err
done
echo out/file >order
t 'with an order' 1 pack estargz --order order e.tar
shows 'likewise' '../out/file contains ..' .t.err
ln evil/dir/file evil/dir/name
tar -cPf e.tar --transform 's,^evil/dir/file,a/../../b,Rh' evil/dir/file \
    evil/dir/name
t 'a hard link that leads outside' 1 pack estargz e.tar
shows 'is named' 'is a hard link to .*, whose .. may lead' .t.err
rm -f evil/dir/name
tar -cPf e.tar "$PWD/evil/dir/file"
for format in estargz zstd-chunked; do
	pack $format e.tar
	t "$format: an absolute path" 0 layerpack -x x l
	same "$format: is below the root" "x$PWD/evil/dir/file" evil/dir/file
	rm -rf x
done

# Entries that cannot be created
mkdir bad
echo one >bad/a
ln bad/a bad/b
tar -cf 'a link to itself.tar' -C bad --transform 's,^a,b,R' a b
tar -cf 'a link before its target.tar' -C bad a b
tar -rf 'a link before its target.tar' -C bad a
tar --delete -f 'a link before its target.tar' --occurrence=1 a
mkdir bad/c
tar --no-recursion -cf 'a link to a directory.tar' -C bad \
    --transform 's,^a,c,RS' c a b
rm bad/b
cp bad/a bad/b
tar -cf 'a file below a file.tar' -C bad --transform 's,^b,a/b,' a b
tar -cf 'a long name.tar' --format=pax -C bad \
    --transform "s,^b,d/$(printf '%0300d' 0)," a b
tar -cf 'a large ID.tar' --format=pax --pax-option=gid:=4294967296 -C bad a
while IFS=: read -r name why; do
	for format in estargz zstd-chunked ztoc; do
		rm -f l
		t "$format: $name" 1 pack $format "$name.tar"
		shows "$format: is refused" "^layerpack: $name.tar: $why" .t.err
		t "$format: nothing is made" 1 test -e l
	done
done <<-END
	a link to itself:b is a hard link to itself$
	a link before its target:b is a hard link to a, which does not precede it
	a link to a directory:b is a hard link to c, which is a directory
	a file below a file:a/b: a is not a directory
	a long name:the path d/0*[.]* contains a name of 300 bytes
	a large ID:a: the owner or group ID is above 2^32 - 1
END
for name in 'a long name' 'a large ID'; do
	t "cas: $name" 1 layerpack -F cas --name a.test -o cas "$name.tar"
done
for format in estargz zstd; do
	index $format '{"name":"a","type":"reg","gid":1099511627776}'
	t "$format: a group of 2^40" 1 layerpack -x x l
	shows 'is too large' \
	    'l: a: the owner or group ID is above 2^32 - 1' .t.err
	t 'nothing is extracted' 1 test -e x
done

# A hard link whose target only a lower layer can contain
rm bad/b
ln bad/a bad/b
tar -cf lower.tar -C bad a b
tar --delete -f lower.tar a
for format in estargz zstd-chunked; do
	t "$format: a link to a lower layer" 0 layerpack -f -F $format -o l \
	    lower.tar
	shows 'is pointed out' "^layerpack: lower.tar: b is a hard link to a, \
which is not in the archive, and so can only be in a lower layer;" .t.err
	t 'the layer is good' 0 layerpack --verify l
	t 'but cannot be extracted alone' 1 layerpack -x x l
	shows 'and this is why' \
	    '^layerpack: x/b: a hard link to a, which the layer does not' .t.err
	rm -rf x
done

# A time in a global header, which Go's programs ignore, and a mere comment
printf x >bad/g
tar --format=posix --mtime=@1000000000 --pax-option=mtime=77 -cf global.tar \
    -C bad g
tar --format=posix --mtime=@1000000000 --pax-option=comment=x -cf comment.tar \
    -C bad g
for format in estargz zstd-chunked ztoc; do
	t "$format: a global header" 0 layerpack -f -F $format -o l global.tar
	shows 'is pointed out' \
	    '^layerpack: global.tar: attributes of 1 of its entries' .t.err
	t "$format: a comment" 0 layerpack -f -F $format -o l comment.tar
	is 'is not' "$(cat .t.err)" ''
done

# containers/storage compares the headers with the table: what that cannot say
# makes a layer without them
split() { layerpack -q -f -F zstd-chunked -o l "$1" && layerpack --verify l; }
mkdir split
printf x >split/a
tar --format=posix -cf times.tar -C split a
printf x >"$(printf 'split/\377')"
tar --format=posix -cf bytes.tar -C split .
tar --format=posix -cf twice.tar -C split ./a ./a
t 'an archive with times of all kinds' 0 split times.tar
shows 'keeps its headers' 'zstd-chunked.tarsplit-position'
for name in bytes twice comment global; do
	t "$name" 0 split $name.tar
	is 'has none' "$(grep tarsplit .t.out)" ''
done

# Damage: every relevant change is detected, and only the affected file is lost
pack estargz -c 64K t.tar
size=$(stat -c %s l)
cp l whole
i=1
while [ $i -le 20 ]; do
	cp whole l
	# flip every second bit
	at=$((size * i / 23))
	byte=$(od -An -tu1 -j $at -N 1 whole)
	printf '%b' "\\0$(printf %o $((byte ^ 85)))" |
	    dd of=l bs=1 seek=$at conv=notrunc 2>/dev/null
	good=no
	layerpack --verify l >.t.out 2>.t.err && good=yes
	layerpack -x x l >.t.out 2>.t.err || :
	# changing a byte of a member's header may have no effect
	[ $good = no ] || facts x 2>/dev/null | cmp -s - want ||
	    echo "$at" >>missed
	[ ! -d x ] || (cd x && find . -type f -exec sha256sum {} +) | sort |
	    grep -v -x -F -f want >>wrong
	rm -rf x
	i=$((i + 1))
done
t 'every change is detected' 1 test -s missed
t 'no wrong byte is extracted' 1 test -s wrong
cp whole l
truncate -s $((size - 1)) l
t 'a truncated layer' 1 layerpack -t l
shows 'is in no format' 'not in a format that can be read lazily' .t.err
t 'an archive' 1 layerpack --verify t.tar
t 'nothing' 1 layerpack -t /dev/null
t 'no file' 1 layerpack -t nowhere
shows 'is named' 'nowhere: No such file' .t.err

# An archive that differs from its index
pack estargz t.tar
printf 'unlike' | gzip -n >member
{ cat member; cat l; } >shifted
t 'an index for another offset' 1 layerpack --verify shifted

# Memory use is bounded, unless the program itself needs more
if ! sanitized layerpack; then
	head -c 30000000 /dev/urandom >big
	tar -cf b.tar big
	pack zstd-chunked b.tar
	t 'an address space of 200 MiB' 0 sh -c \
	    'ulimit -v 204800; layerpack -p 2 --verify l && layerpack -p 2 -x x l'
	same 'is enough' x/big big
fi
done_testing
