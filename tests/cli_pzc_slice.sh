#!/bin/sh
# The slices of a file, joined, are the bytes of one run of pzc -i or --seekable,
# which the usual programs read.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have pzseek || skip_all 'pzseek is not built'

# text, bytes that do not compress, runs, zeros
{
	seq 300000
	head -c 1500000 /dev/urandom
	yes aaaaaaaaaaaaaaaaaaab | head -c 2000000
	head -c 3000000 /dev/zero
	seq 300000 500000
} >data
head -c 2097152 data >even
: >empty
printf x >tiny
head -c 300000 data >sparse
truncate -s 30M sparse
seq 100 >>sparse

# joined FILE N OPTION...: prints the slices of FILE
joined() {
	j_file=$1 j_n=$2 j_k=0
	shift 2
	while [ $((j_k += 1)) -le "$j_n" ]; do
		pzc -q "$@" --slice $j_k/"$j_n" -p $((1 + j_k % 3)) -o part \
		    -f "$j_file" || echo failed
		cat part
	done
}

for f in gzip zstd lz4 xz bzip2; do
	case $f in
	bzip2) set -- -2 ;;
	*) set -- -b 256 ;;
	esac
	for file in data even empty tiny sparse; do
		pzc -q -F $f "$@" -i -p 2 -o "$file.$f" -f $file
		for n in 1 3 20; do
			joined $file $n -F $f "$@" >got
			t "$f: $n slices of $file" 0 cmp got "$file.$f"
		done
		t "$f: -i decodes" 0 to out pzc -dc "$file.$f"
		t "$f: to $file" 0 cmp out $file
		peer=$f
		! have $peer || {
			t "$peer reads it" 0 to out $peer -dc "$file.$f"
			t "as $file" 0 cmp out $file
		}
	done
	pzc -q -F $f "$@" -i -p 1 -o one -f data
	t "$f: the threads do not matter" 0 cmp one data.$f
	t "$f: from a pipe" 0 sh -c "cat data | pzc -q -F $f $* -i -n >piped"
	pzc -q -F $f "$@" -i -n -o one -f data
	t "$f: the same bytes" 0 cmp piped one
	case $f in
	bzip2) ;;
	*)
		t "$f: pzseek" 0 to got pzseek -v data.$f 2000000:1000
		cp .t.err seeked
		tail -c +2000001 data | head -c 1000 >want
		t "$f: finds the range" 0 cmp got want
		t "$f: without the data before it" 1 grep -q 'from the start' seeked
		;;
	esac
done
have pbzip2 && {
	t 'pbzip2 reads streams' 0 to out pbzip2 -dc data.bzip2
	t 'on all cores' 0 cmp out data
}

for level in 1 9; do
	pzc -q -F zstd --seekable -$level -b 256 -o whole -f data
	joined data 3 -F zstd --seekable -$level -b 256 >most
	i=0
	while [ $((i += 1)) -le 3 ]; do
		pzc -q -F zstd -$level -b 256 --slice $i/3 -o part.$i -f data
	done
	t 'a table' 0 pzseek -f -o table --seek-table part.1 part.2 part.3
	cat most table >got
	t '--seekable, of slices' 0 cmp got whole
	t 'the table alone' 0 to table2 pzseek --seek-table part.1 part.2 part.3
	t 'to standard output' 0 cmp table table2
done
t 'a part that is not zstd' 1 pzseek --seek-table part.1 data
shows 'says so' 'data: expected zstd frames' .t.err
zstd -q -c <data >stream.zst 2>/dev/null && {
	t 'a frame of unknown size' 1 pzseek --seek-table part.1 stream.zst
	shows 'says so' 'does not record its size' .t.err
}
t 'no part' 1 pzseek --seek-table nothing
t 'an output that is a part' 1 pzseek -f -o part.1 --seek-table part.1
t 'which is kept' 0 pzc -t part.1

t 'the output is verified' 0 pzc -q --verify --slice 2/3 -o v -f data
t 'also an empty slice' 0 pzc -q --verify --slice 9/9 -o v -f tiny
is 'of nothing' "$(wc -c <v)" 0
t 'standard input' 0 sh -c 'pzc --slice 2/3 -n <data >got'
pzc -n --slice 2/3 -c data >want
t 'the same bytes' 0 cmp got want
t 'a pipe' 1 sh -c 'cat data | pzc --slice 1/2 >got'
shows 'has no slices' 'regular file' .t.err
for bad in 0/3 4/3 1 /2 1/ a/b 1/0; do
	t "$bad" 1 pzc --slice $bad -c data
done
t 'without an output' 1 pzc --slice 1/2 data
t 'data is there' 0 test -s data
t 'two inputs' 1 pzc --slice 1/2 -c data even
t '-R' 1 pzc -R --slice 1/2 -c data
t '--adapt' 1 pzc --adapt --slice 1/2 -c data
t 'zip' 1 pzc -F zip --slice 1/2 -c data
shows 'has no slices' 'only with gzip, zstd, lz4, xz and bzip2' .t.err
t 'legacy lz4' 1 pzc -F lz4 --legacy -i -c data
t 'bzip2 -R' 1 pzc -F bzip2 -R -i -c data
done_testing
