#!/bin/sh
# Tests scripts/bench-mount: its rows, its figures, and that it unmounts
# everything.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -e /dev/fuse ] || skip_all 'no /dev/fuse'
for tool in lap mksquashfs squashfuse_ll; do
	have $tool || skip_all "no $tool"
done
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp
bench() { sh "$SRC/scripts/bench-mount" -o study "$@"; }

mkdir -p given/dir
for i in 1 2 3 4 5 6 7 8 9; do
	seq "$i" 9000 >"given/dir/$i"
done
t 'run before prepare' 1 bench run
t 'prepare, run and report' 0 to table bench -n 1 --files 5 given
is 'the large files' "$(find study/large -type f | wc -l)" 4
is 'the small files' "$(find study/small -name '[1-9]' | wc -l)" 5
is 'each job has both rows' "$(cut -f 1 study/rows | sort | uniq -c |
    awk '$1 != 2')" ''
is 'all jobs were run' "$(cut -f 1 study/rows | sort -u | wc -l)" 7
is 'a row for each job' "$(grep -c '^| .* | [0-9.]* (n < 6) | [0-9.]* (n < 6) | 1 |$' \
    table)" 7
t 'memory' 0 grep -q '^Peak memory of layermount: [1-9][0-9]* MiB$' table
t 'one job again' 0 bench -n 6 --jobs names run
is 'its rows are replaced' "$(grep -c '^names' study/rows)" 12
t 'an interval' 0 to table bench report
t 'of six pairs' 0 grep -Eq \
    '^\| all names \| [0-9.]+ \([0-9.]+\.\.[0-9.]+\) \|.*\| 6 \|$' table
is 'nothing is mounted' "$(grep -c "$PWD" /proc/self/mounts)" 0
is 'no temporary file is left' "$(ls tmp)" ''
t 'an unknown option' 2 bench --nothing
done_testing
