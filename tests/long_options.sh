#!/bin/sh
# If some parts are disabled, all other parts are built, and cmake reports what
# is disabled.  The fuzzers are also built.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

libraries='ISAL LZO OCI SQLITE XCB'
tools='COLDWALK FSRATIO LAP LAYERMOUNT LAYERPACK MAILGEN PZSEEK SQPACK TOUCHLOG
    WINWAIT'

# build OPTION...: builds without the tests
build() {
	rm -rf build
	if ! { cmake -S "$SRC" -B build -DCMAKE_BUILD_TYPE=None \
	    -DBUILD_TESTING=OFF -DCOLDPRESS_WERROR=ON "$@" &&
	    cmake --build build -j 2; } >log 2>&1; then
		grep -A 6 -e 'error:' -e 'undefined' log | head -n 40
		return 1
	fi
}

# programs: prints the names of the programs that were built
programs() {
	(cd build && ls pzc coldwalk fsratio lap layermount layerpack mailgen \
	    pzseek sqpack touchlog winwait 2>/dev/null) | tr '\n' ' '
}

none='' least=''
for part in $libraries $tools; do
	t "without $part" 0 build "-DCOLDPRESS_$part=OFF"
	is "is reported" "$(grep -q '^-- left out: ' log && echo yes)" yes
	is 'pzc is built' "$(echo text | build/pzc -c | build/pzc -dc)" text
	none="$none -DCOLDPRESS_$part=OFF"
	case $part in
	COLDWALK | LAP) ;;
	*) least="$least -DCOLDPRESS_$part=OFF" ;;
	esac
done
# shellcheck disable=SC2086
t 'without any part' 0 build $none
is 'only pzc' "$(programs)" 'pzc '
# shellcheck disable=SC2086
t 'coldwalk and lap alone' 0 build $least
is 'only these and pzc' "$(programs)" 'coldwalk lap pzc '
if have clang; then
	t 'for the fuzzers' 0 build -DCMAKE_C_COMPILER=clang \
	    -DCOLDPRESS_FUZZ=ON -DBUILD_TESTING=ON
else
	skip 'no clang'
fi
done_testing
