#!/bin/sh
# layerpack creates layers that other programs can read; its output is
# reproducible.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/nasty.sh
. "$SRC/tests/nasty.sh"

# pack FORMAT OPTION... ARCHIVE: makes the layer `out' and its description `said'
pack() {
	pack_as=$1
	shift
	layerpack -q -f -F "$pack_as" -L 1 -o out "$@" >said
}

# said KEY: prints a value from the last description
said() { sed -n "s/^$1 //p" said; }

# content FILE: prints a layer as decompressed by an ordinary decompressor
content() {
	case $(head -c 2 "$1" | od -An -tx1) in
	' 1f 8b') gzip -dc "$1" ;;
	*) zstd -qdc "$1" ;;
	esac
}

# unpacked FILE DIR: extracts the layer with tar
unpacked() {
	rm -rf "$2"
	mkdir "$2"
	content "$1" | tar -xpf - -C "$2" --exclude='*.landmark' \
	    --exclude=stargz.index.json 2>/dev/null
}

nasty_tree
mkdir tree/etc
truncate -s 700000 tree/comb
for i in 1 3 5 7; do
	printf %s "$i" | dd of=tree/comb bs=65536 seek=$i conv=notrunc 2>/dev/null
done
seq 900000 >tree/etc/start
echo start >tree/etc/second
for i in $(seq 300); do
	echo "file $i" >tree/etc/"$i"
done
(cd tree && tar --sort=name -cf ../t.tar . &&
    tar --sort=name --format=pax -Scf ../sparse.tar .)
gzip -1k t.tar
zstd -q t.tar
for i in t sparse; do
	mkdir want
	tar -xpf $i.tar -C want 2>/dev/null
	tree_of want >$i.tree
	rm -rf want
done

for format in estargz zstd-chunked; do
	t "$format" 0 pack $format t.tar
	cp out first.$format
	is "$format: the digest" "$(said digest)" \
	    "sha256:$(sha256sum out | cut -d ' ' -f 1)"
	is "$format: the size" "$(said size)" "$(stat -c %s out)"
	content out >plain
	is "$format: the archive's digest" "$(said diff_id)" \
	    "sha256:$(sha256sum plain | cut -d ' ' -f 1)"
	unpacked out got
	tree_of got >got.tree
	same "$format: any tar extracts the tree" got.tree t.tree
	for n in 1 2 7; do
		pack $format -p $n t.tar
		same "$format: -p $n" out first.$format
	done
	pack $format - <t.tar.gz
	same "$format: compressed, from standard input" out first.$format
	# shellcheck disable=SC2002
	cat t.tar | pack $format -
	same "$format: from a pipe" out first.$format
	pack $format t.tar.zst
	same "$format: compressed with zstd" out first.$format
	pack $format sparse.tar
	unpacked out got
	tree_of got >got.tree
	same "$format: sparse files" got.tree sparse.tree
	layerpack -t out >list
	layerpack -t first.$format >list.want
	same "$format: the list of a sparse archive" list list.want
	pack $format -c 64K t.tar
	unpacked out got
	tree_of got >got.tree
	same "$format: small chunks" got.tree t.tree
	pack $format --min-chunk 64K t.tar
	unpacked out got
	tree_of got >got.tree
	same "$format: files share units" got.tree t.tree
	is "$format: and take less space" \
	    "$(($(stat -c %s out) < $(stat -c %s first.$format)))" 1
done
content first.zstd-chunked >plain
same "zstd-chunked does not change the archive" plain t.tar
pack estargz first.estargz
same "a layer made from a layer is the same" out first.estargz
layerpack -t first.estargz >list
tar -tf t.tar | sed 's,^\./,,; s,/$,,' | sort >names
sed 's,^\./,,; s,/$,,' list | sort >listed
is "the list has all names" "$(grep -c . listed)" "$(grep -c . names)"

# An order
printf '%s\n' etc/second etc/start a/b/tail not/there >order
printf '%s\t%s\t%d\t%d\n' 1 etc/second 0 6 2 etc/start 4096 8192 \
    2 etc/start 65536 4096 3 0-hard 0 1000 >touched
for format in estargz zstd-chunked; do
	t "$format --order" 0 pack $format --order order t.tar
	cp out ordered
	content out | tar -tf - >names
	is "$format: listed files come first" "$(grep -v '/$' names |
	    head -n 5 | tr '\n' ' ')" \
	    "./etc/second ./etc/start ./0-hard ./a/b/tail .prefetch.landmark "
	unpacked out got
	tree_of got >got.tree
	same "$format: the tree stays the same" got.tree t.tree
	pack $format --order order -p 7 - <t.tar.gz
	same "$format: input that cannot be rewound is spooled" out ordered
	# shellcheck disable=SC2002
	cat t.tar | pack $format --order order -T . -
	same "$format: a pipe" out ordered
	t "$format: a list written by touchlog" 0 \
	    pack $format --stats=stats --order touched t.tar
	shows "$format: a trace" '"trace_raw_B":13378,' stats
	content out >plain
	is "$format: which decompressors skip" "$(said diff_id)" \
	    "sha256:$(sha256sum plain | cut -d ' ' -f 1)"
	layerpack -t out >list
	pack $format --no-trace --order touched t.tar
	layerpack -t out >list.want
	same "$format: as readers do" list list.want
	rm -f stats
done
echo nothing >order
t 'an order of other files' 1 pack estargz --order order t.tar
shows 'says so' 'none of its paths' .t.err

# Mistakes
rm -f out
head -c 300000 t.tar >short.tar
t 'a truncated archive' 1 layerpack -F estargz -o out short.tar
shows 'says so' 'ends within' .t.err
head -c 300000 t.tar.gz >short.tar.gz
t 'a truncated compressed archive' 1 layerpack -F estargz -o out short.tar.gz
t 'no archive' 1 layerpack -F estargz -o out "$SRC/README.md"
t 'no such archive' 1 layerpack -F estargz -o out nowhere
t 'no format' 1 layerpack -o out t.tar
t 'a format that cannot be made' 1 layerpack -F tar -o out t.tar
for level in estargz:13 estargz:0 zstd-chunked:20; do
	t "a level out of range, $level" 1 layerpack -F ${level%:*} \
	    -L ${level#*:} -o out t.tar
	shows 'says so' "the levels of ${level%:*}" .t.err
done
t 'a chunk that is too small' 1 layerpack -F estargz -c 100 -o out t.tar
is 'nothing was written' "$([ -e out ] || echo none)" none
: >out
t 'an existing layer' 1 layerpack -F estargz -o out t.tar
is 'is kept' "$(stat -c %s out)" 0
t 'a full disk' 1 layerpack -q -f -F estargz -o /dev/full t.tar
cp t.tar self.tar
ln self.tar self2.tar
for format in estargz zstd-chunked ztoc; do
	for name in self.tar self2.tar ./self.tar; do
		t "$format: -f onto the archive, $name" 1 \
		    layerpack -f -F $format -o $name self.tar
		shows 'is refused' "$name is the input; not overwritten" .t.err
	done
	t "$format: nor that of standard input" 1 sh -c \
	    "layerpack -f -F $format -o self.tar - <self.tar"
	same "$format: which is kept" self.tar t.tar
done

# No archive at all is an error; two blocks of zeros are an empty archive
: >none
gzip -c none >none.gz
head -c 1024 /dev/zero >zeros
rm -rf out.l
for format in estargz zstd-chunked ztoc cas; do
	for input in none none.gz; do
		t "$format: $input" 1 layerpack -F $format -o out.l $input
		shows 'is empty' "^layerpack: $input: the archive is empty: " \
		    .t.err
	done
	t "$format: nothing was written" 1 test -e out.l
	t "$format: an empty archive" 0 layerpack -q -F $format -o out.l zeros
	rm -rf out.l
done
pack estargz zeros
t 'can be listed' 0 layerpack -t out

# The end is missing, but no data, as in archives that were not closed
mkdir end
seq 100 >end/a
seq 2000 >end/b
tar --format=ustar -b 1 -cf end.tar -C end a b
data=$(($(stat -c %s end/a) + $(stat -c %s end/b)))
padded=$((512 * 2 + (292 + 511) / 512 * 512 + (8893 + 511) / 512 * 512))
is 'the data' "$data" $((292 + 8893))
head -c $padded end.tar >padded.tar
head -c $((padded - 512 + 8893 % 512)) end.tar >unpadded.tar
head -c $((padded - 512 + 8893 % 512 - 1)) end.tar >damaged.tar
for format in estargz zstd-chunked ztoc cas; do
	for end in padded unpadded; do
		rm -rf l.l x
		t "$format: $end" 0 layerpack -F $format -o l.l $end.tar
		shows 'the end is missing' \
		    "^layerpack: $end.tar: the archive ends with" .t.err
		if [ $format = ztoc ]; then
			t 'good' 0 layerpack --verify --ztoc l.l $end.tar
			t 'extracted' 0 layerpack -x x --ztoc l.l $end.tar
		else
			t 'good' 0 layerpack --verify l.l
			t 'extracted' 0 layerpack -x x l.l
		fi
		t 'complete' 0 diff -r end x
		[ $format != estargz ] ||
		    t 'by tar, too' 0 unpacked l.l got
	done
	t "$format: damaged" 1 layerpack -f -F $format -o none.l damaged.tar
	shows 'data is missing' "ends within an entry's data" .t.err
done
echo b >order
for format in estargz zstd-chunked; do
	for end in padded unpadded; do
		rm -rf x
		t "$format: $end, with an order" 0 \
		    pack $format --order order $end.tar
		t 'good' 0 layerpack --verify out
		t 'extracted' 0 layerpack -x x out
		t 'complete' 0 diff -r end x
	done
done

done_testing
