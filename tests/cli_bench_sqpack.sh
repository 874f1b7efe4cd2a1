#!/bin/sh
# Tests scripts/bench-sqpack: its rows, its figures, and that it removes its
# files.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have lap || skip_all 'no lap'
have mksquashfs || skip_all 'no mksquashfs'
bench() { sh "$SRC/scripts/bench-sqpack" -o study --out "$PWD" "$@"; }

mkdir given
for i in 1 2 3 4 5 6 7 8 9; do
	seq "$i" 9000 >"given/$i"
done
t 'prepare, run and report' 0 to table bench -n 2 -s 1 --files 20 \
    --jobs 'zstd-1-mixed extract-small threads-zstd-1' given
for job in zstd-1-mixed extract-small; do
	t "$job and its peer" 0 grep -Eq "^\| $job \| (mk|un)squashfs \
[0-9.]+ \| [0-9.]+ \(n < 6\) \| [0-9.]+ \(n < 6\) \| 2 \| [0-9.]+ \([0-9]+ MiB\) \|" \
	    table
done
t 'several threads and one' 0 grep -q '^| threads-zstd-1 | sqpack -p1 | ' table
t 'the size equals that of mksquashfs' 0 \
    grep -q '^| zstd-1-mixed |.*| 1\.00' table
t 'no job needs textures' 1 test -e study/textures
is 'no output is left' "$(find . -maxdepth 1 -name 'coldpress.*')" ''
t 'more runs are added' 0 bench -n 3 --jobs extract-small run
is 'each command was run three times' "$(grep -c '^[^#].*extract-small' \
    study/rows/extract-small.csv)" 6
t 'a job for which an option may be missing' 0 bench -n 1 -s 1 \
    --slow 1 --jobs gzip-best-part -o best given
t 'the whole of a directory' 0 to table bench -n 1 --jobs 'lz4-whole extract-whole' \
    -o whole given
t 'has its size' 0 grep -Eq '^\| lz4-whole \| .* \| 1\.0000 \|$' table
t 'and is extracted' 0 grep -q '^| extract-whole | unsquashfs ' table
is 'without a run to warm up' "$(grep -c '^[^#].*lz4-whole' \
    whole/rows/lz4-whole.csv)" 2
t 'it is reported without its name' 0 bench --jobs extract-whole -o whole report
t 'no whole of this machine' 1 bench --jobs lz4-whole -o none
t 'an unknown option' 2 bench --nothing
done_testing
