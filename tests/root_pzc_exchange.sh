# shellcheck shell=sh
# root compresses another user's tree while that user exchanges a directory.
# SPDX-License-Identifier: BSD-2-Clause
. "${SRC:?}/tests/lib.sh"
. "$SRC/tests/exchange.sh"

[ "$(id -u)" = 0 ] || skip_all 'not root'
have setpriv || skip_all 'setpriv is not installed'
chmod 755 .
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
cp "$(command -v exchange)" exchange && chmod 755 exchange
as_user ./exchange 2>/dev/null
[ $? = 1 ] || skip_all 'another user cannot reach this directory'
PATH=$PWD:$PATH

attack 2000 setpriv --reuid=65534 --regid=65534 --clear-groups --
done_testing
