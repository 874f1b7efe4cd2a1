#!/bin/sh
# layerpack --pull against servers that misbehave, and images that lie.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"
# shellcheck source=tests/pull.sh
. "$SRC/tests/pull.sh"

for tool in layerpack zstd python3; do
	have $tool || skip_all "no $tool"
done
layerpack -h | grep -q -e --pull || skip_all 'layerpack has no --pull'

# The command line
t 'no destination' 1 layerpack --pull docker://127.0.0.1:1/a/b
t 'an operand' 1 layerpack --pull docker://127.0.0.1:1/a/b -o x y
t 'a format' 1 layerpack -F estargz --pull docker://127.0.0.1:1/a/b -o x
shows 'is for layers' '--format cannot be used with --pull' .t.err
t 'an option of another mode' 1 layerpack --stargz --pull \
    docker://127.0.0.1:1/a/b -o x
shows 'is named' '--stargz cannot be used with --pull' .t.err
t 'an option of this one' 1 layerpack -F estargz --connections 3 -o x y
shows 'is refused elsewhere' '--connections cannot be used' .t.err
t 'no name of an image' 1 layerpack --pull nothing -o x
shows 'says what is expected' 'expected docker://HOST/NAME' .t.err
t 'an invalid tag' 1 layerpack --pull docker://127.0.0.1:1/a/b -o 'oci:x:a"b'
shows 'is refused, too' 'expected oci:DIRECTORY\[:TAG\]' .t.err
t 'no server' 1 layerpack --timeout 1 --pull docker://127.0.0.1:1/a/b -o x

umask 022
mkdir served
pull_image
serve_start
ref=docker://${site#http://}/i

# publish TAG MANIFEST: has the server offer the layout's blobs and this manifest
publish() {
	mkdir -p served/v2/i/blobs served/v2/i/manifests
	for blob in layout/blobs/sha256/*; do
		cp "$blob" "served/v2/i/blobs/sha256:${blob##*/}"
	done
	cp "$2" "served/v2/i/manifests/$1"
}
publish t manifest.json
pull() { layerpack --timeout 6 --pull "$ref:t" -o "$@"; }
nothing() { [ ! -e out ] && [ -z "$(find . -name '.coldpress-*')" ]; }

listing tree >tree.list
t 'an image' 0 pull out
listing out >out.list
same 'is unpacked' out.list tree.list
t 'no other name is left' 0 test -z "$(find . -name '.coldpress-*')"

# Servers
for how in ignores,1 dies,3 short,3 long,4 moves,4 503,3 500,4 429,5 \
    no-range,4; do
	rm -rf out
	mode "${how%,*}" "${how#*,}"
	t "a server that ${how%,*}" 0 layerpack --timeout 20 --pull "$ref:t" \
	    -o out
	listing out >out.list
	same 'is coped with' out.list tree.list
done
mode ignores 1
t 'a layout from one without ranges' 0 pull oci:whole
mode good 1
t 'and from one with them' 0 pull oci:parts
t 'are the same' 0 diff -r whole parts
rm -rf out
for how in flips,1 404,2 encodes,1; do
	mode "${how%,*}" "${how#*,}"
	t "a server that ${how%,*}" 1 pull out
	t 'leaves nothing' 0 nothing
	t 'a layout' 1 pull oci:out
	t 'leaves nothing, either' 0 nothing
done
# Credentials
mode token 1
t 'a server that wants a token' 0 pull out
listing out >out.list
same 'is given one' out.list tree.list
rm -rf out
mode basic 1
t 'a server that wants a password' 1 pull out
t 'gets none, and nothing is left' 0 nothing
printf '{"auths":{"%s":{"auth":"dXNlcjpwYXNzd29yZA=="}}}' \
    "${site#http://}" >auth.json
t 'from a file' 0 pull out --authfile auth.json
listing out >out.list
same 'it gets it' out.list tree.list
rm -rf out
mode good 1

# Blobs that are not what the manifest says
big=served/v2/i/blobs/$(sed \
    's/.*"layers":\[{[^}]*"digest":"\(sha256:[0-9a-f]*\)".*/\1/' manifest.json)
cp "$big" saved
for damage in flip cut longer; do
	case $damage in
	flip) printf X | dd of="$big" bs=1 seek=3000000 conv=notrunc \
	    2>dd.err ;;
	cut) truncate -s 4000000 "$big" ;;
	longer) echo more >>"$big" ;;
	esac
	for how in good ignores; do
		mode $how 1
		for to in out oci:out; do
			t "$damage, $how: $to" 1 pull $to
			t 'nothing is left' 0 nothing
		done
	done
	cp saved "$big"
	mode good 1
done

# one TAG: publishes the image with the single layer layer.tar, gzip-compressed
one() {
	layers='' diffs='' refs=''
	gzip -c <layer.tar >layer.z
	diffs="\"sha256:$(sha256sum <layer.tar | cut -d' ' -f1)\""
	layers="{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",$(blob layer.z)}"
	manifest "$1"
	publish "$1" manifest.json
}
# refused NAME WHY: the image t of layer.tar is refused, and leaves nothing
refused() {
	one t
	t "$1" 1 pull out
	shows 'is refused' "$2" .t.err
	t 'and leaves nothing' 0 nothing
}

# archive NAME: makes layer.tar of what the Python text in standard input adds
archive() {
	{
		cat <<'END'
import io, tarfile
t = tarfile.open('layer.tar', 'w', format=tarfile.PAX_FORMAT)
def add(name, type=tarfile.REGTYPE, data=b'', **more):
    i = tarfile.TarInfo(name)
    i.type, i.size = type, len(data)
    for k in more:
        setattr(i, k, more[k])
    t.addfile(i, io.BytesIO(data))
END
		cat
		echo 't.close()'
	} | python3 -
}
mkdir outside
archive <<'END'
add('../outside/file', data=b'x')
END
refused 'a path that leads out' "contains '\.\.'"
archive <<'END'
add('link', tarfile.SYMTYPE, linkname='../../outside')
add('link/file', data=b'x')
END
refused 'a path through a link' 'not a directory'
archive <<'END'
add('name', tarfile.LNKTYPE, linkname='../outside/secret')
END
refused 'a link to a file outside' 'a hard link to'
archive <<'END'
add('name', tarfile.LNKTYPE, linkname='later')
add('later')
END
refused 'a link to a later file' 'a hard link to'
archive <<'END'
add('x' * 256)
END
refused 'a long name' '255 bytes'
archive <<'END'
add('/'.join(['d' * 200] * 30))
END
refused 'a long path' 'a path of more than'
archive <<'END'
add('x', uid=2 ** 40)
END
refused 'a large user ID' 'an owner above'
archive <<'END'
add('x', gid=2 ** 32 - 1)
END
refused 'a large group ID' 'an owner above'
archive <<'END'
add('.')
END
refused 'a root that is a file' 'the root is not a directory'
head -c 5000 /dev/urandom >layer.tar
refused 'what is no archive' ''
seq 1000 | head -c 3000 >layer.tar
refused 'text' ''

# Links of lower layers, in the way of upper ones, are replaced
archive <<'END'
add('d', tarfile.SYMTYPE, linkname='../outside')
add('/abs/./x', data=b'x')
END
one lower
lower=$layers lower_diff=$diffs
archive <<'END'
add('d/file', data=b'x')
add('d/.wh..wh..opq')
END
gzip -c <layer.tar >layer.z
layers="$lower,{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",$(blob layer.z)}"
diffs="$lower_diff,\"sha256:$(sha256sum <layer.tar | cut -d' ' -f1)\""
refs=''
manifest t
publish t manifest.json
t 'a link of a lower layer' 0 pull out
is 'is replaced by a directory' "$(cd out && find . -type f | sort)" \
    "$(printf './abs/x\n./d/file')"
is 'nothing is outside' "$(ls outside)" ''
rm -r out

# Sizes
truncate -s 60M zeros
tar -cf layer.tar zeros
one t
t 'an archive above the limit' 1 layerpack --max-size 10M --pull "$ref:t" \
    -o out
shows 'is refused' 'larger than --max-size allows' .t.err
t 'it leaves nothing' 0 nothing
t 'below it' 0 layerpack --max-size 70M --pull "$ref:t" -o out
t 'it is whole' 0 cmp zeros out/zeros
rm -r out

# Documents
sed 's/"diff_ids":\["sha256:..../&/; s/"diff_ids":\["sha256:\(....\)/"diff_ids":["sha256:0000/' \
    config.json >config.2
mv config.2 config.json
printf '{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json",%s},"layers":[%s]}' \
    "$(blob config.json)" "$layers" >manifest.json
publish t manifest.json
t 'another diff_id' 1 pull out
shows 'is found' 'does not match the diff_id' .t.err
t 'nothing is there' 0 nothing
printf '{"schemaVersion":2,"config":{"mediaType":"application/vnd.oci.image.config.v1+json",%s},"layers":[%s,%s]}' \
    "$(blob config.json)" "$layers" "$layers" >manifest.json
publish t manifest.json
t 'a layer that the config does not have' 1 pull out
shows 'is refused, too' 'does not describe' .t.err
printf '{"schemaVersion":2,"config":{"mediaType":"application/x",%s},"layers":[]}' \
    "$(blob config.json)" >manifest.json
publish t manifest.json
t 'an artifact' 1 pull out
shows 'is no image' 'of type application/x' .t.err

# Platforms
tar -cf layer.tar one/name
one t
cat >index.json <<END
{"schemaVersion":2,"manifests":[
{"mediaType":"application/vnd.oci.image.manifest.v1+json",$(blob manifest.json),
"platform":{"os":"linux","architecture":"s390x"}},
{"mediaType":"application/vnd.oci.image.manifest.v1+json",
"digest":"sha256:$(printf %064d 1)","size":100,
"platform":{"os":"linux","architecture":"arm","variant":"v7"}}]}
END
cp index.json served/v2/i/manifests/t
cp manifest.json \
    "served/v2/i/manifests/sha256:$(sha256sum <manifest.json | cut -d' ' -f1)"
t 'a tag that is not there' 1 layerpack --pull "$ref:none" -o out
shows 'is what the server says' 'manifests/none: the server returned status 404' \
    .t.err
own=sha256:$(sha256sum <manifest.json | cut -d' ' -f1)
t 'a digest' 0 layerpack --pull "$ref@$own" -o by
t 'a tag and a digest' 0 layerpack --pull "$ref:gone@$own" -o oci:both
shows 'the tag is kept' '"gone"' both/index.json
rm -r by both
t 'a platform' 0 layerpack --platform linux/s390x --pull "$ref:t" -o out
t 'is found' 0 test -e out/one/name
t 'one with a variant' 1 layerpack --platform linux/arm/v7 --pull "$ref:t" \
    -o new
shows 'is found, too' 'manifests/sha256:0000' .t.err
t 'another one' 1 layerpack --platform linux/mips --pull "$ref:t" -o new
shows 'is not' 'the index has no image for linux/mips' .t.err
rm -r out
cp index.json "served/v2/i/manifests/sha256:$(sha256sum <manifest.json |
    cut -d' ' -f1)"
t 'an index in place of a manifest' 1 layerpack --platform linux/s390x \
    --pull "$ref:t" -o out
shows 'does not match' 'does not match that digest' .t.err

# Interrupted, when a later request for the blob gets no answer
begun() { [ -n "$(find . -path './.coldpress-*/many')" ]; }
pull_killed() {
	mode good 1
	mode stalls $(($(tail -n 1 server.out) + 8))
	layerpack --connections 1 --pull "$ref:k" -o out 2>killed.err &
	pull_pid=$!
	await begun
	kill -"$1" $pull_pid
	wait $pull_pid
}
mkdir many
(cd many && seq 3000 | xargs touch)
head -c 30000000 /dev/urandom >many/random
tar -cf layer.tar many
one k
t 'a signal' 143 pull_killed TERM
t 'leaves nothing behind' 0 nothing
t 'a kill' 137 pull_killed KILL
t 'leaves no directory' 0 test ! -e out
mode good 1
t 'the next one' 0 layerpack --pull "$ref:k" -o out
t 'removes what was left' 0 test -z "$(find . -name '.coldpress-*')"
t 'and is whole' 0 diff -r many out/many
done_testing
