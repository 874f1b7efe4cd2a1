#!/bin/sh
# scripts/fuzz runs a target, goes on where it stopped, and keeps a record.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'no python3'
have clang || skip_all 'no clang'

# the record is part of the tree, so this works on a copy
mkdir tree
tar -C "$SRC" --exclude=./build\* --exclude=./.git --exclude=./results -cf - . |
    tar -C tree -xf -
rm -f tree/tests/fuzz/record.tsv
fuzz() { tree/scripts/fuzz -o build "$@"; }
count() { awk -F'\t' '$1 == "args" { print $2 }' tree/tests/fuzz/record.tsv; }

t 'one target' 0 fuzz -m 1 args
first=$(count)
t 'inputs were executed' 0 test "$first" -gt 1000
t 'once more' 0 fuzz -m 1 args
t 'the record counts both' 0 test "$(count)" -gt "$first"
t 'as a table' 0 fuzz table
shows 'the target' '^| args | [0-9]'
t 'not a target' 2 fuzz bogus
done_testing
