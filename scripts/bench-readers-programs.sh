# shellcheck shell=sh
# bench-readers-programs.sh - the readers that bench-readers tests
# SPDX-License-Identifier: BSD-2-Clause
# A reader's command reads the file $file, whose format is $format, and writes
# the decompressed data to standard output.  The uncompressed data is the tar
# file $input, whose member is $member.
#
# The sourcing script has sourced lib.sh, and kills the process $server when it
# exits.
: "${tab:?}"

# reader_table: name, formats, command
reader_table() {
	sed "s/ *| */$tab/g" <<'EOF'
gzip | gzip | gzip -dc <"$file"
pigz | gzip zlib | pigz -dc <"$file"
zstd | zstd gzip xz lzma lz4 | zstd -qdc <"$file"
lz4 | lz4 lz4-legacy | lz4 -qdc <"$file"
xz | xz xz-crc32 lzma | xz -dc <"$file"
bzip2 | bzip2 | bzip2 -dc <"$file"
lbzip2 | bzip2 | lbzip2 -dc <"$file"
unzip | zip | unzip -p "$file"
busybox | gzip zip xz xz-crc32 lzma bzip2 | case $format in gzip) busybox gunzip -c <"$file" ;; zip) busybox unzip -p "$file" ;; lzma) busybox unlzma -c <"$file" ;; bzip2) busybox bunzip2 -c <"$file" ;; *) busybox unxz -c <"$file" ;; esac
7z | gzip zip xz xz-crc32 lzma bzip2 zstd | 7z x -so "$file"
bsdcat | gzip zstd lz4 lz4-legacy xz xz-crc32 lzma bzip2 | bsdcat "$file"
bsdtar | gzip zstd lz4 lz4-legacy xz xz-crc32 lzma bzip2 | bsdtar -xOf "$file" >"$reader_dir/member" && cmp "$reader_dir/member" "$member" && cat "$input"
dpkg-deb | gzip zstd xz xz-crc32 lzma bzip2 | readers_deb "$file" "$format"
python-oneshot | gzip zlib zip xz xz-crc32 lzma bzip2 | python3 "$reader_dir/oneshot.py" "$format" "$file"
python-stream | gzip zlib xz xz-crc32 lzma bzip2 | python3 "$reader_dir/stream.py" "$format" "$file"
zstandard-oneshot | zstd | "$zstandard" "$reader_dir/oneshot.py" "$format" "$file"
zstandard-stream | zstd | "$zstandard" "$reader_dir/stream.py" "$format" "$file"
node-oneshot | gzip zlib | node "$reader_dir/oneshot.js" "$format" "$file"
node-stream | gzip zlib | node "$reader_dir/stream.js" "$format" "$file"
lz4js | lz4 | node "$reader_dir/oneshot.js" "$format" "$file"
go | gzip zlib bzip2 | "$reader_dir/reader-go" "$format" "$file"
java | gzip zlib zip | java -cp "$reader_dir" Reader "$format" "$file"
perl-memory | gzip zlib | perl "$reader_dir/memory.pl" "$format" "$file"
perl-IO | gzip zlib zip bzip2 | perl "$reader_dir/io.pl" "$format" "$file"
curl | gzip zlib zstd | cp "$file" "$reader_dir/served" && curl -sS --compressed "http://127.0.0.1:$port/$format"
EOF
}

# reader_there NAME
reader_there() { [ "$(reader_version "$1")" != missing ]; }

# program COMMAND...: prints its name and the first version number in its
# output, or "missing"
program() {
	have "$1" || {
		echo missing
		return
	}
	program_is=$("$@" 2>&1 </dev/null |
	    grep -o '[0-9][0-9]*\.[0-9][0-9.]*' | head -n 1) || :
	printf '%s %s\n' "$1" "${program_is:-of unknown version}"
}

reader_version() {
	case $1 in
	gzip | pigz | lbzip2 | xz | zstd | lz4 | bsdtar | bsdcat | curl)
		program "$1" --version ;;
	dpkg-deb) have ar && program dpkg-deb --version || echo missing ;;
	bzip2) program bzip2 --help ;;
	7z) program 7z i ;;
	unzip) program unzip -v ;;
	busybox) program "$1" --help ;;
	python-*) program python3 --version ;;
	zstandard-*)
		if [ -z "$zstandard" ]; then
			echo missing
		else
			"$zstandard" -c 'import zstandard as z
print("zstandard", z.__version__)'
		fi
		;;
	node-*) program node --version ;;
	lz4js)
		have node && node -p '"lz4js " +
		    require("lz4js/package.json").version' 2>/dev/null ||
		    echo missing ;;
	go)
		[ -x "$reader_dir/reader-go" ] && program go version ||
		    echo missing ;;
	java)
		[ -e "$reader_dir/Reader.class" ] && program java -version ||
		    echo missing ;;
	perl-*) have perl && perl -e 'printf "perl %vd\n", $^V' ||
		    echo missing ;;
	esac
}

# python_pack FORMAT FILE
python_pack() {
	python3 -c 'import sys, zlib, zipfile
format, name = sys.argv[1:]
if format == "zlib":
    sys.stdout.buffer.write(zlib.compress(open(name, "rb").read()))
else:
    with zipfile.ZipFile(sys.stdout.buffer, "w", zipfile.ZIP_DEFLATED) as z:
        z.write(name, "-")' "$1" "$2"
}

python_programs() {
	cat >"$reader_dir/oneshot.py" <<'P'
import bz2, gzip, lzma, sys, zlib
format, name = sys.argv[1:]
data = open(name, "rb").read()
if format == "zstd":
    import zstandard
    out = zstandard.decompress(data)
elif format == "zip":
    import zipfile
    with zipfile.ZipFile(name) as z:
        out = z.read(z.namelist()[0])
else:
    out = {"gzip": gzip, "zlib": zlib, "bzip2": bz2}.get(format,
        lzma).decompress(data)
sys.stdout.buffer.write(out)
P
	cat >"$reader_dir/stream.py" <<'P'
import bz2, gzip, lzma, shutil, sys, zlib
format, name = sys.argv[1:]
out = sys.stdout.buffer
if format == "zlib":
    d = zlib.decompressobj()
    with open(name, "rb") as f:
        while chunk := f.read(65536):
            out.write(d.decompress(chunk))
    out.write(d.flush())
    sys.exit(not d.eof)
if format == "zstd":
    import zstandard
    with open(name, "rb") as f:
        shutil.copyfileobj(zstandard.ZstdDecompressor().stream_reader(f), out)
else:
    module = {"gzip": gzip, "bzip2": bz2}.get(format, lzma)
    with module.open(name) as f:
        shutil.copyfileobj(f, out)
P
}

node_programs() {
	cat >"$reader_dir/oneshot.js" <<'J'
const fs = require("fs"), zlib = require("zlib");
const [format, name] = process.argv.slice(2);
const data = fs.readFileSync(name);
const out = format === "lz4" ? require("lz4js").decompress(data) :
    format === "gzip" ? zlib.gunzipSync(data) : zlib.inflateSync(data);
for (let at = 0; at < out.length; )
	at += fs.writeSync(1, out, at, out.length - at);
J
	cat >"$reader_dir/stream.js" <<'J'
const fs = require("fs"), zlib = require("zlib");
const [format, name] = process.argv.slice(2);
require("stream").pipeline(fs.createReadStream(name),
    format === "gzip" ? zlib.createGunzip() : zlib.createInflate(),
    process.stdout, (err) => { process.exitCode = err ? 1 : 0; });
J
}

go_program() {
	wanted go "$readers" && have go || return 0
	cat >"$reader_dir/reader.go" <<'G'
package main

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"io"
	"os"
)

func main() {
	f, err := os.Open(os.Args[2])
	var r io.Reader
	if err == nil {
		in := bufio.NewReader(f)
		switch os.Args[1] {
		case "gzip":
			r, err = gzip.NewReader(in)
		case "zlib":
			r, err = zlib.NewReader(in)
		default:
			r = bzip2.NewReader(in)
		}
	}
	if err == nil {
		_, err = io.Copy(os.Stdout, r)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}
G
	GOCACHE=$reader_dir/go-cache GOFLAGS=-mod=mod GO111MODULE=off \
	    go build -o "$reader_dir/reader-go" "$reader_dir/reader.go" \
	    2>/dev/null || say 'go: cannot build anything here'
}

java_program() {
	wanted java "$readers" && have javac && have java || return 0
	cat >"$reader_dir/Reader.java" <<'J'
import java.io.*;
import java.util.zip.*;

public class Reader {
	public static void main(String[] a) throws IOException {
		InputStream in = new BufferedInputStream(
		    new FileInputStream(a[1]));
		if (a[0].equals("gzip")) {
			in = new GZIPInputStream(in);
		} else if (a[0].equals("zlib")) {
			in = new InflaterInputStream(in);
		} else {
			ZipInputStream zip = new ZipInputStream(in);
			zip.getNextEntry();
			in = zip;
		}
		in.transferTo(System.out);
		System.out.flush();
	}
}
J
	javac -d "$reader_dir" "$reader_dir/Reader.java" 2>/dev/null ||
	    say 'javac: cannot compile anything here'
}

perl_programs() {
	cat >"$reader_dir/memory.pl" <<'P'
use strict;
use Compress::Zlib;
my ($format, $name) = @ARGV;
open(my $f, '<:raw', $name) or die $!;
my $data = do { local $/; <$f> };
my $out = $format eq 'gzip' ? Compress::Zlib::memGunzip($data) :
    uncompress($data);
defined $out or die "no output\n";
binmode STDOUT;
print $out;
P
	cat >"$reader_dir/io.pl" <<'P'
use strict;
use IO::Uncompress::AnyUncompress qw(anyuncompress $AnyUncompressError);
binmode STDOUT;
anyuncompress($ARGV[1] => '-', MultiStream => 1, BinModeOut => 1)
    or die "$AnyUncompressError\n";
P
}

# Builds a package whose data is the file, and extracts it with dpkg-deb.
deb_program() {
	cat >"$reader_dir/readers_deb" <<'S'
#!/bin/sh
set -e
dir=$(dirname "$0")/deb
rm -rf "$dir"
mkdir "$dir"
case $2 in
gzip) data=data.tar.gz ;;
zstd) data=data.tar.zst ;;
lzma) data=data.tar.lzma ;;
bzip2) data=data.tar.bz2 ;;
*) data=data.tar.xz ;;
esac
cp "$1" "$dir/$data"
cd "$dir"
echo 2.0 >debian-binary
printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@x>\nDescription: x\n' >control
tar -czf control.tar.gz ./control
ar rc x.deb debian-binary control.tar.gz "$data"
dpkg-deb --fsys-tarfile x.deb
S
	chmod +x "$reader_dir/readers_deb"
}

# programs DIR: creates the readers written in other languages
programs() {
	reader_dir=$1/readers zstandard=
	mkdir -p "$reader_dir"
	PATH=$PATH:$reader_dir
	for programs_python in python3 /usr/bin/python3; do
		"$programs_python" -c 'import zstandard' 2>/dev/null || continue
		zstandard=$programs_python
		break
	done
	export reader_dir zstandard PATH
	python_programs
	node_programs
	go_program
	java_program
	perl_programs
	deb_program
}

# serve DIR: starts a server for curl on the loopback interface, at port $port;
# it sends the file "served", with the encoding given in the path
serve() {
	port=
	export port
	wanted curl "$readers" && have curl && have python3 || return 0
	cat >"$reader_dir/server.py" <<'P'
import http.server, sys
served, told = sys.argv[1:]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data = open(served, "rb").read()
        name = self.path.strip("/")
        self.send_response(200)
        self.send_header("Content-Encoding",
            "deflate" if name == "zlib" else name)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(told, "w") as f:
    f.write(str(server.server_address[1]) + "\n")
server.serve_forever()
P
	python3 "$reader_dir/server.py" "$reader_dir/served" "$reader_dir/port" \
	    >/dev/null 2>&1 &
	server=$!
	serve_tries=0
	until [ -s "$reader_dir/port" ] || [ $serve_tries = 3000 ]; do
		sleep 0.1
		serve_tries=$((serve_tries + 1))
	done
	port=$(cat "$reader_dir/port")
}
