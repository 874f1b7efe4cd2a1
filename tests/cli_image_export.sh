#!/bin/sh
# Tests the image study on a small tree: rows, resuming and failures.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/study.sh"

have lap || skip_all 'no lap'
have mksquashfs || skip_all 'no mksquashfs'
# unsquashfs works for root and other users alike.
study() { sh "$SRC/scripts/image-export" --quick --reader unsquashfs "$@"; }
# runs FILE: prints the number of exports per cell, as LABELxN ...
runs() {
	grep -v '^#' "$1" | awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] ~ /[.]p[0-9]+$/ { n[$at["label"]]++ }
	END { for (l in n) print l "x" n[l] }' | sort | tr '\n' ' '
}
# value FILE LABEL COLUMN: prints a value from the label's first row
value() {
	grep -v '^#' "$1" | awk -F , -v label="$2" -v column="$3" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] == label { print $at[column]; exit }'
}
# fact FILE LABEL KEY: prints a value from the first row's keys
fact() {
	value "$1" "$2" keys | tr ';' '\n' | sed -n "s/^$3=//p"
}

t 'the study runs' 0 to table study -n 2 -o r.csv \
    --rows 'none.p2 none.nodup.p2 lz4.p? zstd[12].p2 zstd1.nodup.p2'
is 'every cell has its rows' "$(runs r.csv)" \
    'lz4.p2x2 lz4.p4x2 lz4.p8x2 none.nodup.p2x2 none.p2x2 zstd1.nodup.p2x2 zstd1.p2x2 zstd2.p2x2 '
t "the study's own table" 0 grep -q \
    '^lz4hc  *4 |  3.9 16m59.8s   60.4 | not measured$' table
t 'next to ours' 0 grep -E -q \
    '^zstd1 +2 \|  2.0  1m20.6s   55.4 \|  2 +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{3} +[0-9]+\.[0-9]{2}$' table
t 'two runs decide nothing' 0 grep -q 'not decided: fewer than 6 pairs' table
t 'duplicates were found' 0 test "$(fact r.csv zstd1.p2 dup_n)" -gt 50
is 'and kept on request' "$(fact r.csv zstd1.nodup.p2 dup_n)" ''
t 'which takes space' 0 test "$(fact r.csv zstd1.nodup.p2 image_B)" \
    -gt "$(fact r.csv zstd1.p2 image_B)"
is 'threads do not change the image' "$(fact r.csv lz4.p2 image_B)" \
    "$(fact r.csv lz4.p8 image_B)"
t 'reading back took memory' 0 test "$(value r.csv lz4.p2.read maxrss_KiB)" \
    -gt 1000
is 'who read' "$(fact r.csv lz4.p2.read reader)" unsquashfs
is 'no image is left' "$(find r.csv.d -name '*.sqsh' -o -name '*.out')" ''
t 'lapcmp reads the rows' 0 lapcmp r.csv
t 'sqpack is only in requested rows' 1 grep -Eq '[.]sqpack|by sqpack' table
if have gnuplot; then
	for chart in p2 duplicates; do
		t "chart: $chart" 0 grep -q '</svg>' "r-$chart.svg"
		t "its data: $chart" 0 test -n "$(cat r-"$chart"*.tsv)"
	done
fi

cp r.csv before.csv
t 'again: nothing is run' 0 to table2 study -n 2 -o r.csv
t 'the same rows' 0 sh -c 'grep -v "^#" before.csv >x; grep -v "^#" r.csv | cmp - x'
t 'more runs' 0 study -n 3 -o r.csv prepare
t 'step by step' 0 study -o r.csv run
is 'three of each' "$(runs r.csv)" \
    'lz4.p2x3 lz4.p4x3 lz4.p8x3 none.nodup.p2x3 none.p2x3 zstd1.nodup.p2x3 zstd1.p2x3 zstd2.p2x3 '

t 'other cells' 0 study -o r.csv -n 3 --rows 'zstd1.p2 lz4hc.p2'
is 'are added to those that were run' "$(runs r.csv)" \
    'lz4.p2x3 lz4.p4x3 lz4.p8x3 lz4hc.p2x3 none.nodup.p2x3 none.p2x3 zstd1.nodup.p2x3 zstd1.p2x3 zstd2.p2x3 '
for other in '--threads 3' --cold '-S 7' '--from debian' --subset \
    '--program true' '--start squashfuse'; do
	case $other in
	--cold) [ "$(id -u)" = 0 ] || continue ;;
	esac
	# shellcheck disable=SC2086
	t "continuing with another $other" 1 told study -o r.csv $other
	t 'is refused' 0 grep -q 'was started with a different' err
done

killed k.csv sh "$SRC/scripts/image-export" --quick --reader unsquashfs -n 8 \
    --rows 'none.p2 zstd1.p2' -o k.csv
t 'it continues after KILL' 0 study -n 8 -o k.csv
is 'every run once' "$(runs k.csv)" 'none.p2x8 zstd1.p2x8 '
is 'and again no image is left' \
    "$(find k.csv.d -name '*.sqsh' -o -name '*.out' -o -name '.0*')" ''

# Programs that fail.
faked() { PATH="$PWD/fake:$PATH" study "$@"; }
real=$(command -v mksquashfs)
fake mksquashfs <<EOF
case "\$1 \$*" in
*/try' '*) case \$* in *'-comp lz4'*) echo no such compressor; exit 1 ;; esac ;;
*' -Xcompression-level 2'*) exit 1 ;;
*' -Xcompression-level 3'*) kill -KILL \$\$ ;;
esac
exec $real "\$@"
EOF
t 'failing exports' 0 to table faked -n 2 -o f.csv \
    --rows 'none.p2 lz4.p2 zstd[123].p2'
is 'failed cells are kept' "$(runs f.csv)" \
    'none.p2x2 zstd1.p2x2 zstd2.p2x2 zstd3.p2x2 '
is 'as failed' "$(value f.csv zstd2.p2 exit)" 1
is 'or killed' "$(value f.csv zstd3.p2 signal)" 9
is 'nothing was read back' "$(value f.csv zstd2.p2.read exit)" ''
t 'and the report says so' 0 grep -q \
    '^zstd2.p2: 2 of 2 runs failed and are left out$' table
t 'unknown values are missing' 0 grep -q \
    '^lz4  *2 |.*| missing: no such compressor$' table
rm fake/mksquashfs

fake df <<'EOF'
printf 'Avail\n1000000\n'
EOF
t 'too little space: refused' 1 told faked -n 1 -o full.csv prepare
t 'with a message' 0 grep -q 'takes up to .* bytes, but only 1000000 are free' err
t 'too little space for a cell' 1 faked -n 9 --rows none.p2 -o k.csv
is 'which is not a run' "$(find k.csv.d/rows -name '0*.csv' | wc -l)" 16
rm fake/df

# Tests the content sources.
fake pip3 <<'EOF'
echo "$TMPDIR" >pip
exit 1
EOF
fake mmdebstrap <<'EOF'
exit 1
EOF
t 'pytorch cannot be downloaded' 77 told faked --from pytorch --subset -o s.csv
t 'the reason' 0 grep -q 'cannot be downloaded' err
is 'it would have been downloaded next to the rows' "$(cat pip)" \
    "$PWD/s.csv.d/wheels/tmp"
t 'debian cannot be downloaded' 77 faked --from debian -o s.csv
t 'no such source' 1 faked --from moon -o s.csv
if have skopeo && have umoci && umoci init --layout layout 2>/dev/null; then
	mkdir tree
	seq 20000 >tree/a
	umoci new --image layout:one 2>/dev/null
	umoci insert --image layout:one --rootless tree /tree 2>/dev/null
	t 'oci' 0 study --from oci oci:layout:one -n 1 --rows zstd1.p2 -o o.csv
	same 'is unpacked' o.csv.d/tree/tree/a tree/a
	t 'an unreachable registry' 77 told study --from oci oci:nowhere:x \
	    -o u.csv
	t 'a message' 0 grep -q ': oci:nowhere:x cannot be reached$' err
	t 'a missing registry' 77 study \
	    --from oci 127.0.0.1:1/some/image:1 -o u.csv
	fake skopeo <<'EOF'
for arg; do
	case $arg in
	*-tls-* | docker:* | oci:layout:*) printf '%s ' "$arg" >>asked ;;
	esac
done
exit 1
EOF
	for image in 127.0.0.1:5/a:1 localhost/a hub.org:5/a/b c/d:2 e \
	    oci:layout:f docker://127.0.0.1/g; do
		t "oci $image" 77 faked --from oci $image -o u.csv
	done
	is 'is requested by its type' "$(cat asked)" "$(printf '%s ' \
	    --src-tls-verify=false docker://127.0.0.1:5/a:1 \
	    --src-tls-verify=false docker://localhost/a docker://hub.org:5/a/b \
	    docker://c/d:2 docker://e oci:layout:f --src-tls-verify=false \
	    docker://127.0.0.1/g)"
	rm fake/skopeo
else
	skip 'no skopeo or umoci'
fi
odd='blanks [x] & more'
mkdir "$odd"
seq 20000 >"$odd/a [b] & c"
t 'odd names' 0 to table study -n 1 --rows 'zstd[12].p2' --program : \
    -o "$odd.csv" "$odd"
is 'have rows' "$(runs "$odd.csv")" 'zstd1.p2x1 zstd2.p2x1 '
! have gnuplot || t 'and charts' 0 grep -q '</svg>' "$odd-p2.svg"
mkdir scratch scratch/coldpress.out
t 'unpacking elsewhere' 0 study -n 1 --rows 'zstd1.p2' --scratch scratch \
    -o x.csv "$odd"
is 'leaves what existed' "$(ls scratch)" coldpress.out

# A plan planted by another user is not followed.
mkdir planted.csv.d
sed 's/^start	.*/start	touch obeyed/' o.csv.d/plan >planted.csv.d/plan \
    2>/dev/null || printf 'start\ttouch obeyed\n' >planted.csv.d/plan
chmod o+w planted.csv.d
t 'a folder that everybody can write to' 1 told study -o planted.csv run
t 'is reported' 0 grep -q 'can be written by others' err
t 'and its plan is not followed' 1 test -e obeyed

mkdir own
seq 20000 >own/a
cp own/a own/b
if have enroot; then
	t 'enroot' 0 study --enroot -n 1 --rows zstd1.p2 -o ee.csv own
	is 'its image' "$(fact ee.csv zstd1.p2 dup_n)" 1
else
	t 'without enroot' 77 study --enroot -o x.csv own
fi
# enroot prints mksquashfs's messages on standard error.
fake enroot <<'EOF'
[ "$1 $2" = 'export -o' ] || exit 2
mksquashfs "$ENROOT_DATA_PATH/$4" "$3" -all-root -no-progress \
    -processors $ENROOT_MAX_PROCESSORS $ENROOT_SQUASH_OPTIONS >&2
EOF
t 'enroot, or a stand-in' 0 faked --enroot -n 1 --rows zstd1.p2 -o e.csv own
t 'makes an image' 0 test "$(fact e.csv zstd1.p2 image_B)" -gt 4000
is 'and its output is read' "$(fact e.csv zstd1.p2 dup_n)" 1
t 'another tree' 1 faked --enroot -o e.csv tree
t 'rows inside the tree' 1 study -n 1 -o own/x.csv own
t 'no tree' 1 study -o n.csv none
t 'no such reader' 1 study --reader eyes -o n.csv own
t 'an invalid number' 1 study -n x -o n.csv own
t 'an invalid option' 2 study --nope
t 'an unknown start' 1 study --start car -o n.csv own

# sqpack's exports next to those of mksquashfs
if have sqpack; then
	mkdir store
	t 'both programs' 0 to table study -n 1 -o q.csv --store store \
	    --rows 'none.sqpack.p2 zstd1.p2 zstd1.sqpack.p2' --start create
	is 'have rows' "$(runs q.csv)" \
	    'none.sqpack.p2x1 zstd1.p2x1 zstd1.sqpack.p2x1 '
	t 'side by side' 0 grep -E -q \
	    '^  by sqpack +\| +\|  1 +[0-9.]+ +[0-9.]+ ' table
	t 'of the same content' 0 sh -c "grep -v '^#' q.csv | grep -c image_B"
	t 'the load' 0 test -n "$(fact q.csv zstd1.sqpack.p2 busy_pct)"
	t 'is a table' 0 grep -E -q '^zstd1.sqpack +2 +[0-9.]+ +[0-9.]+' table
	is 'the images existed' "$(sed -n 's/^# store: \([^,]*\),.*/\1/p' \
	    q.csv.provenance | head -n 1)" "$PWD/store"
	is 'and have been removed' "$(ls store)" ''
	for label in zstd1.p2 zstd1.sqpack.p2; do
		is "unpacked and started: $label" \
		    "$(value q.csv $label.start exit)" 0
	done
fi
done_testing
