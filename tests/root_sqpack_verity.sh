#!/bin/sh
# dm-verity of a kernel opens images with a hash tree, serves them, and refuses
# a damaged block: user-mode Linux with the host's files below its root.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || skip_all 'not root'
for name in linux.uml veritysetup timeout insmod; do
	have $name || skip_all "no $name"
done
mods=$(find /usr/lib/uml/modules -name dm-verity.ko 2>/dev/null)
[ -n "$mods" ] || skip_all 'user-mode Linux has no dm-verity'
case $PWD in
/dev/* | /run/* | /proc/* | /sys/*)
	skip_all "$PWD is hidden in the other kernel: set TMPDIR" ;;
esac

mkdir -p tree/sub mnt
seq 200000 >tree/large
head -c 300000 /dev/urandom >tree/noise
echo hi >tree/sub/small
(cd tree && find . -type f | sort | xargs sha256sum) >sums

# the other kernel's first process: opens image with $root, and reads it
cat >init <<'E'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
cd "$(dirname "$0")"
exec >out 2>&1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mods=/usr/lib/uml/modules/$(uname -r)
for last in dm-verity squashfs; do
	# what a module needs is listed behind it, in reverse order
	for mod in $(sed -n "s,^\([^:]*/$last.ko\):,\1,p" $mods/modules.dep |
	    tr ' ' '\n' | tac); do
		insmod $mods/$mod
	done
done
. ./job
poweroff -f
E
chmod +x init
cat >job <<'E'
veritysetup open --hash-offset="$(cat offset)" /dev/ubda image /dev/ubda \
    "$(cat root)" && echo opened
mount -t squashfs -o ro /dev/mapper/image mnt && echo mounted
(cd mnt && find . -type f | sort | xargs sha256sum >../got) && echo read
dmsetup status image
E

# boot IMAGE: runs the job on it
boot() {
	rm -f out got
	timeout -k 10 300 linux.uml mem=256M "ubd0r=$PWD/$1" root=/dev/root \
	    rootfstype=hostfs rootflags=/ rw init="$PWD/init" con0=null,fd:1 \
	    con=null panic=-1 </dev/null >console 2>&1
	[ -e out ] || skip_all 'linux.uml does not boot here'
}

for method in gzip xz zstd lz4; do
	sqpack -f -q -F $method --verity -o image tree >said
	sed -n 's/^root hash: //p' said >root
	sed -n 's/^hash offset: //p' said >offset
	boot image
	shows "$method: it is opened" '^opened$' out
	shows 'mounted' '^mounted$' out
	shows 'and found valid' '^0 [0-9]* verity V' out
	same 'its files are the same' sums got
done
cp image bad
printf '\377' | dd of=bad bs=1 seek=150000 conv=notrunc 2>/dev/null
! cmp -s image bad || printf '\376' |
    dd of=bad bs=1 seek=150000 conv=notrunc 2>/dev/null
boot bad
shows 'a damaged block: opened' '^opened$' out
is 'not read' "$(grep -c '^read$' out)" 0
shows 'and found corrupted' '^0 [0-9]* verity C' out
tr 0-9a-f 1-9a-f0 <root >other
mv other root
boot image
is 'another root hash: not mounted' "$(grep -c '^mounted$' out)" 0
done_testing
