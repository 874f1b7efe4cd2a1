#!/bin/sh
# Every shell script passes shellcheck.
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
for script in .ci/run scripts/* tests/*.sh; do
	if [ ! -f "$script" ] || ! is_script "$script"; then
		continue
	fi
	# A sourced file shares variables with files that it does not source.
	set --
	! head -n 1 "$script" | grep -q '^# shellcheck shell=sh' ||
	    set -- -e SC2034,SC2154
	# Run from the root, where .shellcheckrc is; the output goes to the log.
	if shellcheck -x "$@" "$script"; then
		ok "$script"
	else
		not_ok "$script"
	fi
done
done_testing
