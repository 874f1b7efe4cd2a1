#!/bin/sh
# Whichever of layermount's calls fails, without a mount: the result is an error or
# the right output.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"
# shellcheck source=tests/ordeal.sh
. "$SRC/tests/ordeal.sh"

# shellcheck source=tests/serve.sh
. "$SRC/tests/serve.sh"

have layermount-fault || skip_all 'layermount-fault is not built'

mkdir served
seq 30000 >served/blob
serve_start
mkdir d
cd d || exit
suffers 'help' layermount-fault -h
suffers 'version' layermount-fault -V
suffers 'a probe' layermount-fault --probe --timeout 20 "$site/blob"
exec 3>&-
wait
done_testing
