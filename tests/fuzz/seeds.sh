#!/bin/sh
# seeds.sh DIR [VECTORS]: creates a folder of seeds for each fuzz target in DIR.
# SPDX-License-Identifier: BSD-2-Clause
#
# The seeds are files of every format made by the installed tools, $BIN/pzc
# first, and the files in the folders of VECTORS, preceded by the control bytes
# that the target expects.
set -eu
dir=${1:?} vectors=${2:-}
PATH=${BIN:+$BIN:}$PATH
LC_ALL=C
export LC_ALL
[ ! -e "$dir/made" ] || [ -z "$(find "$dir/made" -newer "$0")" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
[ -z "$vectors" ] || vectors=$(cd "$vectors" && pwd)
cd "$work"

have() { command -v "$1" >/dev/null 2>&1; }

# seed TARGET NAME PREFIX FILE: adds a seed of at most 64 KiB; PREFIX is a
# printf(1) format
seed() {
	[ "$(wc -c <"$4")" -le 65536 ] || return 0
	mkdir -p "$dir/$1"
	# shellcheck disable=SC2059
	{ printf "$3"; cat "$4"; } >"$dir/$1/$2"
}

# take FILE: adds the file for all suitable targets
take() {
	n=$(basename "$1")
	seed decode "$n" '\001' "$1"
	case $n in
	*.gz|*.bgz)
		seed gzip_header "$n" '' "$1"
		seed seek "$n" '\000\003\000' "$1"
		seed seek "far-$n" '\100\003\000' "$1"
		seed seek "part-$n" '\140\003\000' "$1"
		seed gzip_link "$n" '' "$1"
		tail -c +35 "$1" >raw
		seed gzip_link "raw-$n" '' raw
		tail -c +11 "$1" >raw
		seed inflater "$n" '\007\007\006\010\000\005' raw
		seed deflate_walk "$n" '' raw ;;
	*.zst)
		seed zstd_scan "$n" '\007' "$1"
		seed seek "$n" '\001\003\000' "$1" ;;
	*.lz4)
		seed lz4 "$n" '\000' "$1"
		seed lz4 "right-$n" '\001' "$1"
		seed lz4 "dictionary-$n" '\010' "$1"
		tail -c +12 "$1" >raw
		seed lz4_plain "$n" '' raw
		seed seek "$n" '\002\003\000' "$1" ;;
	*.xz)
		seed seek "$n" '\003\003\000' "$1" ;;
	*.bz2)
		seed bz2_decode "$n" '' "$1" ;;
	*.Z)
		tail -c +3 "$1" >raw
		seed lzw "$n" '\007\007' raw ;;
	esac
}

# The inputs are compressible data, in several blocks, and incompressible data.
seq 9000 >text
head -c 3000 /dev/urandom >noise
cat text noise text >plain
head -c 300 text >few
: >none

for f in plain few none; do
	for o in 'gzip -1' 'gzip -6' 'gzip -6 -i -b 16' 'gzip -11' 'zlib -6' \
	    'zip -6' 'zstd -3' 'zstd -3 -b 16' 'lz4 -1' 'lz4 -9' 'lz4 --legacy' \
	    'lz4 --block-checksum -b 64' 'xz -1' 'xz -0 --check=sha256' \
	    'lzma -1' 'bzip2 -1'; do
		s=$(echo "$o" | sed 's/^gzip/gz/; s/^zstd/zst/; s/^bzip2/bz2/
		    s/\([a-z0-9]*\)\(.*\)/\2.\1/; s/ //g')
		# shellcheck disable=SC2086
		pzc -F $o -c <$f >"$f$s" 2>/dev/null || continue
		take "$f$s"
	done
	for o in 'gzip -9n gz' 'bgzip -c bgz' 'zstd -qc19 zst' 'xz -c0 xz' \
	    'lz4 -qc9 lz4' 'bzip2 -c9 bz2' 'compress -cf Z'; do
		have "${o%% *}" || continue
		s=${o##* }
		# shellcheck disable=SC2086
		${o% *} <$f >"$f-other.$s"
		take "$f-other.$s"
	done
	seed deflate_strong $f '\004' $f
	seed deflate_blocks $f '' $f
	seed lz4_fast $f '' $f
	seed bz2_encode $f '\011' $f
	seed bz2_encode "full-$f" '\377' $f
	seed lzma_encode $f '\001\060\135' $f
	seed lzma_encode $f.after '\001\060\332' $f
	seed zfs_packers $f '' $f
	for o in lc=3 lc=0,lp=3,pb=0 dict=4KiB,mode=fast,mf=hc4,nice=10; do
		have xz || continue
		xz --format=raw --lzma2=preset=1,$o <$f >raw
		seed unlzma "$o-$f" '\007\050' raw
		seed unlzma "small-$o-$f" '\041\003' raw
	done
	seed decode "made-$f" '\000\000\000\000\000\000\000\000' $f
done

# 40 linked blocks
if have pzc; then
	head -c 2600000 /dev/zero | pzc -b 64 -c >linked.gz
	take linked.gz
fi

if have pzseek && pzseek --make-index --spacing 16K plain-other.gz 2>/dev/null; then
	for f in plain-other.gz.*; do
		[ ! -f "$f" ] || seed seek "index-$(basename "$f")" \
		    '\200\003\000' "$f"
	done
fi

# A flipped bit can modify uncompressed tables, but it rarely leaves compressed
# tables valid.
truncate -s 200000 hole
printf end >>hole
for o in v7 ustar gnu oldgnu posix 'gnu -S' 'oldgnu -S' \
    'posix -S --sparse-version=0.0' 'posix -S --sparse-version=0.1' \
    'posix -S'; do
	# shellcheck disable=SC2086
	tar -cf archive --format=$o hole 2>/dev/null || :
	head -c 60000 archive >part
	seed tar "hole$(echo "$o" | tr -d ' ')" '' part
	seed sqpack_tar "hole$(echo "$o" | tr -d ' ')" '\000' part
done
if have mksquashfs; then
	mkdir -p tree/sub/deep
	cp plain tree/a
	cp plain tree/sub/twin
	cp few tree/sub/few
	ln tree/a tree/sub/link
	ln -s ../a tree/sub/deep/soft
	mkfifo tree/pipe
	truncate -s 300000 tree/hole
	i=0
	while [ $i -lt 300 ]; do
		: >"tree/sub/deep/$i"
		i=$((i + 1))
	done
	tar -cf archive --format=posix -S -C tree .
	for o in 000 001 006 012 023 144; do
		seed sqpack_tar "tree$o" "\\$o" archive
	done
	for o in '-comp gzip' '-comp gzip -noI -noD -noF -noX' \
	    '-comp gzip -noI -noX -b 4096' '-comp xz -noI' '-comp zstd -noI' \
	    '-comp lz4 -noI -noF' '-comp lzo -noI' '-comp lzma' \
	    '-comp gzip -noI -no-fragments -no-exports -b 8192'; do
		# shellcheck disable=SC2086
		mksquashfs tree image -noappend -no-progress $o >/dev/null 2>&1 ||
		    continue
		seed squashfs "image$(echo "$o" | tr -d ' ')" '' image
		seed squashfs_reader "image$(echo "$o" | tr -d " ")" '' image
		seed advise_image "image$(echo "$o" | tr -d " ")" '' image
	done
fi

cat >rows <<'EOF'
s1,a,k=1;b=2,cold,1,all,0,,1.5,1,.1,0,3,1
s1,b,k=1;b=2,cold,1,all,0,,2.5,1,.1,0,3,2
s1,a,k=1;b=2,cold,2,all,0,,1.25,1,.1,,3,1
s1,b,k=1;b=2,cold,2,all,1,9,2.5,1,.1,0,3,2
EOF
seed rows with-header '\200' rows
{ echo '# series: s1'; echo 'label,run,wall_s,"keys"'
  echo 'a,1,1e3,"a=""b"""'; echo 'b,1,2,a=1'; } >rows
seed rows its-own '\021' rows
printf '{"label":"a","run":%d,"wall_s":1.5,"series":"s"}\n' 1 2 >rows
seed rows json '\001' rows
echo '{"results":[{"command":"a","times":[1,2],"exit_codes":[0,null],'\
'"parameters":{"n":"1"}}]}' >rows
seed rows hyperfine '\001' rows
{ echo command,mean,stddev,median,user,system,min,max,parameter_n
  echo '"a",1,.1,1,.5,.5,1,2,3'; } >rows
seed rows hyperfine-means '\001' rows
{ echo '1.5user 0.2system 0:01.8elapsed 97%CPU'
  echo 'Command exited with non-zero status 3'
  printf 'real 2\nuser 1\nsys 0.5\n'
  printf '\tCommand being timed: "x"\n\tUser time (seconds): 1\n'
  printf '\tElapsed (wall clock) time (h:mm:ss or m:ss): 0:01.00\n'
  printf '\tExit status: 3\n'; } >rows
seed rows time '\001' rows
printf '9,ns,duration_time,9,1,,\n.4,msec,task-clock:u,4,1,,\n' >rows
seed rows perf '\001' rows
echo '{"a":1.5,"b":"c\"d","e":null,"f":true,"in_B":12}' >object
seed flatjson object '' object
printf 'a/b\n./c//d/\n\nsub/deep/0\na/b\n' >names
seed files_from lines '\000' names
tr '\n' '\0' <names >names0
seed files_from nulls '\001' names0
seed order paths '\000' names
seed order nulls '\001' names0
printf 'order\tpath\to\tl\n2\ta b\t0\t1\n1\tc\t0\t9\n' >touches
seed order touches '\000' touches
printf '# sort\na 3\nb\\ c/d -7\ne\t32767\n' >priorities
seed order priorities '\000' priorities
printf 'sqpack level=12 no-probe\n' >record
seed sqpack_record gzip '\001\000' record
seed sqpack_record zstd '\006\004\003\000\000\000' record
# words NAME FIRST WORD...: adds a command line, with each word followed by a
# NUL
words() {
	words_name=$1 words_first=$2
	shift 2
	printf '%s\0' "$@" >line
	seed sqpack_words "$words_name" "$words_first" line
}
words mk '\000' bin image -noappend -comp xz -Xdict-size 100% -b 1M \
    -Xbcj x86,arm -offset 5K -e a lib/b
words mk-actions '\000' bin image -action \
    'chmod(u=rw,go=r)@perm(/u=x) && !(type(d) || name(*.c))' -a \
    'prune@filesize(<10K)||uid_range(1,9)' -a 'exclude@depth(>2)' -a \
    'xattrs-add(user.a=0x01)@subpathname(sub)' -a 'guid(1,2)@"a b"'
words mk-names '\000' lib bin image -p 'x c 600 0 root 5 1' \
    -p 'l s 777 0 0 a b' -p '/sub M 5 700 1 2' -root-mode 711 -wildcards \
    -e '... *.o'
words mk-regex '\000' lib image -regex -e '^a$/b.*' '... (c|d)[e-f]'
words mk-pseudo '\000' - image -p '/ D 5 755 0 0' -p 'a f 644 0 0 true' \
    -p 'b L a' -p 'a x user.k=0s0000' -force-file-mode u=rw,g+X \
    -xattrs-add user.a=0x41 -uid-gid-offset 5 -sort bin
words star '\003' -comp zstd -Xcompression-level 3 -force-dir-mode 755 image a
words cat '\004' -o 4K image a sub/few
words un '\001' -d out -p 2 -ll image 'sub/*'
words un-cat '\001' -no-wildcards -cat image a sub/few
words own '\002' -F gzip -L 12 -b 64K --raw data,xattrs --exclude '*.o' -o i tree
words own-list '\002' -lv --can-mount=4.9 image
# a SIF file with one descriptor, of an image that would follow
{
	printf '%032d' 0
	printf 'SIF_MAGIC\0000001'
	head -c 40 /dev/zero
	printf '\001\000\000\000\000\000\000\000\200'
	head -c 31 /dev/zero
	printf '\004\100\000\000\001'
	head -c 196 /dev/zero
	printf '\001\000\000\000\002'
	head -c 379 /dev/zero
} >box
seed sif box '' box
# hash trees of one block, of one level and of two, intact and changed in the
# root, in the salt's length and in the data
for blocks in 0 2 129; do
	for edit in '' '\000\020\000\001' '\120\020\000\377' \
	    '\100\000\000\001'; do
		printf "\\$(printf %o $blocks)\\000\\021\\001\\000$edit" >hashes
		seed verity "$blocks-$(cksum <hashes | tr ' ' -)" '' hashes
	done
done
hex=$(printf %064d 0)
printf '{"manifests":[{"digest":"sha256:%s","size":3,"annotations":{"%s":"latest"},"platform":{"architecture":"amd64"}}]}' \
    "$hex" org.opencontainers.image.ref.name >index.json
seed oci index '' index.json
printf '{"layers":[{"digest":"sha256:%s","size":3}]}' "$hex" >manifest.json
seed oci manifest '' manifest.json
# Makes a table of contents, preceded by a member of five bytes.
{
	printf '{"version":1,"entries":[{"name":"d/","type":"dir","mode":493,'
	printf '"modtime":"2001-09-09T01:46:40Z","userName":"u","uid":7},'
	printf '{"name":"a","type":"reg","size":9,"chunkSize":4,"offset":0,'
	printf '"chunkDigest":"sha256:%s","digest":"sha256:%s",' "$hex" "$hex"
	printf '"xattrs":{"user.a":"AP8B"}},{"name":"a","type":"chunk",'
	printf '"chunkOffset":4,"innerOffset":1,"chunkDigest":"sha256:%s"},' \
	    "$hex"
	printf '{"name":"l","type":"symlink","linkName":"a\\udcff"},'
	printf '{"name":"h","type":"hardlink","linkName":"a"},'
	printf '{"name":"c","type":"char","devMajor":1,"devMinor":3}]}'
} >toc.json
seed toc table '\037' toc.json
printf 12345 | gzip -n >member
{ tr '\000' '\001' <member; printf '\000'; cat toc.json; } >layer
for kind in 0 1 2 3; do
	seed layer "made$kind" "\\00$kind" layer
done
{ echo 'd./d'; echo fd/x; echo fd/e/f; printf 'hd/l\td/x\n'; echo fgone
  echo /; echo fd/.wh.x; echo f.wh.gone; echo fd/e; echo cd/y
  echo /; echo fd/.wh..wh..opq; echo dgone; echo fgone/new; } >names
seed merge merged '\000' names
seed merge overlay '\001' names
# Makes a trace of two pieces, as plain content and as a skippable frame.
{
	printf '\002\000\000\000\001\000\000\000\005\000\000\000\000\000\000'
	printf '\000\003\000\000\000\000\000\000\000\002\000\000\000\000\000\000'
	printf '\000\000\000\000\000\002\000\000\000\000\000\000\000abcde'
} >trace
seed trace zstd '\000' trace
seed trace gzip '\001' trace
# The same with a section of one piece, which is 64 bytes at offset 7.
{
	printf '\377\377\377\377\001\000\000\000\007\000\000\000\000\000\000'
	printf '\000\100\000\000\000\000\000\000\000'
	printf '%032d\001\000\000\000' 0
	head -c 44 trace
	printf '\002\000\000\000\011\000\000\000\000\000\000\000\001\000\000'
	printf '\000\000\000\000\000abcde'
} >sectioned
seed trace section '\000' sectioned
seed trace sectiongzip '\001' sectioned
if have zstd; then
	zstd -qf trace
	# shellcheck disable=SC2059
	{ printf 'P*M\030'; printf "\\$(printf %o "$(wc -c <trace.zst)")\\0\\0\\0"
	  cat trace.zst; } >stored
	seed trace stored '\002' stored
fi
# Makes a layer preceded by its length, its ztoc, and a compact index.
if have layerpack && have zstd; then
	{ seq 2000; cat toc.json; } >text
	ln text link
	tar --format=pax -cf layer.tar text link toc.json
	gzip -nk layer.tar
	gzip -n <layer >>layer.tar.gz
	# the zstd frame of a compact index, in a skippable frame
	layerpack -q -f -F zstd-chunked -c 4K -o chunked layer.tar >said
	place=$(sed -n 's/^annotation .*compact-index=sha256:[^:]*://p' said)
	tail -c +$((${place%:*} + 9)) chunked |
	    head -c $((${place#*:} - 8)) | zstd -qdc >compact
	seed compact layer '' compact
	head -c 192 /dev/zero >zeros
	seed compact empty '\001\001' zeros
	for name in raw packed plain; do
		of=layer.tar.gz
		[ $name != plain ] || of=layer.tar
		kind=$name
		[ $name != plain ] || kind=raw
		layerpack -q -f -F ztoc -c 4K --windows $kind -o ztoc $of
		len=$(wc -c <$of)
		cat $of ztoc >both
		# shellcheck disable=SC2046
		seed ztoc $name "$(printf '\\%03o\\%03o\\%03o\\000' \
		    $((len % 256)) $((len / 256 % 256)) $((len / 65536)))" both
		seed flatbuf $name '' ztoc
	done
fi
# A repository's catalogs, unpacked, and its manifest with its certificate
if have layerpack && layerpack -h | grep -q -e '-F cas' && have openssl; then
	mkdir -p cas/dir/sub
	echo one >cas/dir/one
	ln cas/dir/one cas/dir/two
	ln -s one cas/dir/link
	head -c 20000 /dev/zero >cas/dir/sub/large
	for i in $(seq 12); do : >"cas/dir/sub/$i"; done
	tar --format=gnu -cf cas.tar -C cas .
	layerpack -q -F cas --name a.test --catalog 10 -c 4K -o repository cas.tar >said
	i=0
	for of in repository/data/*/*[CX]; do
		i=$((i + 1))
		pzc -F zlib -dc <"$of" >unpacked
		case $of in
		*C) seed cas_catalog "root-$i" '\000' unpacked
		    seed cas_catalog "dir-$i" '\001' unpacked ;;
		*X) { cat repository/.cvmfspublished; printf '\000'
		      cat unpacked; } >signed
		    seed cas_manifest "$i" '' signed ;;
		esac
	done
fi
{ echo 'attachments 20000'; echo 'repeat 65536'; echo 'noise 9000'; } >like
seed mail_like profile '\000' like
i=0
for n in $(seq 0 1024 65535) 65024 65280 65408 65472 65504 65520 65528 \
    65532 65534 65535 65536; do
	echo "size $n $((400 + 40 * i))"
	i=$((i + 1))
done >>like
seed mail_like table '\002' like
{ echo 'From a@b Mon'; echo 'Content-Disposition: attachment'; echo
  echo text; echo; echo 'From c@d Tue'; echo; echo '>From x'; } >mbox
seed mail_like mbox '\001' mbox
seed kind mail '\001' mbox
{ echo 'Nov 25 22:37:33 h a[1]: x'; echo 'Nov 25 22:37:34 h a[1]: y'; } >log
seed kind log '\002' log
printf '\037\213\010\000' >packed
seed kind layer '\006' packed
{ echo 'kernel-5.4,python'; echo '# facts'; printf 'kernel\tsquashfs\tzstd\t4.14\n'
  printf 'kernel\tsquashfs\txz\t-\npython\tstream\tgzip\t3.3\n'; } >facts
seed readers two '' facts
{ echo '# cells'; echo; printf 'one\ttrue\ntwo\techo a\tgrep -q a\n'; } >cells
seed cells two '' cells
{ echo '# Automatically generated'; echo 'CONFIG_SQUASHFS=y'
  echo '# CONFIG_SQUASHFS_ZSTD is not set'; echo 'CONFIG_SQUASHFS_XZ=y'
  echo 'CONFIG_SQUASHFS_FRAGMENT_CACHE_SIZE=3'; } >config
seed kernel_config plain '\377' config
seed kernel_config short '\010' config
pzc -c <config >config.gz
seed kernel_config packed '\377' config.gz
# "aaab" in codes of nine bits, after the byte that says so: a, 257, b
printf '\220\141\002\212\001' >codes
seed lzw codes '\007\007' codes
i=0
for word in 12 -7 16KiB 9223372036854775807 8T -2.5e-1 'a b	c' QUJD QQ== \
    "sha256:$hex" 00ff /a//b/./c ../a "$(printf 'a\033\302\205\351')"; do
	i=$((i + 1))
	printf %s "$word" >word
	seed args $i '' word
done
{ echo 'h.example:443'; echo 'https://u@h.example/v2/a/b/blobs/sha256:0'
  printf '{"auths":{"https://h.example/v1/":{"auth":"dTpw"},"i:5000":{}}}'
} >auth
seed http_auth file '' auth
{ echo 'h.example:443'; echo 'https://h.example/v2/a/blobs/sha256:0'
  printf '{"credHelpers":{"h.example":"ecr-login"},"credsStore":"pass",'
  printf '"ServerURL":"h.example","Username":"<token>","Secret":"\\u00e9="}'
} >auth
seed http_auth helper '' auth
{ echo 'a.org/x/y'
  echo 'unqualified-search-registries = ["docker.io", ] # one'
  echo '[[registry]]'; echo "prefix = 'a.org'"
  echo 'location = "b.org:5000/\u0061"'; echo 'insecure = false'
  echo '[[registry.mirror]]'; echo 'location = """m.org"""'
  echo 'pull-from-mirror = "digest-only"'
  echo '[[registry]]'; echo 'location = "*.c.org"'; echo 'blocked = true'
} >conf
seed registries conf '' conf
{ echo 'a.org/x/y'; echo "server = 'https://a.org'"
  echo '[host."https://m.org".header]'
  echo "x = { y = [1, '2', [3]], z.a = 2026-11-27T21:00:00Z }"
} >conf
seed registries hosts '' conf
{ echo 'a.org/x/y'; echo "ca = ['a.pem', '/b.pem']"; echo 'skip_verify = true'
  echo "client = [['a.cert', 'a.key'], ['b.pem', '']]"
  echo 'header.x-a = "b c"'; echo '[host."https://m.org"]'
  echo "ca = 'c.pem'"; echo "client = 'd.pem'"; echo 'skip_verify = false'
  echo '[host."https://m.org".header]'; echo "x-b = ['1', '']"
} >conf
seed registries certs '' conf
# requests of containerd: Prepare with a label, Update of a label, List
printf '\012\001s\022\001k\032\001p\042\006\012\001a\022\001b' >message
seed snapshots prepare '\000' message
printf '\022\017\012\003one\062\010\012\003a.b\022\001c\032\014\012\012labels.a.b' >message
seed snapshots update '\000' message
printf '\022\012kind==view\042\003\010\226\001\055\001\002\003\004' >message
seed snapshots list '\000' message
printf 'labels."containerd.io/snapshot.ref"==sha256:1,parent=="a\\x2f\\u00e9"' >filter
seed snapshots filter '\200' filter
printf 'name,kind!=active , labels . x == y' >filter
seed snapshots filters '\200' filter
printf 'GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: text/plain\r\n\r\n' >request
seed metrics get '' request
printf 'HEAD /healthz?x=1 HTTP/1.0\n\n' >request
seed metrics head '' request
printf 'POST /metrics HTTP/1.1\r\n\r\n' >request
seed metrics post '' request
printf 'bytes 5-9/12' >header
seed http_header range '' header
printf 'multipart/byteranges; boundary="a b"' >header
seed http_header boundary '' header
printf 'Bearer realm="https://h/t",service="s",scope="repository:a/b:pull"' >header
seed http_header challenge '' header
printf 'Basic realm="r"' >header
seed http_header basic '' header
printf '120' >header
seed http_header retry '' header
{ printf '\r\n--b\r\nContent-Range: bytes 5-9/12\r\n\r\nabcde'
  printf '\r\n--b\r\ncontent-type: x\r\ncontent-range: bytes 0-0/12\r\n\r\nf'
  printf '\r\n--b--\r\n'; } >body
seed multipart two '\007' body
# A cache file: two headers of 48 bytes, without their sums, and their data;
# the last byte asks for correct sums.
{ printf 'layrange'; printf '\000\000\000\000\000\000\000\000'
  printf '\005\000\000\000\000\000\000\000'; head -c 24 /dev/zero
  printf 'abcde'
  printf 'layrange'; printf '\020\000\000\000\000\000\000\000'
  printf '\004\000\000\000\000\000\000\000'; head -c 24 /dev/zero
  printf 'fgh\000'; } >ranges
seed cache ranges '' ranges

if [ -n "$vectors" ]; then
	for f in "$vectors"/*/*; do
		[ ! -f "$f" ] || take "$f"
	done
fi
: >"$dir/made"
