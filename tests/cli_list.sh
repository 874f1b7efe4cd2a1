#!/bin/sh
# pzc -l shows exact sizes, and marks uncertain ones with ? or +.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

# field KEY FILE...: prints a value from the JSON line
field() {
	f_key=$1
	shift
	pzc -l --json "$@" | sed "s/.*\"$f_key\":\([^,}]*\).*/\1/"
}

# sized NAME FILE SIZE EXACT: checks the output of -l
sized() {
	is "$1: size" "$(field uncompressed_B "$2")" "$3"
	is "$1: exact" "$(field exact "$2")" "$4"
}

# tested NAME FILE SIZE: checks the output of -lt
tested() {
	is "$1: -lt" "$(field uncompressed_B -t "$2")/$(field tested -t \
	    "$2")/$(field compressed_B -t "$2")" \
	    "$3/true/$(wc -c <"$2" | tr -d ' ')"
}

# bytes N: prints incompressible bytes, the same each time
bytes() {
	head -c "$1" /dev/zero | openssl enc -aes-128-ctr -nosalt \
	    -K 00112233445566778899aabbccddeeff -iv 0 2>/dev/null
}

# Text that compresses to a few MB, and a short text
seq 1000000 >text
size=$(wc -c <text | tr -d ' ')
seq 1000 >small
little=$(wc -c <small | tr -d ' ')
: >empty
have openssl || skip_all 'no openssl'
bytes 9000000 >noise

# Every format, at three sizes
for format in gzip zlib zip zstd lz4 xz lzma bzip2; do
	for input in empty small text; do
		pzc -F $format -c $input >"$input.$format"
		n=$(wc -c <$input | tr -d ' ')
		tested "$format of $input" $input.$format "$n"
		case "$format of $input" in
		gzip\ * | zip\ * | zstd\ * | xz\ * | lz4\ of\ small | \
		lz4\ of\ text)
			sized "$format of $input" $input.$format "$n" true ;;
		*)	sized "$format of $input" $input.$format null null ;;
		esac
		is "$format of $input: method" \
		    "$(field method $input.$format)" "\"$format\""
		is "$format of $input: compressed" \
		    "$(field compressed_B $input.$format)" \
		    "$(wc -c <$input.$format | tr -d ' ')"
	done
done
is 'check of zstd' "$(field check text.zstd)" '"XXH64"'
is 'check of lz4' "$(field check text.lz4)" '"XXH32"'
is 'check of xz' "$(field check text.xz)" '"CRC-64"'
is 'check of lzma' "$(field check text.lzma)" '"none"'

# gzip files from pzc itself, too large for -l to walk
for option in '' -R '-b 64' '-b 1000' -0 -i; do
	# shellcheck disable=SC2086
	pzc $option -c noise >own.gz
	sized "own gzip $option" own.gz 9000000 true
done
pzc -c noise >own.gz
pzc -i -c noise >members.gz
cat own.gz own.gz >two.gz
sized 'two of our own files' two.gz 18000000 true
is 'two of our own: members' "$(field frames two.gz)" 2
cat own.gz small.gzip >two.gz
sized 'ours and a small one' two.gz $((9000000 + little)) true
cat small.gzip own.gz text.gzip >two.gz
sized 'a small one, ours and text' two.gz $((9000000 + little + size)) true
cat members.gz own.gz >two.gz
sized 'members and ours' two.gz 18000000 true
head -c 1048576 noise | pzc -c >whole.gz
cat whole.gz whole.gz own.gz >two.gz
sized 'blocks that end with the input' two.gz $((9000000 + 2097152)) true
head -c 5242880 noise | pzc -c >whole.gz
sized 'an empty last block' whole.gz 5242880 true

# honest NAME FILE SIZE: checks that the size is correct or not marked as exact
honest() {
	is "$1" "$(field exact "$2")/$(field uncompressed_B "$2")" \
	    "$(field exact "$2" | sed "s|true|true/$3|; s|false|false/$((
	    $3 % (1 << 32)))|")"
}

# Stored data may resemble one of pzc's files
cat own.gz own.gz | tee twice | pzc -0 -c >stored.gz
is 'sync points in stored data' "$(field exact stored.gz)" true
honest 'sync points in stored data: a bound' stored.gz \
    "$(wc -c <twice | tr -d ' ')"
tested 'sync points in stored data' stored.gz "$(wc -c <twice | tr -d ' ')"
cat two.gz own.gz | tee twice | pzc -6 -c >stored.gz
honest 'gzip in gzip' stored.gz "$(wc -c <twice | tr -d ' ')"
head -c 1350000 noise | openssl base64 | pzc -c >part.gz
for n in 4 5 6 7; do
	head -c ${n}000000 noise | pzc -c | cat part.gz - >twice
	pzc -c twice >stored.gz
	honest "two in one, $n MB" stored.gz "$(wc -c <twice | tr -d ' ')"
done
head -c 20000000 /dev/zero | pzc -0 -c >stored.gz
sized 'headers of stored blocks' stored.gz 20000000 true

# gzip files from other programs
if have gzip; then
	gzip -c noise >foreign.gz
	sized 'foreign gzip' foreign.gz 9000000 false
	is 'foreign gzip: members' "$(field frames foreign.gz)" null
	cat own.gz foreign.gz >two.gz
	is 'ours and foreign: exact' "$(field exact two.gz)" false
	gzip -c text >foreign.gz
	gzip -c small >>foreign.gz
	sized 'small foreign members' foreign.gz $((size + little)) true
	is 'small foreign members: count' "$(field frames foreign.gz)" 2
	gzip -c small >foreign.gz
	head -c 1000 /dev/zero >>foreign.gz
	sized 'padding' foreign.gz "$little" true
	crc=$(gzip -lv foreign.gz 2>/dev/null | awk 'NR == 2 { print $2 }')
	gzip -c small >foreign.gz
	crc=$(gzip -lv foreign.gz | awk 'NR == 2 { print $2 }')
	is 'the check as gzip shows it' "$(field check_value foreign.gz)" \
	    "\"$crc\""
fi
if have bgzip; then
	bgzip -c noise >bgzf.gz
	sized bgzip bgzf.gz 9000000 true
fi

# Several frames and streams
cat text.zstd small.zstd >two.zst
sized 'two of zstd' two.zst $((size + little)) true
cat text.xz small.xz >two.xz
sized 'two of xz' two.xz $((size + little)) true
is 'two of xz: streams' "$(field frames two.xz)" 2
head -c 8 /dev/zero >>two.xz
sized 'padded xz' two.xz $((size + little)) true
if have zstd; then
	zstd -q -c <text >piped.zst
	sized 'zstd of a pipe' piped.zst null null
	zstd -q -c text --no-check >file.zst
	sized 'zstd of a file' file.zst "$size" true
	is 'zstd without a check' "$(field check file.zst)" '"none"'
	cat text.zstd piped.zst >two.zst
	sized 'known and unknown' two.zst null null
	is 'known and unknown sizes: frames' "$(field frames two.zst)" \
	    $(($(field frames text.zstd) + 1))
fi
if have lz4; then
	lz4 -q -c --content-size text >size.lz4
	sized 'lz4 with its size' size.lz4 "$size" true
	lz4 -q -c --content-size small >>size.lz4
	sized 'two of lz4' size.lz4 $((size + little)) true
	lz4 -q -l -c text >old.lz4
	sized 'old lz4' old.lz4 null null
	tested 'old lz4' old.lz4 "$size"
fi
if have xz; then
	xz --format=lzma -c text >known.lzma
	tested 'lzma' known.lzma "$size"
	xz -C sha256 -c text >sha.xz
	is 'check of sha256' "$(field check sha.xz)" '"SHA-256"'
fi
if have compress; then
	compress -c text >text.Z
	sized .Z text.Z null null
	tested .Z text.Z "$size"
fi

# Text output
pzc -l text.gzip small.gzip >out
is 'lines, header and sum' "$(wc -l <out | tr -d ' ')" 4
is 'the sum' "$(awk 'NR == 4 { print $2 }' out)" $((size + little))
pzc -lq text.gzip small.gzip >out
is 'quiet' "$(wc -l <out | tr -d ' ')" 2
pzc -l text.gzip text.bzip2 >out
is 'a sum with something unknown' "$(awk 'END { print $2 }' out)" "$size+"
pzc -l noise.gz >out 2>&1 || :
[ -e foreign.gz ] && gzip -c noise >foreign.gz && pzc -l foreign.gz >out
is 'a lower bound is marked' "$(awk 'END { print $4 }' out)" 9000000+
pzc -lN text.gzip | tail -1 >out
is 'stored name' "$(awk '{ print $NF }' out)" text
t 'more columns with -v' 0 pzc -lv text.gzip small.zstd text.xz
name=$(printf 'new\nline.gz')
cp small.gzip "$name"
is 'a newline in a name' "$(pzc -lq "$name" | awk '{ print $NF }')" \
    'new\012line.gz'

# Pipes, standard input
is 'from a pipe' "$(pzc -l --json <text.gzip | wc -l | tr -d ' ')" 1
is 'a pipe has no size' "$(tail -c +1 text.gzip | pzc -l --json |
    sed 's/.*"uncompressed_B":\([^,]*\).*/\1/')" null
is 'a pipe tested has' "$(tail -c +1 text.gzip | pzc -lt --json |
    sed 's/.*"uncompressed_B":\([^,]*\).*/\1/')" "$size"
is 'standard input that is a file' "$(pzc -l --json <own.gz |
    sed 's/.*"uncompressed_B":\([^,]*\).*/\1/')" 9000000

# Errors
t 'no file' 1 pzc -l nothing.gz
t 'an empty file' 1 pzc -l empty
t 'no format' 1 pzc -l text
mkdir dir
t 'a directory' 2 pzc -l dir
cp small.gzip small.xz dir
is 'a directory with -r' "$(pzc -lrq dir | wc -l | tr -d ' ')" 2
t 'one of two is wrong' 1 pzc -l nothing.gz text.gzip
printf '\037\213\010\377aaaaaaaaaaaaaaaaaaaaaaaaa' >bad
t 'reserved gzip flags' 1 pzc -l bad
for format in gzip zip zstd xz lz4; do
	for n in 5 9 20 100 1000; do
		head -c $n text.$format >cut.off
		t "$format cut at $n" 1 pzc -l cut.off
		t "$format cut at $n, tested" 1 pzc -lt cut.off
	done
done
head -c 1000 text.gzip >bad
bytes 1000 >>bad
t 'corrupt data, tested' 1 pzc -lt bad
{ head -c 200000 own.gz; head -c 100 /dev/zero; tail -c +200101 own.gz; } >bad
t 'corrupt data, untested' 0 pzc -l bad
t 'corrupt data tested' 1 pzc -lt bad

# No file is changed or created
is 'no new files' "$(find dir -type f | wc -l | tr -d ' ')" 2
t 'standard output is full' 1 sh -c 'pzc -l text.gzip >/dev/full'
t 'standard output is full, JSON' 1 sh -c 'pzc -l --json text.gzip >/dev/full'

done_testing
