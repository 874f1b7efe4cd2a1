# shellcheck shell=sh
# sqpack_numbers.sh - images with many names and large files; needs lib.sh
# SPDX-License-Identifier: BSD-2-Clause

# names_tar DIRECTORIES NAMES: prints an archive with NAMES empty files in each
# directory; every hundredth name has 255 bytes
names_tar() {
	python3 - "$@" <<'EOF'
import sys
dirs, names = int(sys.argv[1]), int(sys.argv[2])
out = sys.stdout.buffer
def header(name, size, kind):
    h = bytearray(512)
    h[:len(name)] = name
    h[100:108] = b'0000644\0'
    h[108:116] = h[116:124] = b'0000000\0'
    h[124:136] = b'%011o\0' % size
    h[136:148] = b'07346545000\0'
    h[148:156] = b' ' * 8
    h[156:157] = kind
    h[257:265] = b'ustar  \0'
    h[148:156] = b'%06o\0 ' % sum(h)
    return bytes(h)
for d in range(dirs):
    for n in range(names):
        name = b'd%04d/n%08d' % (d, n)
        if n % 100 == 0:
            name = name.ljust(261, b'x')
            out.write(header(b'././@LongLink', len(name) + 1, b'L') + name.ljust(512, b'\0'))
        out.write(header(name[:99], 0, b'0'))
out.write(bytes(1024))
EOF
}

# memory_fits STATS NAMES: whether peak memory is at most 64 MiB plus 300 bytes
# per name
memory_fits() {
	[ "$(sed 's/.*"maxrss_KiB":\([0-9]*\).*/\1/' "$1")" -le \
	    $((65536 + $2 * 300 / 1024)) ]
}

# names_hold DIRECTORIES NAMES: checks that an image holds all names, in bounded
# memory
names_hold() {
	rm -f image stats
	names_tar "$1" "$2" >names.tar
	t "directories: $1, names in each: $2" 0 \
	    sqpack -F zstd -L 1 --stats=stats -o image names.tar
	if sanitized sqpack; then
		skip 'memory: a sanitizer uses more'
	else
		t 'memory: 64 MiB and 300 bytes per name' 0 \
		    memory_fits stats $(($1 * $2))
	fi
	is 'all names are listed' "$(sqpack -l image | grep -c '/n')" \
	    $(($1 * $2))
	rm names.tar
}

# sparse_holds SIZE BYTES: checks that an image holds a sparse file with data at
# its end
sparse_holds() {
	rm -rf tree image stats
	mkdir tree
	truncate -s "$1" tree/sparse
	echo end >>tree/sparse
	t "a sparse file of $1" 0 \
	    sqpack -F zstd -L 1 --stats=stats -o image tree
	is 'its size' "$(sqpack -lv image |
	    awk '$NF == "sparse" { print $3 }')" "$2"
	t 'it takes no space' 0 test "$(wc -c <image)" -lt \
	    $((100000 + $2 / 20000))
	if ! sanitized sqpack; then
		t 'nor memory' 0 memory_fits stats 0
	fi
}
