#!/bin/sh
# The version and the date of the release are the same everywhere.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

cd "$SRC" || exit 1
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
release=$(sed -n 's/^\([0-9][^,]*\), /\1 /p' NEWS | head -n 1)
is 'NEWS begins with this version' "${release%% *}" "$version"
day=$(date -u -d "${release#* }" +%Y-%m-%d)
is 'debian/changelog: version' "$(sed -n '1s/.*(\(.*\)-.*/\1/p' \
    debian/changelog)" "$version"
is 'debian/changelog: date' "$(date -u +%Y-%m-%d \
    -d "$(sed -n 's/^ -- .*>  //p' debian/changelog | head -n 1)")" "$day"
is 'coldpress.spec: version' \
    "$(sed -n 's/^Version: *//p' packaging/coldpress.spec)" "$version"
set -f
# shellcheck disable=SC2046
set -- $(sed -n '/^%changelog/{n;p;}' packaging/coldpress.spec)
is 'coldpress.spec: date' "$(date -u -d "$3 $4 $5" +%Y-%m-%d)" "$day"
shift $(($# - 1))
is 'coldpress.spec: last change' "${1%-*}" "$version"
is 'APKBUILD: version' "$(sed -n 's/^pkgver=//p' packaging/APKBUILD)" \
    "$version"
for tool in pzc coldwalk lap; do
	! have $tool || is "$tool -V" "$($tool -V | sed -n \
	    '1s/.*(coldpress) \([0-9.]*\).*/\1/p')" "$version"
done
done_testing
