#!/bin/sh
# The output does not depend on the processor: it is the same on this machine
# and on an old processor without AVX, emulated by qemu.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have qemu-x86_64 || skip_all 'no qemu-x86_64'
[ "$(uname -m)" = x86_64 ] || skip_all 'not an x86-64 processor'
pzc=$(command -v pzc)
{ seq 300000; head -c 2000000 "$pzc"; } >in

for o in '-F gzip -1' '-F gzip -2' '-F gzip -6' '-F gzip -9' '-F gzip -11' \
    '-F gzip -H' '-F zlib -6' '-F zstd -1' '-F zstd -3' '-F zstd -9' \
    '-F zstd -19' '-F lz4 -1' '-F lz4 -9' '-F bzip2 -9' '-F xz -1'; do
	# shellcheck disable=SC2086
	"$pzc" $o -p2 <in >here
	for cpu in Nehalem Haswell; do
		# shellcheck disable=SC2086
		qemu-x86_64 -cpu $cpu "$pzc" $o -p1 <in >there 2>err
		same "$o on $cpu" here there
	done
done
done_testing
