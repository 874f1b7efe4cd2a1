# shellcheck shell=sh
# bench-readers-programs.sh - the readers that bench-readers tests
# SPDX-License-Identifier: BSD-2-Clause
# A reader's command reads the file $file, whose format is $format, and writes
# the decompressed data to standard output.  The uncompressed data is the tar
# file $input, whose member is $member.
#
# The sourcing script has sourced lib.sh, and kills the processes $server and
# $nginx_pid when it exits.  $out is its folder of results.
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
rust-miniz | gzip zlib | "$reader_dir/rust-miniz" flate2 "$format" "$file"
rust-zlib | gzip zlib | "$reader_dir/rust-zlib" flate2 "$format" "$file"
rust-zlib-ng | gzip zlib | "$reader_dir/rust-zlib-ng" flate2 "$format" "$file"
rust-zlib-rs | gzip zlib | "$reader_dir/rust-zlib-rs" flate2 "$format" "$file"
rust-cloudflare | gzip zlib | "$reader_dir/rust-cloudflare" flate2 "$format" "$file"
rust-zstd | zstd | "$reader_dir/rust-others" zstd "$format" "$file"
ruzstd | zstd | "$reader_dir/rust-others" ruzstd "$format" "$file"
lz4_flex | lz4 lz4-legacy | "$reader_dir/rust-others" lz4_flex "$format" "$file"
xz2 | xz xz-crc32 lzma | "$reader_dir/rust-others" xz2 "$format" "$file"
lzma-rs | xz xz-crc32 lzma | "$reader_dir/rust-others" lzma-rs "$format" "$file"
rpm | gzip zstd xz xz-crc32 lzma bzip2 | readers_rpm "$file" "$format"
nginx | gzip | cp "$file" "$reader_dir/nginx/file.gz" && curl -sSf "http://127.0.0.1:$nginx_port/file"
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
	rust-miniz) crate flate2 miniz miniz_oxide ;;
	rust-zlib) crate flate2 zlib libz-sys ;;
	rust-zlib-ng) crate flate2 zlib-ng libz-ng-sys libz-sys ;;
	rust-zlib-rs) crate flate2 zlib-rs zlib-rs libz-rs-sys ;;
	rust-cloudflare) crate flate2 cloudflare cloudflare-zlib-sys ;;
	rust-zstd) crate zstd others ;;
	ruzstd | lz4_flex | xz2 | lzma-rs) crate "$1" others ;;
	rpm) [ -e "$reader_dir/rpm/gzip.rpm" ] && program rpm --version ||
	    echo missing ;;
	nginx) [ -n "$nginx_port" ] && program nginx -v || echo missing ;;
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

# crate NAME FEATURE [BACKEND...]: prints the versions of a crate and of what it
# was built with, or "missing"
crate() {
	[ -x "$reader_dir/rust-$2" ] || {
		echo missing
		return
	}
	crate_feature=$2
	crate_names=$1
	shift 2
	for crate_name in "$@"; do
		crate_names="$crate_names $crate_name"
	done
	awk -v names="$crate_names" -F '"' '
	BEGIN { n = split(names, want, " ") }
	/^name = / { name = $2 }
	/^version = / { version[name] = $2 }
	END {
		for (i = 1; i <= n; i++)
			if (want[i] in version)
				printf "%s%s %s", (i > 1 ? ", " : ""), want[i],
				    version[want[i]]
		print ""
	}' "$reader_dir/rust-lock-$crate_feature"
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

# Builds a program from Rust crates for each backend of flate2, and one for the
# other crates, in $out/rust, where they are found by the next run.
rust_programs() {
	have cargo || return 0
	rust_all='rust-miniz rust-zlib rust-zlib-ng rust-zlib-rs
	    rust-cloudflare rust-others'
	# shellcheck disable=SC2154 # of the sourcing script
	rust_dir=$(mkdir -p "$out/rust/src" && cd "$out/rust" && pwd)
	cat >"$rust_dir/Cargo.toml" <<'T'
[package]
name = "reader"
version = "0.1.0"
edition = "2021"

[dependencies]
flate2 = { version = "1", default-features = false, optional = true }
zstd = { version = "0.13", optional = true }
ruzstd = { version = "0.8", optional = true }
lz4_flex = { version = "0.11", optional = true }
xz2 = { version = "0.1", optional = true }
lzma-rs = { version = "0.3", optional = true }

[features]
miniz = ["flate2", "flate2/rust_backend"]
zlib = ["flate2", "flate2/zlib"]
zlib-ng = ["flate2", "flate2/zlib-ng"]
zlib-rs = ["flate2", "flate2/zlib-rs"]
cloudflare = ["flate2", "flate2/cloudflare_zlib"]
others = ["zstd", "ruzstd", "lz4_flex", "xz2", "lzma-rs"]
T
	cat >"$rust_dir/src/main.rs" <<'R'
use std::fs::File;
use std::io::{self, BufReader};

fn main() -> io::Result<()> {
    let arg: Vec<String> = std::env::args().collect();
    let input = BufReader::new(File::open(&arg[3])?);
    let mut out = io::stdout().lock();
    match (arg[1].as_str(), arg[2].as_str()) {
        #[cfg(feature = "flate2")]
        (_, "gzip") => {
            io::copy(&mut flate2::bufread::GzDecoder::new(input), &mut out)?;
        }
        #[cfg(feature = "flate2")]
        (_, "zlib") => {
            io::copy(&mut flate2::bufread::ZlibDecoder::new(input), &mut out)?;
        }
        #[cfg(feature = "others")]
        ("zstd", _) => zstd::stream::copy_decode(input, &mut out)?,
        #[cfg(feature = "others")]
        ("ruzstd", _) => {
            let mut d = ruzstd::decoding::StreamingDecoder::new(input)
                .map_err(io::Error::other)?;
            io::copy(&mut d, &mut out)?;
        }
        #[cfg(feature = "others")]
        ("lz4_flex", _) => {
            io::copy(&mut lz4_flex::frame::FrameDecoder::new(input), &mut out)?;
        }
        #[cfg(feature = "others")]
        ("xz2", "lzma") => {
            let s = xz2::stream::Stream::new_lzma_decoder(u64::MAX)?;
            io::copy(&mut xz2::bufread::XzDecoder::new_stream(input, s), &mut out)?;
        }
        #[cfg(feature = "others")]
        ("xz2", _) => {
            io::copy(&mut xz2::bufread::XzDecoder::new(input), &mut out)?;
        }
        #[cfg(feature = "others")]
        ("lzma-rs", format) => {
            let mut input = input;
            if format == "lzma" {
                lzma_rs::lzma_decompress(&mut input, &mut out)
            } else {
                lzma_rs::xz_decompress(&mut input, &mut out)
            }
            .map_err(|e| io::Error::other(format!("{e:?}")))?;
        }
        _ => return Err(io::Error::other("not this format")),
    }
    Ok(())
}
R
	for rust_name in $rust_all; do
		if [ "$rust_name" = rust-others ]; then
			wanted rust-zstd "$readers" ||
			    wanted ruzstd "$readers" ||
			    wanted lz4_flex "$readers" ||
			    wanted xz2 "$readers" ||
			    wanted lzma-rs "$readers" || continue
		else
			wanted "$rust_name" "$readers" || continue
		fi
		say "$rust_name: building"
		(cd "$rust_dir" && cargo build -q --release \
		    --target-dir target --features "${rust_name#rust-}" &&
		    cp target/release/reader "$reader_dir/$rust_name" &&
		    cp Cargo.lock "$reader_dir/rust-lock-${rust_name#rust-}") \
		    2>/dev/null || say "$rust_name: cannot be built here"
	done
}

# Makes an empty package for each compressor; a file takes the place of its
# payload, which rpm2cpio decompresses.
rpm_program() {
	wanted rpm "$readers" && have rpmbuild && have rpm2cpio &&
	    have python3 || return 0
	mkdir -p "$reader_dir/rpm"
	printf '%s\n' 'Name: x' 'Version: 1' 'Release: 1' 'Summary: x' \
	    'License: x' 'BuildArch: noarch' '%description' x '%files' \
	    >"$reader_dir/rpm/x.spec"
	for rpm_kind in gzip:w6.gzdio zstd:w3.zstdio xz:w6.xzdio \
	    lzma:w6.lzdio bzip2:w9.bzdio; do
		if rpmbuild -bb --define "_topdir $reader_dir/rpm/top" \
		    --define "_binary_payload ${rpm_kind#*:}" \
		    "$reader_dir/rpm/x.spec" >/dev/null 2>&1; then
			mv "$reader_dir"/rpm/top/RPMS/noarch/*.rpm \
			    "$reader_dir/rpm/${rpm_kind%%:*}.rpm"
		else
			say "rpm: no package with ${rpm_kind%%:*} here"
		fi
	done
	cat >"$reader_dir/swap.py" <<'P'
import struct, sys
package, payload = (open(name, "rb").read() for name in sys.argv[1:])
at = 96				# the lead, then two headers
for pad in 8, 1:
    magic, count, size = struct.unpack(">8sII", package[at:at + 16])
    assert magic[:3] == b"\x8e\xad\xe8"
    at += 16 + 16 * count + size
    at = -(-at // pad) * pad
sys.stdout.buffer.write(package[:at] + payload)
P
	cat >"$reader_dir/readers_rpm" <<'S'
#!/bin/sh
set -e
dir=$(dirname "$0")
case $2 in
xz-crc32) kind=xz ;;
*) kind=$2 ;;
esac
python3 "$dir/swap.py" "$dir/rpm/$kind.rpm" "$1" >"$dir/swapped.rpm"
rpm2cpio "$dir/swapped.rpm"
S
	chmod +x "$reader_dir/readers_rpm"
}

# Has nginx decompress what it sends, for clients that do not accept gzip.
nginx_server() {
	nginx_port='' nginx_pid=''
	export nginx_port nginx_pid
	wanted nginx "$readers" && have nginx && have curl && have python3 ||
	    return 0
	nginx -V 2>&1 | grep -q http_gunzip_module || return 0
	mkdir -p "$reader_dir/nginx"
	nginx_try=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
	cat >"$reader_dir/nginx.conf" <<C
daemon off;
master_process off;
pid $reader_dir/nginx.pid;
error_log $reader_dir/nginx.log;
events { }
http {
	access_log off;
	client_body_temp_path $reader_dir/nginx-body;
	proxy_temp_path $reader_dir/nginx-proxy;
	fastcgi_temp_path $reader_dir/nginx-fastcgi;
	uwsgi_temp_path $reader_dir/nginx-uwsgi;
	scgi_temp_path $reader_dir/nginx-scgi;
	server {
		listen 127.0.0.1:$nginx_try;
		root $reader_dir/nginx;
		gzip_static always;
		gunzip on;
	}
}
C
	nginx -c "$reader_dir/nginx.conf" >/dev/null 2>&1 &
	nginx_pid=$!
	for serve_tries in 1 2 3 4 5 6 7 8 9 10; do
		sleep 0.3
		curl -s -o /dev/null "http://127.0.0.1:$nginx_try/" || continue
		nginx_port=$nginx_try
		return 0
	done
	say 'nginx: does not start here'
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
	rust_programs
	rpm_program
	nginx_server
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
