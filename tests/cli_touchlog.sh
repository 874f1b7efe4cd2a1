#!/bin/sh
# Tests touchlog's command line, and its messages to users other than root
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

t 'help' 0 touchlog --help
shows 'has the formats' 'tsv.*number, path, offset_B, length_B'
t 'version' 0 touchlog -V
t 'no command' 1 touchlog
shows 'prints the usage' '^usage: touchlog' .t.err
t 'an unknown format' 1 touchlog --format xml -- true
shows 'is named' "format 'xml' is not tsv, sort, list or times" .t.err
t 'an unknown option' 1 touchlog --pgaes -- true
shows 'the intended one' "Did you mean '--pages'" .t.err
t 'pages without offsets' 1 touchlog --pages --format list -- true
shows 'contradict each other' 'whole files' .t.err
t 'exact pages of /' 1 touchlog --exact -- true
shows 'is refused' 'cannot be replaced' .t.err
t '-0 for mksquashfs' 1 touchlog -0 --format sort -- true

if [ "$(id -u)" = 0 ]; then
	as_user() {
		setpriv --reuid 65534 --regid 65534 --clear-groups \
		    --bounding-set=-all "$@"
	}
else
	as_user() { "$@"; }
fi
rm -f ran
chmod 777 .
t 'not root' 1 as_user touchlog -- touch ran
shows 'is reported' 'only root can see' .t.err
t 'and nothing is run' 1 test -e ran
t 'exact pages of a directory' 1 as_user touchlog --exact --root . -- true
shows 'are not refused before' 'only root can see' .t.err
done_testing
