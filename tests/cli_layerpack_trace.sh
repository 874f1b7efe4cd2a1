#!/bin/sh
# layerpack --verify compares a layer's trace with its files.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/graft.sh
. "$SRC/tests/graft.sh"

have zstd || skip_all 'no zstd'
have gzip || skip_all 'no gzip'

# pack NAME FORMAT OPTION...: makes a layer of the archive NAME.tar
pack() {
	pack_name=$1 pack_as=$2
	shift 2
	rm -f "$pack_name.stats"
	layerpack -q -f -F "$pack_as" --order list --no-compact-index \
	    --stats="$pack_name.stats" \
	    -o "$pack_name" "$@" "$pack_name.tar" >said
}

# graft FORMAT TRACE: makes `grafted`, a copy of the layer `honest` with this
# trace, and an index containing the trace's digest
graft() {
	head -c "$(stat_of honest trace_offset_B)" honest >grafted
	cat "$2" >>grafted
	table honest | sed "s/\(\"coldpressTrace\":{\"offset\":[0-9]*\)[^}]*/\1,\
\"length\":$(wc -c <"$2"),\
\"digest\":\"sha256:$(sha256sum "$2" | cut -d ' ' -f 1)\"/" >table.json
	finish "$1" grafted
}

# trace_of NAME: prints the contents of the layer's trace
trace_of() {
	part "$1" "$(stat_of "$1" trace_offset_B)" "$(stat_of "$1" trace_B)"
}

mkdir honest.d liar.d
seq 60000 >honest.d/first
seq 100 >honest.d/second
truncate -s 300000 honest.d/third
printf end | dd of=honest.d/third bs=1 seek=200000 conv=notrunc 2>/dev/null
cp -p honest.d/* liar.d
sed 's/^29999$/29998/' honest.d/first >liar.d/first
touch -r honest.d/first liar.d/first
for name in honest liar; do
	tar -Scf $name.tar --sort=name --mtime=@0 -C $name.d .
done
printf '%s\t%s\t%d\t%d\n' 1 second 0 292 2 first 100000 68894 3 first 0 50000 \
    4 first 40000 20000 >list

for format in estargz zstd-chunked; do
	more=''
	[ $format = estargz ] || more=--no-tar-split
	for options in '' '-c 4K' '--min-chunk 64K'; do
		name="$format${options:+ $options}"
		# shellcheck disable=SC2086
		{
			pack honest $format $more $options
			pack liar $format $more $options
		}
		t "$name: a matching trace" 0 layerpack --verify -v honest
		trace_of honest >trace
		graft $format trace
		t "$name: the same trace grafted" 0 layerpack --verify grafted
		trace_of liar >trace
		graft $format trace
		t "$name: the index has its digest" 0 layerpack -t grafted
		t "$name: a differing trace" 1 \
		    layerpack --verify grafted
		shows "$name: is named" 'grafted: first: the trace differs' \
		    .t.err
		is "$name: once" "$(wc -l <.t.err)" 1
		rm -rf x
		t "$name: the files are unchanged" 0 \
		    layerpack -x x grafted
		t "$name: all of them" 0 diff -r x honest.d
	done
	trace_of honest | tail -c +2 >trace
	graft $format trace
	t "$format: an invalid trace" 1 layerpack --verify grafted
	shows "$format: is refused" 'grafted: the trace is damaged' .t.err
	at=$(($(stat_of honest trace_offset_B) + 30))
	{ head -c $at honest; printf x; tail -c +$((at + 2)) honest; } >bent
	t "$format: a wrong digest" 1 layerpack --verify bent
	shows "$format: is refused, too" 'bent: the trace is damaged' .t.err
	t "$format: no -T directory" 1 layerpack --verify -T nowhere honest
	shows "$format: says so" 'nowhere: No such file' .t.err
done
# Several lists: sections, which --verify compares, too
printf '%s\t%s\t%d\t%d\n' 1 second 0 100 2 first 170000 100000 >list2
for format in estargz zstd-chunked; do
	for name in honest liar; do
		pack $name $format --order list2
	done
	is "$format: sections" "$(stat_of honest sections)" 2
	is "$format: of all data" "$(($(stat_of honest trace_raw_B) +
	    $(stat_of honest sections_raw_B)))" \
	    $((292 + 128894 + 100000 + 12 + 2 * 52 + 6 * 20))
	t "$format: several lists" 0 layerpack --verify honest
	# the sections precede the trace, which has their digests
	from=$(($(stat_of honest trace_offset_B) -
	    $(stat_of honest sections_B)))
	for k in 0 1 2 3 4 5 6 7; do
		at=$((from + k * ($(stat_of honest sections_B) - 1) / 7))
		old=$(od -An -tu1 -j $at -N 1 honest)
		cp honest bent
		printf '%b' "\\0$(printf %o $((old ^ 1 << k)))" |
		    dd of=bent bs=1 seek=$at conv=notrunc 2>/dev/null
		t "$format: byte $k of 8 is changed" 1 layerpack --verify bent
		shows "$format: which is a section's" \
		    'bent: section [12] of the trace is damaged' .t.err
	done
	# the sections and the trace of other files, if they fit here
	if [ "$from" = $(($(stat_of liar trace_offset_B) -
	    $(stat_of liar sections_B))) ]; then
		head -c "$(stat_of liar trace_offset_B)" liar |
		    tail -c +$((from + 1)) >sections
		{ head -c "$from" honest; cat sections; trace_of liar; } >grafted
		table honest | sed "s/\(\"coldpressTrace\":{\)[^}]*/\1\
\"offset\":$(stat_of liar trace_offset_B),\
\"length\":$(stat_of liar trace_B),\
\"digest\":\"sha256:$(trace_of liar | sha256sum | cut -d ' ' -f 1)\"/" \
		    >table.json
		finish $format grafted
		t "$format: a section that differs" 1 \
		    layerpack --verify grafted
		shows "$format: is reported" \
		    'grafted: first: the trace differs' .t.err
	else
		skip "$format: the layers differ in size"
	fi
	echo no >names
	t "$format: a list of other files" 1 layerpack -q -f -F $format \
	    --order list --order names -o other honest.tar
	shows "$format: is named" 'names: none of its paths' .t.err
	echo third >names
	t "$format: two lists" 0 layerpack -q -f -F $format --order names \
	    --order list2 -o other honest.tar
	is "$format: the first is first" \
	    "$(layerpack -t other | grep -v / | tr '\n' ' ')" \
	    'third second first '
done
i=0 many=''
while [ $i -lt 17 ]; do
	i=$((i + 1)) many="$many --order list"
done
# shellcheck disable=SC2086
t '17 lists' 1 layerpack -F estargz $many -o other honest.tar
shows 'are too many' 'at most 16 times' .t.err
# shellcheck disable=SC2086
t '16 lists' 0 layerpack -f -q -F estargz ${many#* --order list} -o other \
    honest.tar
# Global records apply to what follows them: only those before all entries can
# stay where they are.
if have python3; then
	python3 - <<'END'
import tarfile


def global_of(text):
    """A global header with this record."""
    return tarfile.TarInfo.create_pax_global_header({'comment': text})


def archive(name, before, between):
    with open(name, 'wb') as f:
        f.write(before)
        for i, member in enumerate(('a', 'b')):
            if i:
                f.write(between)
            f.write(tarfile.TarInfo(member).tobuf())
        f.write(bytes(1024))


one = global_of('x')
archive('none.tar', b'', b'')
archive('first.tar', one + global_of('y' * 1000), b'')
archive('between.tar', one, one)
END
	echo b >list
	# order NAME: reorders NAME.tar into NAME.gz
	order() {
		layerpack -q -f -F estargz --order list --no-compact-index \
		    -o "$1.gz" "$1.tar"
	}
	for name in none first; do
		t "global records, $name" 0 order $name
		is "global records, $name: the order" \
		    "$(tar -tzf $name.gz | grep '^.$' | tr -d '\n')" ba
	done
	is 'global records come first' \
	    "$(gzip -dc first.gz | tail -c +157 | head -c 1)" g
	t 'global records between entries' 1 order between
	shows 'global records between entries: why' \
	    'global extended headers between its entries' .t.err
else
	skip 'no python3'
fi
done_testing
