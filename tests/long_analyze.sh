#!/bin/sh
# What static analysers find is explained, or it is a fault.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'no python3'
any=
for tool in gcc clang-tidy cppcheck; do
	if have $tool; then
		any=y
		t "$tool finds nothing unexplained" 0 \
		    "$SRC/scripts/analyze" -o build $tool
	else
		skip "$tool" 'not installed'
	fi
done
[ -n "$any" ] || skip_all 'no analyser'
done_testing
