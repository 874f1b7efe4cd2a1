#!/bin/sh
# Tests coldpress report --bundle: all rows, no names.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/study.sh
. "$SRC/tests/study.sh"

for tool in pzc lap; do
	have $tool || skip_all "$tool is not built"
done
coldpress() { sh "$SRC/scripts/coldpress" "$@"; }

mkdir secret
seq 1000 >secret/first
seq 2000 >secret/second
printf 'gzip\tpzc -q -o {out} {}\nlz4\tpzc -q -F lz4 -o {out} {}\n' >settings
ls -d secret/* >list
sh "$SRC/scripts/sweep" -q -o s.csv --list list --settings settings >report
lap -q -n 2 -o l.csv -k path=secret/first -k kind=text -l cat -- cat secret/first
cp l.csv l.saved

t 'a bundle' 0 coldpress report --bundle my.tar.gz s.csv.d l.csv
t 'is an archive' 0 tar -xzf my.tar.gz
is 'of rows, comments and a list' "$(find my | sort | tr '\n' ' ')" \
    'my my/1.csv my/1.provenance my/2.csv my/2.provenance my/CONTENTS '
is 'with all rows' "$(cat my/CONTENTS)" "$(printf '1.csv\t4 rows\n2.csv\t2 rows')"
t 'no name is in it' 1 grep -r -e secret -e first -e second my
t 'nor the machine' 1 grep -r -e "host: $(uname -n)" my
t 'nor a path' 1 grep -r / my
t 'but what was measured' 0 grep -q ',lz4,image=n[12];image_B=' my/1.csv
t 'by the same name' 0 grep -q 'path=n3;kind=text' my/2.csv
t 'and the kernel' 0 grep -q '^# kernel: Linux' my/1.provenance
is 'figures are the same' "$(col my/2.csv wall_s)" "$(col l.csv wall_s)"
t 'lapcmp reads them' 0 lapcmp my/2.csv
same 'the rows are untouched' l.csv l.saved

t 'with names' 0 coldpress report --bundle names.tar.zst --names s.csv.d
pzc -dc names.tar.zst | tar -xf -
t 'they are there' 0 grep -q 'image=second' names/1.csv
t 'a file that exists' 1 coldpress report --bundle my.tar.gz l.csv
t 'another suffix' 2 coldpress report --bundle my.zip l.csv
t 'nothing' 2 coldpress report --bundle x.tar.gz
t 'no such rows' 1 coldpress report --bundle x.tar.gz none.csv
t 'nothing is left' 1 test -e x.tar.gz
done_testing
