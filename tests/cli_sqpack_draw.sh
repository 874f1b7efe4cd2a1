#!/bin/sh
# Option sets drawn at random: sqpack as mksquashfs makes the same images as
# mksquashfs.  COLDPRESS_MKSQUASHFS names a folder with another version's
# mksquashfs and unsquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have python3 || skip_all 'python3 is not installed'
PATH=${COLDPRESS_MKSQUASHFS:+$COLDPRESS_MKSQUASHFS:}$PATH
have mksquashfs || skip_all 'mksquashfs is not installed'
have unsquashfs || skip_all 'unsquashfs is not installed'
mkdir ours tree
ln -s "$(command -v sqpack)" ours/mksquashfs
cd tree || exit
python3 "$SRC/tests/sqpack_draw.py" "$(command -v mksquashfs)" \
    "$OLDPWD/ours/mksquashfs" "$(command -v unsquashfs)" \
    "${COLDPRESS_SEED:-1}" "${COLDPRESS_DRAWS:-8}"
status=$?
cd ..
is 'all of them' $status 0
done_testing
