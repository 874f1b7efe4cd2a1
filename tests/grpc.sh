# shellcheck shell=sh
# grpc.sh - calls of gRPC by hand; sourced by tests of containerd
# SPDX-License-Identifier: BSD-2-Clause

# byte N, field N TEXT: print a part of a message of Protocol Buffers; the text
# has less than 128 bytes
byte() { printf %b "\\0$(printf %03o "$1")"; }
field() {
	byte $(($1 * 8 + 2))
	byte ${#2}
	printf %s "$2"
}

# grpc DIR SOCKET METHOD SECONDS: sends the message in the file DIR/message, and
# prints the status, if there is one in time.  The reply is in DIR/reply.
grpc() {
	grpc_size=$(wc -c <"$1/message")
	{
		printf '\000\000\000'
		byte $((grpc_size / 256))
		byte $((grpc_size % 256))
		cat "$1/message"
	} >"$1/framed"
	: >"$1/headers"
	curl -s --max-time "$4" --http2-prior-knowledge --unix-socket "$2" \
	    -H 'content-type: application/grpc' -H 'te: trailers' \
	    --data-binary @"$1/framed" -D "$1/headers" -o "$1/reply" \
	    "http://s/$3"
	sed -n 's/^grpc-status: \([0-9]*\).*/\1/p' "$1/headers"
}
