#!/bin/sh
# A kernel can boot from pzc's output: user-mode Linux unpacks an initramfs,
# whose first process reports its contents (tests/boot_init.c).
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have linux.uml || skip_all 'no linux.uml (package user-mode-linux)'
have cpio || skip_all 'cpio is not installed'
have timeout || skip_all 'timeout is not installed'
mkdir root
"${CC:-cc}" -static -O2 -o root/init "$SRC/tests/boot_init.c" 2>err ||
    skip_all 'no static program can be built here'
# several blocks in every format
seq 1000000 >root/payload
(cd root && find . | cpio -oH newc --quiet) >initrd.cpio ||
    skip_all 'cpio failed'

# boot FILE: prints the output of the first process in that initramfs
boot() {
	timeout -k 10 600 linux.uml mem=256M "initrd=$PWD/$1" rdinit=/init \
	    con0=null,fd:1 con=null panic=-1 </dev/null >log 2>&1
	sed -n 's/^.*\(unpacked [0-9 ]*\).*$/\1/p' log | tr -d '\r'
}

want=$(boot initrd.cpio)
[ -n "$want" ] || skip_all 'linux.uml does not boot here'
is 'all of the payload' "${want% *}" "unpacked $(wc -c <root/payload)"

# boots NAME OPTIONS...
boots() {
	b_name=$1
	shift
	pzc "$@" -c <initrd.cpio >initrd.packed
	b_got=$(boot initrd.packed)
	is "boots: $b_name" "$b_got" "$want"
	[ "$b_got" = "$want" ] || grep -a -i -e error -e panic -e junk log |
	    sed 's/^/# /'
}

for level in -6 -0 -1 -9 -11 -n -R '-9 -n -T -R'; do
	# shellcheck disable=SC2086
	boots "gzip $level" $level
done
pzc -k initrd.cpio
is 'boots: gzip of a named file' "$(boot initrd.cpio.gz)" "$want"
for level in 0 6 9; do
	boots "xz -$level with CRC-32" -F xz --check=crc32 -$level
done
for level in 1 9; do
	boots "lz4 -$level, legacy" -F lz4 --legacy -$level
done
for level in 1 3 9 19; do
	boots "zstd -$level" -F zstd -$level
done
# several jobs, of at least 8 MiB each
seq 3000000 >root/payload
(cd root && find . | cpio -oH newc --quiet) >initrd.cpio
want=$(boot initrd.cpio)
for level in 3 9; do
	boots "zstd -$level of several jobs" -F zstd -$level
done

done_testing
