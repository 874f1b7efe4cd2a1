#!/bin/sh
# Every shell script passes shellcheck.  Variables that are set or used only in
# another file take five times as long to check, which is left to long.sh.
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
for script in .ci/run scripts/* tests/*.sh examples/*; do
	if [ ! -f "$script" ] || ! is_script "$script"; then
		continue
	fi
	if [ -z "${COLDPRESS_LINT_SOURCED:-}" ]; then
		set -- --norc -e "$disabled,SC1090,SC1091,SC2034,SC2119,SC2120,SC2154,SC2164"
	elif head -n 1 "$script" | grep -q '^# shellcheck shell=sh'; then
		# A sourced file shares variables with files that it does not
		# source.
		set -- -x -e SC2034,SC2154
	else
		set -- -x
	fi
	# Run from the root, where .shellcheckrc is; the output goes to the log.
	if shellcheck "$@" "$script"; then
		ok "$script"
	else
		not_ok "$script"
	fi
done
done_testing
