# shellcheck shell=sh
# Decompressing a small stream that expands to a large one uses less than 64 MiB
# with one thread, in every format; COLDPRESS_BOMB_MIB is the large size (256).
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'
! sanitized pzc || skip_all "a sanitizer's memory is not pzc's"
mib=${COLDPRESS_BOMB_MIB:-256}

cat >run.py <<'P'
import os, sys
mib, argv = int(sys.argv[1]), sys.argv[2:]
r, w = os.pipe()
pid = os.fork()
if pid == 0:
    os.dup2(w, 1)
    os.close(r)
    os.execvp(argv[0], argv)
os.close(w)
total, clean = 0, True
while True:
    d = os.read(r, 1 << 20)
    if not d:
        break
    total += len(d)
    clean &= d.count(0) == len(d)
_, status, usage = os.wait4(pid, 0)
print("#", *argv, "->", total, "bytes,", usage.ru_maxrss // 1024, "MiB")
sys.exit(not (status == 0 and total == mib << 20 and clean and
    usage.ru_maxrss < 64 << 10))
P

zeros() { head -c "${mib}M" /dev/zero; }
bomb() {	# NAME FILE [OPTION...]
	b_name=$1 b_file=$2
	shift 2
	t "$b_name" 0 python3 run.py "$mib" pzc -dcp1 "$@" "$b_file"
	head -n 1 .t.out
}
# one stream, and many: a 32 MiB member, repeated as needed
many() {
	: >many
	m_i=0
	while [ $m_i -lt "$mib" ]; do
		cat one
		m_i=$((m_i + 32))
	done >many
}
for f in gzip zlib zip zstd lz4 bzip2 xz lzma; do
	case $f in
	xz | lzma) o=-0 ;;
	*) o=-1 ;;
	esac
	case $f in
	bzip2 | xz | lzma) ;;	# one stream takes minutes to make
	*)
		zeros | pzc -F $f $o >bomb
		bomb "$f: $mib MiB of zeros" bomb
		;;
	esac
	case $f in
	zlib | zip) ;;
	lzma)
		zeros | pzc -F lzma -0 >bomb
		bomb "lzma: $mib MiB of zeros" bomb
		;;
	*)
		head -c 32M /dev/zero | pzc -F $f $o >one
		many
		bomb "$f: members, $mib MiB of zeros" many
		;;
	esac
done
if have gzip; then
	zeros | gzip -1 >bomb
	bomb "another's gzip, $mib MiB of zeros" bomb
fi
if have zstd; then
	zeros | zstd -q -1 >bomb
	bomb "another's zstd, $mib MiB of zeros" bomb
fi
if have lz4; then
	zeros | lz4 -q >bomb
	bomb "another's lz4, $mib MiB of zeros" bomb
fi
if have compress; then
	zeros | compress -c >bomb
	bomb ".Z, $mib MiB of zeros" bomb
fi

done_testing
