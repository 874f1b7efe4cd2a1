#!/bin/sh
# If some parts are disabled, all other parts are built, and cmake reports what
# is disabled.  The fuzzers are also built.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

parts='ISAL LZO COLDWALK FSRATIO MAILGEN LAP PZSEEK'

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

none=
for part in $parts; do
	t "without $part" 0 build "-DCOLDPRESS_$part=OFF"
	is "is reported" "$(grep -q '^-- left out: ' log && echo yes)" yes
	is 'pzc is built' "$(echo text | build/pzc -c | build/pzc -dc)" text
	none="$none -DCOLDPRESS_$part=OFF"
done
# shellcheck disable=SC2086
t 'without any part' 0 build $none
is 'only pzc' "$(ls build/pzc build/pzseek build/lap build/coldwalk \
    build/fsratio build/mailgen 2>/dev/null)" build/pzc
if have clang; then
	t 'for the fuzzers' 0 build -DCMAKE_C_COMPILER=clang \
	    -DCOLDPRESS_FUZZ=ON -DBUILD_TESTING=ON
else
	skip 'no clang'
fi
done_testing
