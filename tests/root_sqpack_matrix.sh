# shellcheck shell=sh
# Files of about one block are read back intact from every image that is
# mounted.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/sqpack_matrix.sh
. "$SRC/tests/sqpack_matrix.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have openssl || skip_all 'no openssl to make noise'
mkdir mnt
trap 'umount mnt 2>/dev/null' EXIT

mounted() {
	if mount -o loop,ro image mnt 2>/dev/null; then
		t "$1" 0 diff -r tree mnt
		umount mnt
		return
	fi
	case $(sqpack --can-mount image) in
	yes*) not_ok "$1: not mounted" ;;
	*) skip "$1: this kernel does not mount it" ;;
	esac
}
matrix mounted
done_testing
