#!/bin/sh
# The other compiler must not print any warnings either.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

case $(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "${BIN:?}/CMakeCache.txt") in
*clang*) other=gcc ;;
*) other=clang ;;
esac
have $other || skip_all "no $other"
have python3 || skip_all 'no python3'

configure() {
	cmake -S "$SRC" -B build -DCMAKE_C_COMPILER=$other \
	    -DCMAKE_BUILD_TYPE=Debug -DCOLDPRESS_WERROR=ON \
	    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
}

# commands: prints the command for each file, which only checks it, on a line
commands() {
	python3 -c '
import json, re
for c in json.load(open("build/compile_commands.json")):
    words = re.sub(" -o [^ ]+", "", c["command"])
    print("cd %s && %s -fsyntax-only" % (c["directory"], words))'
}

t "configure for $other" 0 configure
commands | sort -u >list
is 'all files' "$(($(grep -c . list) > 500))" 1
compile() {
	tr '\n' '\0' <list | xargs -0 -n 1 -P 2 sh -c >log 2>&1 || {
		grep -A 6 'error:' log | head -n 40
		return 1
	}
}
t "no warning from $other" 0 compile
done_testing
