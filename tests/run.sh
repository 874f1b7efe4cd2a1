#!/bin/sh
# run.sh TEST: runs one shell test, NAME.sh, or the program of a unit test in a
# fresh directory, with the tools in PATH.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
PATH=${BIN:?}:$PATH
LC_ALL=C
# the scripts first look for the tools in their own build/
COLDPRESS_BIN=$BIN
export PATH LC_ALL COLDPRESS_BIN
unset GZIP PIGZ PZC PZC_STATS 2>/dev/null || :
work=$(mktemp -d "${TMPDIR:-/tmp}/coldpress.XXXXXX")
# clean: removes the directory, even if a second signal arrives; processes left
# behind by a killed command may keep writing for a moment
clean() {
	trap '' HUP INT PIPE TERM
	cd /
	clean_tries=0
	until {
		chmod -R u+rwx "$work"
		rm -rf "$work"
	} 2>/dev/null || [ $clean_tries = 100 ]; do
		clean_tries=$((clean_tries + 1))
		sleep 0.1
	done
}
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
# The files of a killed test are removed with the directory.  A test may make
# its directory accessible to other users.
chmod 711 "$work"
mkdir -m 700 "$work/in" "$work/tmp"
TMPDIR=$work/tmp
export TMPDIR
cd "$work/in"
case $1 in
*.sh) set -- sh "${SRC:?}/tests/$1" ;;
esac
# A shell cannot reset signals that were ignored when it was started, for
# example by nohup or Python.
! env --default-signal true 2>/dev/null || set -- env --default-signal "$@"
"$@"
