#!/bin/sh
# The installed binaries are hardened, and do not name the folder in which they
# were built.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# option NAME: prints an option of this build, or the result of a check
option() { sed -n "s/^$1:[A-Z]*=//p" "${BIN:?}/CMakeCache.txt"; }

have readelf || skip_all 'no readelf'
if [ -n "$(option COLDPRESS_SANITIZE)" ] ||
    [ "$(option COLDPRESS_FUZZ)" = ON ]; then
	skip_all 'built with a sanitizer'
fi

t 'install' 0 env DESTDIR="$PWD/root" cmake --install "$BIN" --prefix /usr
programs=$(find root/usr/bin root/usr/libexec/coldpress -type f |
    while IFS= read -r file; do
	! readelf -h "$file" >/dev/null 2>&1 || echo "$file"
    done)
is 'pzc is one of the binaries' "$(echo "$programs" | grep -c /bin/pzc)" 1

# built_in FILE: prints the strings that name the sources' or the build's folder
built_in() {
	for folder in "$SRC" "$BIN"; do
		strings -a "$1" | grep -E "(^|[^[:alnum:]_./-])$(echo "$folder" |
		    sed 's/[][\.*^$+?(){}|]/\\&/g')(/|\$)"
	done
}
if [ "$(option CMAKE_BUILD_TYPE)" = Debug ]; then
	skip 'the names are for the debugger'
else
	for file in $programs; do
		is "${file##*/} does not say where it was built" \
		    "$(built_in "$file")" ''
	done
fi

if [ "$(option COLDPRESS_HARDEN)" = OFF ]; then
	skip 'COLDPRESS_HARDEN is OFF'
	done_testing
	exit
fi

# has FILE OPTION PATTERN: whether readelf prints such a line
has() { readelf -W "$2" "$1" 2>/dev/null | grep -q -E -e "$3"; }
# needs PATTERN FILE...: whether a function of such a name is called
needs() {
	needs_pattern=$1
	shift
	readelf -W -s "$@" | grep -q -E " UND ($needs_pattern)(@| |\$)"
}

# What this compiler can do, with a program of its own
compiler=$(option CMAKE_C_COMPILER)
cat >own.c <<'END'
#include <stdio.h>
int main(int argc, char **argv)
{
	char text[64];

	return snprintf(text, sizeof(text), argv[0], argc);
}
END
# can FLAG...: whether it accepts these flags
can() { "$compiler" -O2 -w "$@" -o own own.c 2>/dev/null; }
guard='__stack_chk_fail(_local)?' checked='__[a-z]+_chk'
! can -fstack-protector-strong || ! needs "$guard" own || guards=yes
case $(option CMAKE_BUILD_TYPE) in
'' | Rel* | MinSizeRel)
	! can -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 ||
	    ! needs "$checked" own || fortifies=yes
	;;
esac
! can -fcf-protection || ! has own -n 'IBT, SHSTK' || marks=yes
! can -fcf-protection -c || ! has own -n 'IBT, SHSTK' || tracks=yes

for file in $programs; do
	name=${file##*/}
	calls=$file
	if has "$file" -l '^ *INTERP '; then
		t "$name is position-independent" 0 \
		    has "$file" -d 'FLAGS_1.* PIE'
		t 'it binds all functions at startup' 0 \
		    has "$file" -d 'FLAGS_1.* NOW'
	else
		is 'only lap is static' "$name" lap
		# The C library in it does not count.
		calls=$(find "$BIN/CMakeFiles/$name.dir" -name '*.o')
	fi
	t 'its tables are read-only' 0 has "$file" -l '^ *GNU_RELRO '
	t 'its stack is not executable' 0 \
	    has "$file" -l '^ *GNU_STACK .* RW  *0x'
	# shellcheck disable=SC2086
	[ -z "${guards:-}" ] || t 'its stack is guarded' 0 needs "$guard" $calls
	# shellcheck disable=SC2086
	[ -z "${fortifies:-}" ] ||
	    t 'its calls of the C library are checked' 0 \
	    needs "$checked" $calls
	[ -z "${marks:-}" ] || t 'its jumps are tracked' 0 \
	    has "$file" -n 'IBT, SHSTK'
done
# The C library's startup files may lack the mark, and then so does the program.
[ -z "${tracks:-}" ] || is "all of the library's jumps can be tracked" \
    "$(readelf -W -n "$BIN/libcoldpress.a" | grep -c 'IBT, SHSTK')" \
    "$(ar t "$BIN/libcoldpress.a" | wc -l)"
done_testing
