#!/bin/sh
# All sources compile with musl's headers too; other libraries' headers are those
# of this system.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have musl-gcc || skip_all 'no musl-gcc'
cmake -S "$SRC" -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >log 2>&1 ||
    tail -n 5 log

# One command for each source: the first one; a JSON string is unescaped once
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' build/compile_commands.json |
    sed 's/\\\(.\)/\1/g' | awk '$NF ~ /\/src\// && !seen[$NF]++ {
	sub(/^[^ ]+/, "musl-gcc -fsyntax-only -Werror=implicit-function-declaration -Werror=overflow")
	sub(/ -o [^ ]+ -c /, " -c ")
	print $0, "-idirafter /usr/include -idirafter /usr/include/" machine
}' machine="$(gcc -print-multiarch)" >commands
compile() { sh -e commands 2>errors || { grep error: errors; return 1; }; }

t 'there are sources' 0 test "$(wc -l <commands)" -gt 100
t 'they compile with musl' 0 compile
done_testing
