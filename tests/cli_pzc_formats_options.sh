# shellcheck shell=sh
# Every option with every format is accepted, or rejected with a message.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

seq 1 3000 >text
formats='gzip zlib zip zstd lz4 xz lzma bzip2'

# table: prints each option, and the formats that support it
table() {
	cat <<-'E'
	--adapt | gzip zlib zip zstd lz4
	-A name | gzip zip
	-b 128 | gzip zlib zip zstd lz4 xz
	--block-checksum | lz4
	--check=crc32 | xz
	-C crc32 | gzip xz
	-e | xz lzma
	--flush-ms=100 | gzip zlib zip zstd lz4 bzip2
	-H | gzip zlib zip
	-i | gzip zstd lz4 xz bzip2
	--slice=1/2 | gzip zstd lz4 xz bzip2
	-I 3 | gzip zlib zip
	-J 3 | gzip zlib zip
	--legacy | lz4
	--long=20 | zstd
	-M | gzip zip
	-N | gzip zip
	-O | gzip zlib zip
	-R | gzip zlib zip zstd lz4 bzip2
	-U | gzip zlib zip
	--seekable | zstd
	--ultra | zstd
	--memory=2G | gzip zlib zip zstd lz4 xz lzma bzip2
	-n | gzip zlib zip zstd lz4 xz lzma bzip2
	-m | gzip zlib zip zstd lz4 xz lzma bzip2
	-T | gzip zlib zip zstd lz4 xz lzma bzip2
	-p 2 | gzip zlib zip zstd lz4 xz lzma bzip2
	-Y | gzip zlib zip zstd lz4 xz lzma bzip2
	E
}

# taken: checks that the output can be read; refused: checks for status 1, no
# output, and a message that names option and format
taken() {
	# shellcheck disable=SC2086
	pzc -F "$format" $option <text >packed 2>err &&
	    pzc -d <packed | cmp -s - text
}
refused() {
	# shellcheck disable=SC2086
	pzc -F "$format" $option <text >packed 2>err
	[ $? = 1 ] && [ ! -s packed ] && [ "$(wc -l <err)" = 1 ] &&
	    grep -qe "${option%%[ =]*}.* cannot be used with $format, " err
}
table >rows
while IFS='|' read -r option has; do
	option=${option% }
	for format in $formats; do
		case "$has " in
		*" $format "*) t "$format $option: taken" 0 taken ;;
		*) t "$format $option: refused" 0 refused ;;
		esac
	done
done <rows

t 'nothing is created when an option is refused' 1 pzc -k -F xz -R text
is 'nothing is created: no file' "$(echo text*)" text
t '-d accepts them all' 0 sh -c 'pzc <text | pzc -d -i -R --legacy \
    --check=crc32 | cmp - text'
t 'the last of -N and -n counts' 0 pzc -k -F zstd -N -n text
t 'the last of -M and -m counts' 0 pzc -kf -F zstd -M -m text

# Tests combinations of a format's options.
for o in '--check=md5' '-C md5' '--check='; do
	# shellcheck disable=SC2086
	t "xz $o: refused" 1 pzc -c -F xz $o text
	shows "xz $o: the reason" 'none, crc32, crc64' .t.err
done
t 'lz4 --legacy -b: refused' 1 pzc -c -F lz4 --legacy -b 64 text
shows 'lz4 --legacy -b: the reason' '8 MiB' .t.err
t 'lz4 --legacy --block-checksum: refused' 1 \
    pzc -c -F lz4 --legacy --block-checksum text
t 'lz4 -b 8192: refused' 1 pzc -c -F lz4 -b 8192 text
shows 'lz4 -b 8192: the reason' '4 MiB' .t.err

# Tests xz's checks, as shown by pzc -l and by xz.
for c in none:[Nn]one crc32:CRC-*32 crc64:CRC-*64 sha256:SHA-256; do
	pzc -F xz --check="${c%:*}" <text >check.xz
	pzc -F xz -C "${c%:*}" <text >check2.xz
	same "xz -C ${c%:*}: as --check" check.xz check2.xz
	t "xz --check=${c%:*}: listed" 0 pzc -l check.xz
	shows "xz --check=${c%:*}: its name" "^xz  *${c#*:} "
	if have xz; then
		t "xz --check=${c%:*}: tested" 0 xz -t check.xz
		xz -l check.xz >theirs
		shows "xz --check=${c%:*}: by xz" " ${c#*:} " theirs
	fi
done
pzc -F xz <text >check.xz
t 'xz: CRC-64 is the default' 0 sh -c 'pzc -l check.xz | grep -q CRC-64'
t '-C of gzip is a comment' 0 pzc -c -C crc32 text
shows '-C of gzip: stored' crc32

# Tests lz4: lz4(1)'s frame, block checksums on request, and the legacy frame.
flags() { head -c 5 | tail -c 1 | od -An -tx1 | tr -d ' '; }
is 'lz4: only a content checksum' "$(pzc -F lz4 <text | flags)" 64
is 'lz4 --block-checksum' \
    "$(pzc -F lz4 --block-checksum <text | flags)" 74
is 'lz4 --legacy: the magic number' "$(pzc -F lz4 --legacy <text |
    head -c 4 | od -An -tx1 | tr -d ' ')" 02214c18
{ seq 1 3000000; head -c 9000000 /dev/urandom; } >large
is_large() { cmp -s - large; }
pzc -F lz4 --legacy -p1 <large >one
pzc -F lz4 --legacy -p3 <large >three
same 'lz4 --legacy: the same bytes' one three
pzc -d -p3 <three | is_large
is 'lz4 --legacy: read in parallel' $? 0
if have lz4; then
	for l in 1 9; do
		pzc -F lz4 --legacy -$l <large | lz4 -qdc | is_large
		is "lz4 reads --legacy -$l" $? 0
		lz4 -qclz -$l <large 2>/dev/null | pzc -d | is_large
		is "lz4 -l -$l is read" $? 0
	done
	pzc -F lz4 --block-checksum <large | lz4 -qdc | is_large
	is 'lz4 reads --block-checksum' $? 0
	lz4 -qc <text >theirs
	is 'lz4: the same flags' "$(flags <theirs)" 64
fi

# With --long, files whose size is known, and that fit in one piece, end, too
for n in 1 100 4000 200000 5000000; do
	for p in 1 2; do
		head -c $n large >part
		rm -f part.zst
		t "zstd --long -p$p, $n bytes: compressed" 0 \
		    pzc -p $p -F zstd --long=20 part
		t "zstd --long -p$p, $n bytes: read" 0 to .got pzc -dc part.zst
		head -c $n large >.want
		same "zstd --long -p$p, $n bytes: as before" .got .want
	done
done

done_testing
