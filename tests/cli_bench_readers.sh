# shellcheck shell=sh
# Tests scripts/bench-readers: the verdict on each reader and file, and the
# table.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

bench() { sh "$SRC/scripts/bench-readers" "$@"; }

# Readers created here: a correct reader, a reader that stops early without an
# error, and a missing reader.
mkdir bin
cat >bin/gzip <<'S'
#!/bin/sh
[ "$1" != --version ] || { echo gzip 9.9; exit; }
exec pzc "$@"
S
cat >bin/bzip2 <<'S'
#!/bin/sh
[ "$1" != --help ] || { echo bzip2 8.8; exit; }
case $1 in
-dc) pzc -dc | head -c 2000 ;;
*) pzc -F bzip2 "$@" ;;
esac
S
chmod +x bin/*
PATH=$PWD/bin:$PATH
export PATH

t 'runs' 0 bench -o r -s '2000 30000' --formats 'gzip bzip2' \
    --readers 'gzip bzip2'
shows 'a good reader' '^| gzip 9.9 | 4 of 4 |  |$'
shows 'a reader that truncates' '^| bzip2 8.8 |  | 0 of 4 |$'
shows 'its row' \
    '^| bzip2 | bzip2 | 30000 bytes, pipe | 2000 of 40960 bytes without an error |$'
is 'one row each' "$(grep -c '^gzip,gzip,' r/rows.csv)" 8
t 'report alone' 0 bench -o r --formats 'gzip bzip2' report
shows 'report alone: the table' '^| gzip 9.9 | 4 of 4 |  |$'
t 'no rows' 1 bench -o nothing report
t 'an invalid size' 1 bench -s many
t 'an unknown option' 2 bench --nonsense
t '-h' 0 bench -h

done_testing
