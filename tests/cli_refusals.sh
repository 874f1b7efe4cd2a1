#!/bin/sh
# What tools refuse, and what is so near to it that it must not be refused
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/oci.sh
. "$SRC/tests/oci.sh"

mkdir -p tree/sub
seq 1000 >tree/a
seq 500 >tree/sub/b
seq 100 >tree/c

printf '\170\234\003' >short.zz
t 'pzc: lists no zlib file of 3 bytes' 1 pzc -l short.zz
shows 'pzc: it ends early' 'unexpected end' .t.err

if have coldwalk; then
	printf '1\ta\t100\t50\n2\tsub/b\t0\t10\n3\ta\t0\t20\n' >ranges
	t 'coldwalk: ranges of files' 0 \
	    coldwalk --ranges --files-from ranges --csv tree
	is 'coldwalk: the files' "$(awk -F , '{ print $2 }' \
	    .t.out | tr '\n' ' ')" 'path a sub/b '
	t 'coldwalk: their bytes' 0 coldwalk --ranges --files-from ranges tree
	shows 'coldwalk: the ranges only' ', 80 read'
	for line in x 'a\t0\t1' '1a\t0\t1' '1\ta\t0' '1\ta\tx\t1' \
	    '1\ta\t0\t-1' '1\t../a\t0\t1' '1\t\t0\t1'; do
		printf '%b\n' "$line" >wrong
		t "coldwalk: not a range, $line" 1 \
		    coldwalk --ranges --files-from wrong tree
		shows "coldwalk: why, $line" 'wrong: ' .t.err
	done
	t 'coldwalk: ranges of nothing' 1 coldwalk --ranges tree
	shows 'coldwalk: needs a list' '--ranges requires --files-from' .t.err
	t 'coldwalk: resident ranges' 1 \
	    coldwalk --ranges --files-from ranges --resident tree
	shows 'coldwalk: contradict each other' 'with --resident' .t.err
	t 'coldwalk: a device that has no blocks' 1 coldwalk /dev/null
	shows 'coldwalk: is no image' 'expected a directory, a file' .t.err
else
	skip 'no coldwalk'
fi

if have fsratio; then
	for profile in single dup; do
		t "fsratio: metadata, $profile" 0 fsratio --fs btrfs \
		    --metadata $profile -a zlib-3 tree
	done
	t 'fsratio: metadata, raid1' 1 fsratio --fs btrfs --metadata raid1 tree
	shows 'fsratio: names the profiles' 'not dup or single' .t.err
fi

if have lap; then
	t 'lap: output and rows apart' 0 \
	    lap -n 1 --show-output -o rows.csv -- echo hi
	t 'lap: output and rows together' 125 \
	    lap -n 1 --show-output -o - -- echo hi
	shows 'lap: contradict each other' '--show-output and rows' .t.err
	t 'lap: a table and rows apart' 0 \
	    lap -n 1 --markdown -o more.csv -- true
	t 'lap: a table and rows together' 125 \
	    lap -n 1 --markdown -o - -- true
	shows 'lap: do so, too' '--markdown and rows' .t.err
fi

if have mailgen; then
	t 'mailgen: no such directory' 1 mailgen nowhere
	shows 'mailgen: says how to create it' 'nowhere: .* (-n creates' .t.err
	t 'mailgen: does not' 1 test -e nowhere
fi

# read back SKIP OUT: compresses to a file that is read back, after SKIP bytes
read_back() {
	(head -c "$1" tree/a && exec pzc --verify -c tree/a) 1<>"$2"
}
t 'pzc: verified at the start of a file' 0 read_back 0 out.gz
t 'pzc: verified after other data' 1 read_back 1 more.gz
shows 'pzc: cannot be' '--verify needs a file' .t.err
is 'pzc: nothing is written' "$(wc -c <more.gz)" 1
for f in /dev/null /dev/zero; do
	t "pzc: verified where it is lost, $f" 1 read_back 0 $f
	shows 'pzc: it fails' 'tree/a: verification of the output failed' .t.err
done
pzc -F zstd --long=20 -c tree/a >sized.zst
t 'pzc: the size of a long stream' 0 pzc -dc sized.zst
same 'pzc: its data' .t.out tree/a

# What gzip -l calls the formats
mkdir bin
ln -s "$(command -v pzc)" bin/gzip
printf '\037\235\220\141\304\214\001' >abc.Z
pzc -F zip -c tree/a >a.zip
# method FILE: prints what the listing says
method() { bin/gzip -lv "$1" | awk 'NR == 2 { print $1 }'; }
gzip -c tree/a >a.gz
is 'gzip -l: deflate' "$(method a.gz)" defla
is 'gzip -l: deflate in zip' "$(method a.zip)" defla
is 'gzip -l: LZW' "$(method abc.Z)" compr
pzc -F xz -c tree/a >a.xz
is 'gzip -l: another' "$(method a.xz)" xz

if have sqpack; then
	ln -s "$(command -v sqpack)" bin/mksquashfs
	tar -cf tree.tar tree
	# make SOURCE... OPTION...: makes an image of an archive
	make() {
		rm -f image
		bin/mksquashfs "$@" <tree.tar
	}
	t 'mksquashfs: an archive' 0 make - image -tar
	t 'mksquashfs: an archive and more' 1 make - tree image -tar
	shows 'mksquashfs: says so' '-tar requires the source -' .t.err
	t 'mksquashfs: an archive and a tree' 1 make tree image -tar
	shows 'mksquashfs: says so, too' '-tar requires' .t.err
	t 'mksquashfs: names are patterns' 1 make - image -tar -e a
	shows 'mksquashfs: in an archive' '-wildcards must be specified' .t.err
	t 'mksquashfs: an archive and a definition' 0 \
	    make - image -tar -p 'x d 755 0 0'
	t 'mksquashfs: has both' 0 sqpack -l image
	shows 'mksquashfs: the directory' '^x/*$' .t.out
	for ids in 'user nosuch 0' 'group 0 nosuch'; do
		t "mksquashfs: not a ${ids%% *}" 1 \
		    make tree image -p "x d 755 ${ids#* }"
		shows "mksquashfs: why, ${ids%% *}" "x d 755 ${ids#* }.*\
expected a ${ids%% *} that exists" .t.err
	done
	t 'mksquashfs: owners by name' 0 make tree image -p 'x d 755 root root'
else
	skip 'no sqpack'
fi

if have layerpack && layerpack -h | grep -q -e --image; then
	tar -cf tree.tar tree
	t 'layerpack: whiteouts' 1 layerpack --whiteouts some -x out tree.tar
	shows 'layerpack: their forms' 'not keep or overlay' .t.err
	for chunk in 4095 65M; do
		t "layerpack: chunks of $chunk" 1 \
		    layerpack -F estargz -c $chunk -o tree.gz tree.tar
		shows 'layerpack: their limits' 'is not in 4K..64M' .t.err
	done
	t 'layerpack: the largest chunks' 0 \
	    layerpack -q -F estargz -c 64M -o big.gz tree.tar
	layerpack -q -F estargz -o tree.gz tree.tar >/dev/null
	for form in keep overlay; do
		t "layerpack: whiteouts, $form" 0 \
		    layerpack -q --whiteouts $form -x out.$form tree.gz
	done

	# variants of a platform
	layers='' diffs='' refs=''
	layer tree gzip
	for variant in v6 v7; do
		manifest $variant ',"platform":{"os":"linux",
		    "architecture":"arm","variant":"'$variant'"}'
	done
	for variant in v6 v7; do
		t "layerpack: the variant $variant" 0 layerpack -q --image \
		    -F estargz --platform linux/arm/$variant layout $variant
		is "layerpack: only $variant" "$(grep -o 'ref.name":"v.' \
		    $variant/index.json)" "ref.name\":\"$variant"
	done
	t 'layerpack: another variant' 1 layerpack -q --image -F estargz \
	    --platform linux/arm/v8 layout none
	shows 'layerpack: there is none' 'no image for that platform' .t.err
fi

# a layer that cannot be reordered
if have layerpack && have python3; then
	python3 - <<'END'
import tarfile
with open('layer.z', 'wb') as f:
    for name in 'ab':
        f.write(tarfile.TarInfo(name).tobuf())
        f.write(tarfile.TarInfo.create_pax_global_header({'comment': 'x'}))
    f.write(bytes(1024))
END
	echo b >list
	rm -rf layout
	diffs="\"sha256:$(sha256sum <layer.z | cut -d ' ' -f 1)\"" refs=''
	layers="{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",$(
	    blob layer.z)}"
	manifest one
	t 'layerpack: an order that a layer does not allow' 1 layerpack -q \
	    --image -F estargz --order list layout ordered
	shows 'layerpack: is refused' 'cannot be reordered' .t.err
	is 'layerpack: which has nothing to do with ztocs' \
	    "$(grep -c ztoc .t.err)" 0
fi
done_testing
