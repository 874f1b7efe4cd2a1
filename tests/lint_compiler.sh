#!/bin/sh
# The other compiler must not print any warnings either.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

case $(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "${BIN:?}/CMakeCache.txt") in
*clang*) other=gcc ;;
*) other=clang ;;
esac
have $other || skip_all "no $other"

configure() {
	cmake -S "$SRC" -B build -DCMAKE_C_COMPILER=$other \
	    -DCMAKE_BUILD_TYPE=Debug -DCOLDPRESS_WERROR=ON
}
compile() {
	cmake --build build -j 2 >log 2>&1 || {
		grep -A 6 -e 'error:' -e 'undefined' log | head -n 40
		return 1
	}
}

t "configure for $other" 0 configure
t "no warning from $other" 0 compile
done_testing
