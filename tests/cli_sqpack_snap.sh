#!/bin/sh
# snap pack makes the same snap with sqpack in place of mksquashfs.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck source=tests/lib.sh
. "${SRC:?}/tests/lib.sh"

have snap || skip_all 'no snap'
have mksquashfs || skip_all 'no mksquashfs'
mkdir -p bin tree/meta tree/bin
cat >tree/meta/snap.yaml <<'END'
name: coldpress-test
version: '1'
summary: A test
description: A snap to be packed by two programs.
architectures: [all]
confinement: strict
apps:
  hello:
    command: bin/hello
END
printf '#!/bin/sh\necho hello\n' >tree/bin/hello
chmod 755 tree/bin/hello
seq 100000 >tree/data
cp tree/data tree/twin
ln -s data tree/link
SOURCE_DATE_EPOCH=$(date +%s)
export SOURCE_DATE_EPOCH

theirs=$(mksquashfs -version)
t 'snap pack with mksquashfs' 0 snap pack --filename=theirs.snap tree
PATH=$PWD/bin:$PATH
printf '#!/bin/sh\nexit 1\n' >bin/mksquashfs
chmod 755 bin/mksquashfs
t 'runs the one in PATH' 20 snap pack --filename=no.snap tree
ln -sf "$(command -v sqpack)" bin/mksquashfs
ln -s "$(command -v sqpack)" bin/unsquashfs
t 'snap pack with sqpack' 0 snap pack --filename=ours.snap tree
case $theirs in
*' 4.5.1 '*) same 'the same snap' ours.snap theirs.snap ;;
*) skip 'mksquashfs is not 4.5.1' ;;
esac
sqpack -q -x out ours.snap
t 'gives the same tree' 0 diff -r --no-dereference tree out
t 'snap info reads it' 0 snap info ./ours.snap
shows 'and its name' '^name: *coldpress-test'
done_testing
