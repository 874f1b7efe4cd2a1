#!/bin/sh
# Runs the tarball study through our own sshd, compressing locally and remotely.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/sshd.sh
. "$SRC/tests/sshd.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
PATH=$PATH:/usr/sbin:/sbin
have sshd || skip_all 'no sshd'
have lap || skip_all 'no lap'
have pzc || skip_all 'no pzc'

trap sshd_end EXIT
trap 'exit 1' HUP INT TERM
sshd_start "$BIN:/usr/bin:/bin"
t 'sshd answers' 0 sshd_try

mkdir tree
seq 200000 >tree/a
t 'local or remote' 0 to table sh "$SRC/scripts/tarball" --quick --warm -n 1 \
    --remote 127.0.0.1 --rows 'R*' -o r.csv tree out
for id in R1 R2 R3 R4 R5 R6 R7 R8 R9; do
	t "row $id" 0 grep -E -q "^$id +tar .* [0-9]+\.[0-9]%\$" table
done
# The remote host stored all data, whether it was compressed there or here.
size() {
	grep -v '^#' r.csv | awk -F , -v label="$1" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["label"] == label && $at["stage"] == "all" { print $at["stdout_B"] }'
}
t 'R1 stored everything' 0 test "$(size R1)" -gt 1000000
t 'R3 stored less' 0 test "$(size R3)" -lt 700000
is 'gzip, local and remote' "$(size R2)" "$(size R3)"
is 'pzc, local and remote' "$(size R6)" "$(size R7)"
done_testing
