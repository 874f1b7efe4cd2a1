#!/bin/sh
# Every shell script passes shellcheck, those of the tests in lint_sh_tests.sh.
# Variables that are set or used only in another file take five times as long to
# check, which is left to long.sh.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have shellcheck || skip_all 'no shellcheck'

# is_script FILE: whether it is a script for sh
is_script() {
	case $1 in
	*.sh) return 0 ;;
	esac
	head -n 1 "$1" | grep -q '^#!/bin/sh'
}

cd "$SRC" || exit 1
disabled=$(sed -n 's/^disable=//p' .shellcheckrc)
# shellcheck disable=SC2086
set -- ${lint_scripts-.ci/run scripts/* examples/*}
for script; do
	if [ ! -f "$script" ] || ! is_script "$script"; then
		continue
	fi
	if [ -z "${COLDPRESS_LINT_SOURCED:-}" ]; then
		lint_options="--norc -e $disabled,SC1090,SC1091,SC2034,SC2119,SC2120,SC2154,SC2164"
	elif head -n 1 "$script" | grep -q '^# shellcheck shell=sh'; then
		# A sourced file shares variables with files that it does not
		# source.
		lint_options='-x -e SC2034,SC2154'
	else
		lint_options=-x
	fi
	# Run from the root, where .shellcheckrc is; the output goes to the log.
	# shellcheck disable=SC2086
	if shellcheck $lint_options "$script"; then
		ok "$script"
	else
		not_ok "$script"
	fi
done
done_testing
