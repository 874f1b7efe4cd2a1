# shellcheck shell=sh
# Tests every format in both directions against the reference tools.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"

# The inputs are empty, one byte, text, incompressible data, and several blocks.
: >empty
printf a >one
seq 1 60000 >text
head -c 300000 /dev/urandom >noise
{ seq 1 500000; cat noise; head -c 3000000 /dev/zero; } >mix
inputs='empty one text mix'

# unpack FORMAT: runs the reference tool from standard input to standard output
unpack() {
	case $1 in
	gzip) gzip -dc ;;
	zlib) python3 -c 'import sys, zlib
i, o = sys.stdin.buffer, sys.stdout.buffer
d = zlib.decompressobj()
o.write(d.decompress(i.read()) + d.flush())
sys.exit(not d.eof or d.unused_data != b"")' ;;
	zip) cat >.u.zip && unzip -p .u.zip ;;
	zstd) zstd -qdc ;;
	lz4) lz4 -qdc ;;
	xz) xz -dc ;;
	lzma) xz -dc --format=lzma ;;
	bzip2) bzip2 -dc ;;
	esac
}

# pack FORMAT
pack() {
	case $1 in
	gzip) gzip -c ;;
	zlib) python3 -c 'import sys, zlib
sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))' ;;
	zip) cat >.p && rm -f .p.zip && python3 -c 'import zipfile
with zipfile.ZipFile(".p.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.write(".p", "x")' && cat .p.zip ;;
	zstd) zstd -qc ;;
	lz4) lz4 -qc ;;
	xz) xz -c ;;
	lzma) xz -c --format=lzma ;;
	bzip2) bzip2 -c ;;
	esac
}

tool_of() {
	case $1 in
	zlib) echo python3 ;;
	zip) echo unzip ;;
	lzma) echo xz ;;
	*) echo "$1" ;;
	esac
}

formats=
for f in gzip zlib zip zstd lz4 xz lzma bzip2; do
	if have "$(tool_of $f)"; then
		formats="$formats $f"
	else
		skip "$f: $(tool_of $f) is missing"
	fi
done

for f in $formats; do
	for i in $inputs; do
		pzc -F "$f" -p2 <"$i" >packed
		is "$f: compresses $i" $? 0
		unpack "$f" <packed >back
		same "$f: the reference reads $i" back "$i"
		pzc -d -p2 <packed >back
		is "$f: reads its own $i" $? 0
		same "$f: reads its own $i back" back "$i"
		pack "$f" <"$i" >packed
		pzc -d -p2 <packed >back
		is "$f: reads the reference's $i" $? 0
		same "$f: reads the reference's $i back" back "$i"
	done
done

# Concatenated members or frames are treated as one stream.
for f in $formats; do
	case $f in zip | zlib | lzma) continue ;; esac
	{ pack "$f" <text; pack "$f" <empty; pzc -F "$f" <mix; pzc -F "$f" <one
	} >packed
	cat text mix one >want
	pzc -d <packed >back
	is "$f: concatenated" $? 0
	same "$f: concatenated, the bytes" back want
	t "$f: concatenated, -t" 0 pzc -t <packed
	unpack "$f" <packed >back
	same "$f: the reference agrees" back want
done

# Output at each level of the format can be read again.
for f in $formats; do
	case $f in
	gzip | zlib | zip) levels='0 1 2 3 4 5 7 8 9 11 12' ;;
	zstd) levels='1 2 4 9 12 19 22' ;;
	lz4) levels='1 2 3 6 9 12' ;;
	xz | lzma) levels='0 1 3 9' ;;
	bzip2) levels='1 2 5 9' ;;
	esac
	for l in $levels; do
		pzc -F "$f" -"$l" <text | unpack "$f" >back
		same "$f -$l" back text
	done
done

# Trailing zeros are padding: any number in gzip, multiples of four in xz.
zeros() { head -c "$1" /dev/zero; }
for n in 1 3 512 100000; do
	{ pzc <text; zeros $n; } >packed
	t "gzip: $n zeros follow" 0 to back pzc -d <packed
	same "gzip: $n zeros follow, the bytes" back text
done
{ pzc <text; echo junk; } >packed
t 'gzip: trailing garbage warns' 2 to back pzc -d <packed
same 'gzip: before the garbage' back text
for n in 4 8 1024; do
	{ pzc -F xz <text; zeros $n; pzc -F xz <one; zeros $n; } >packed
	cat text one >want
	t "xz: padding of $n" 0 to back pzc -d <packed
	same "xz: padding of $n, the bytes" back want
done
{ pzc -F xz <text; zeros 3; } >packed
t 'xz: padding of 3 is refused' 1 to back pzc -d <packed

# Skippable frames before, between and after others, and alone.
frame() { printf '\120\052\115\030\005\000\000\000hello'; }
for f in zstd lz4; do
	case $formats in *$f*) ;; *) continue ;; esac
	{ frame; pack $f <text; frame; frame; pack $f <one; frame; } >packed
	cat text one >want
	t "$f: skippable frames" 0 to back pzc -d <packed
	same "$f: skippable frames, the bytes" back want
done
# A long skippable frame hides which of the two formats follows.
long_frame() {
	printf '\132\052\115\030\140\352\000\000'
	head -c 60000 /dev/zero
}
for f in zstd lz4; do
	case $formats in *$f*) ;; *) continue ;; esac
	pack $f <text >plain.$f
	for o in -p1 -p3 "-F $f"; do
		{ long_frame; cat plain.$f; } >packed
		# shellcheck disable=SC2086
		t "$f: a long skippable frame, $o" 0 to back pzc -d $o <packed
		same "$f: a long skippable frame, $o, the bytes" back text
		{ frame; long_frame; frame; cat plain.$f; long_frame; } >packed
		# shellcheck disable=SC2086
		t "$f: long and short ones, $o" 0 sh -c \
		    "cat packed | pzc -d $o | cmp - text"
	done
	t "$f: -l skips it" 0 pzc -l packed
	shows "$f: -l sees past it: the format" "^$f "
	t "$f: -l of standard input" 0 sh -c 'pzc -l <packed'
	shows "$f: -l of standard input: the size" \
	    "^$f .* $(wc -c <packed) "
	t "$f: -lt" 0 pzc -lt packed
	shows "$f: -lt: both sizes" \
	    "^$f .* $(wc -c <packed)  *$(wc -c <text) "
	if have pzseek; then
		t "$f: pzseek skips it" 0 sh -c \
		    'head -c 5000 text >want; pzseek packed :5000 |
		    cmp - want'
	fi
done
long_frame >packed
t 'a long skippable frame alone is empty' 0 to back pzc -d <packed
same 'a long skippable frame alone, the bytes' back empty
head -c 60007 packed >short
t 'a truncated one is an error' 1 pzc -t short
frame >packed
t 'a skippable frame alone is empty' 0 to back pzc -d <packed
same 'a skippable frame alone, the bytes' back empty

# A gzip header with every field, written byte by byte; the header's checksum is
# the low half of the CRC that gzip itself computes.
crc_of() { gzip -c <"$1" | tail -c 8 | head -c 2; }
body() { gzip -nc <text | tail -c +11; }
{
	printf '\037\213\010\036\001\002\003\004\000\003'
	printf '\005\000ab\001\000x'	# FEXTRA: one subfield
	printf 'na\351me\000'		# FNAME, in Latin-1
	printf 'a comment\000'		# FCOMMENT
} >header
{ cat header; crc_of header; body; } >all.gz
t 'gzip header: FEXTRA FNAME FCOMMENT FHCRC' 0 to back pzc -d <all.gz
same 'gzip header: the bytes' back text
{ cat header; printf 'xx'; body; } >bad.gz
t 'gzip header: a wrong FHCRC is refused' 1 to back pzc -d <bad.gz
for flags in '\001' '\002' '\004' '\010' '\020'; do
	{
		printf '\037\213\010%b\001\002\003\004\000\003' "$flags"
		case $flags in
		'\004') printf '\003\000abc' ;;
		'\010' | '\020') printf 'text\000' ;;
		esac
	} >header
	{ cat header; [ "$flags" != '\002' ] || crc_of header; body; } >one.gz
	t "gzip header: flags $flags" 0 to back pzc -d <one.gz
	same "gzip header: flags $flags, the bytes" back text
done
{ printf '\037\213\010\004\000\000\000\000\000\003\377\377'; zeros 65535
    body; } >extra.gz
t 'gzip header: FEXTRA of 65535 bytes' 0 to back pzc -d <extra.gz
same 'gzip header: FEXTRA of 65535 bytes, the bytes' back text
{ printf '\037\213\010\010\000\000\000\000\000\003'
    head -c 200000 /dev/zero | tr '\000' n; printf '\000'; body; } >long.gz
t 'gzip header: FNAME of 200000 bytes is no crash' 0 sh -c \
    'pzc -d <long.gz >back || [ $? = 1 ]'
for flags in '\040' '\100' '\200'; do
	{ printf '\037\213\010%b\000\000\000\000\000\003' "$flags"; body
	} >r.gz
	t "gzip header: reserved flag $flags is refused" 1 to back \
	    pzc -d <r.gz
done

# .Z
if have compress; then
	for i in one text noise mix; do
		for bits in 10 12 16; do
			compress -b $bits -f -c <$i >packed.Z
			pzc -d <packed.Z >back
			is ".Z: $i, $bits bits" $? 0
			same ".Z: $i, $bits bits, the bytes" back $i
		done
	done
else
	skip 'compress is not installed'
fi
t '.Z is not written' 1 pzc -F compress <text

# zip
if have unzip; then
	pzc -K -k text && unzip -l text.zip >list
	t 'zip: the name is stored' 0 grep -q ' text$' list
	t 'zip: unzip -t' 0 unzip -tq text.zip
	pzc -K -A other <text >a.zip
	t 'zip: -A names it' 0 sh -c 'unzip -l a.zip | grep -q other'
fi

# tar -I, both ways
mkdir tree && cp text noise tree
for e in gz zst xz bz2 lz4; do
	case "$e $formats" in lz4*lz4* | [!l]*) ;; *) continue ;; esac
	case $e in
	gz) o=gzip ;; zst) o=zstd ;; bz2) o=bzip2 ;; *) o=$e ;;
	esac
	t "tar -I pzc: write $o" 0 tar -I "pzc -F $o" -cf tree.tar.$e tree
	rm -rf copy && mkdir copy
	t "tar -I pzc: read $o" 0 tar -I pzc -xf tree.tar.$e -C copy
	same "tar -I pzc: the file ($o)" copy/tree/noise noise
	[ $e = lz4 ] || t "tar alone reads $o" 0 to /dev/null tar -tf tree.tar.$e
done

# By default there is a single gzip member, so a one-shot reader sees all of the
# data.
pzc <mix >mix.gz
t 'gzip: one member' 0 python3 -c 'import zlib
d = zlib.decompressobj(31)
n = len(d.decompress(open("mix.gz", "rb").read()))
assert d.eof and not d.unused_data and n > 6000000'

done_testing
