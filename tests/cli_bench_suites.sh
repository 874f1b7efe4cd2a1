# shellcheck shell=sh
# Tests scripts/bench-suites with a made suite of bzip2's shape: what it counts,
# and what it refuses.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

suites() { sh "$SRC/scripts/bench-suites" "$@"; }

t '--help' 0 suites --help
t 'no folder' 2 suites
t 'an unknown option' 2 suites --bogus
t 'a folder that does not exist' 1 suites nothing
mkdir none
t 'a folder that is no suite' 1 suites none

have bzip2 || {
	skip 'no bzip2 to compare with'
	done_testing
}
mkdir suite
for i in 1 2 3; do
	seq $i 900 >suite/sample$i.ref
	bzip2 -c suite/sample$i.ref >suite/sample$i.bz2
done
t 'a suite' 0 suites -v suite
shows 'a suite: all pass' '^bzip2  *6  *6  *0  *0  *100\.0$'
shows '-v lists tests' '^pass  bzip2 sample1 -1$'
# neither program can pass a test whose expectation is wrong
echo other >suite/sample2.ref
t 'a wrong expectation' 0 suites -v suite
shows 'it is not applicable' '^n/a   bzip2 sample2 -d: the peer does not pass'

done_testing
