#!/bin/sh
# containerd's own tests of snapshotters pass with layermount.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
[ -c /dev/fuse ] || skip_all 'no /dev/fuse'
layermount --help | grep -q -e --containerd ||
    skip_all 'layermount was built without --containerd'
have go || skip_all 'go is not installed'
unshare -m --propagation private true 2>/dev/null ||
    skip_all 'no mount namespaces'
cp -r "$SRC/tests/interop/containerd" source
# the module has no sums: what is fetched is only tested with
GOFLAGS=-mod=mod
export GOFLAGS
(cd source && go mod download) 2>err ||
    skip_all "containerd's modules cannot be fetched: $(head -n 1 err)"
t 'the suite is built' 0 sh -c 'cd source && go test -c -o ../suite .'

LAYERMOUNT=$(command -v layermount)
export LAYERMOUNT
unshare -m --propagation private ./suite -test.root -test.v -test.parallel 2 \
    >suite.log 2>&1 || :
# containerd skips one of them itself: Rename
sed -n 's,^=== RUN *TestSuite/,,p' suite.log >cases
while read -r case; do
	result=$(sed -n "s,^ *--- \([A-Z]*\): TestSuite/$case .*,\1,p" \
	    suite.log)
	case $result in
	PASS) ok "$case" ;;
	SKIP) skip "$case" ;;
	*)
		not_ok "$case"
		sed 's/^/# /' suite.log | grep -v 'level=\|helpers' |
		    grep -A 5 'testsuite.go' | head -n 40
		;;
	esac
done <cases
t 'there are 20 cases or more' 0 test "$count" -gt 20
done_testing
