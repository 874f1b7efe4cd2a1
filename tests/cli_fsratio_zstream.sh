#!/bin/sh
# Compares fsratio with OpenZFS's own compressors, by running zstream recompress
# on a stream of the same records.  ZSTREAM names the program, if it is not in
# PATH.  ZFS is not needed.  Debian has zstream in zfsutils-linux 2.2 or later
# (backports, contrib), which cannot be installed next to zfs-fuse; it is enough
# to unpack this package, libzfs, libzpool, libnvpair and libuutil with dpkg-deb
# -x DEB DIR.  In that case, ZSTREAM is a script with the single line
# LD_LIBRARY_PATH=DIR/lib/x86_64-linux-gnu exec DIR/sbin/zstream "$@".
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

zstream=${ZSTREAM:-zstream}
have fsratio || skip_all 'no fsratio'
have "$zstream" || skip_all 'no zstream (zfsutils-linux of contrib, 2.2 or later)'

# real ALGORITHM: prints the total size of the recompressed records.  zstream
# keeps every record that shrank; records that ZFS would store uncompressed are
# counted as uncompressed.
real() {
	case $1 in
	zstd-*)	set -- -l "${1#zstd-}" zstd ;;
	esac
	"$zstream" recompress "$@" <stream | "$zstream" dump -v |
	    awk '/^WRITE/ { for (i = 1; i < NF; i++) {
	            if ($i == "logical_size") l = $(i + 2)
	            if ($i == "payload_size") p = $(i + 2) }
	        most = int((l - l / 8 + 511) / 512) * 512
	        sum += p > most ? l : p }
	    END { print sum }'
}

# foretold ALGORITHM: prints the predicted size of the data alone
foretold() {
	fsratio -q --csv --by-size --ashift 9 -a "$1" tree | awk -F , '
	    /^#/ { next } !n { for (i = 1; i <= NF; i++) at[$i] = i; n = 1; next }
	    $at["size_from_B"] != "" { sum += $at["physical_B"] }
	    END { print sum }'
}

# Mail-sized pieces, none small enough to be embedded in a block pointer, and
# multi-record files.
mkdir tree
cat /usr/share/doc/*/copyright /usr/share/common-licenses/* 2>/dev/null |
    head -c 6000000 >text
[ "$(wc -c <text)" -gt 1000000 ] || skip_all 'too little text here'
awk 'BEGIN { srand(3); n = 0 }
    { if (left <= 0) { if (f != "") close(f)
        f = sprintf("tree/%05d", n++)
        left = 1000 + exp(8 + 2 * (rand() + rand() - 1)) }
      print >f; left -= length($0) }' text
cp text tree/text
tar -cf tree/tar -C "$SRC" src include
for f in tree/*; do printf '%s\n' "$f"; done | xargs -n 100000 \
    "$BIN/tests/gen_zstream" 131072 >stream
"$zstream" dump -C <stream >log 2>&1 || skip_all 'zstream reads no such stream'

for a in lzjb zle lz4 zstd-1 zstd-2 zstd-3 zstd-4 zstd-6 zstd-9 zstd-12; do
	is "$a: within 0.3 % of zstream" "$(echo "$(foretold $a) $(real $a)" |
	    awk '{ d = ($1 - $2) / $2
	        if (NF == 2 && d * d < 0.003 ^ 2) print "yes"
	        else print $1 " for " $2 }')" yes
done
done_testing
