# shellcheck shell=sh
# san.sh - builds with a sanitizer and runs the quick tests; sourced
# SPDX-License-Identifier: BSD-2-Clause
# $sanitize names the sanitizer, $compiler the compiler (gcc), and $only the
# tests as a regular expression (all).  The tests of other compilers, the manuals
# and the installation are not repeated.
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

compiler=${compiler:-gcc}
have "$compiler" || skip_all "$compiler is not installed"

configure() {
	cmake -S "$SRC" -B build "-DCMAKE_C_COMPILER=$compiler" \
	    -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	    "-DCOLDPRESS_SANITIZE=${sanitize:?}"
}
compile() {
	cmake --build build -j 2 >log 2>&1 || {
		grep -A 6 -e 'error:' -e 'undefined' log | head -n 40
		return 1
	}
}
run_quick() {
	ctest --test-dir build -L '^quick$' -R "${only:-.}" -E '^(lint\.|cli\.install)' \
	    -j 2 --no-tests=error --output-on-failure >log 2>&1 || {
		tail -c 1900 log
		return 1
	}
}

ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
UBSAN_OPTIONS=print_stacktrace=1
TSAN_OPTIONS=second_deadlock_stack=1
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS

t "configure ($sanitize)" 0 configure
t 'compile' 0 compile
t 'the quick tests' 0 run_quick
done_testing
