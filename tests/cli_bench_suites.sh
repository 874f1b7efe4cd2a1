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

# what is different on purpose is listed, but does not count; all else does
mkdir -p suite2/tests
echo 'exit 0' >suite2/tests/hufts
echo '! gzip --version | grep -q pzc' >suite2/tests/other
cp suite2/tests/other suite2/tests/unpack-valid
t 'differences' 0 suites suite2
shows 'one of the manual' '^n/a   gzip unpack-valid: the formats of pack'
shows 'another one' '^fail  gzip other$'
shows 'what counts' '^gzip  *3  *1  *1  *1  *50\.0$'

done_testing
