#!/bin/sh
# Runs the tests of images under clang's UndefinedBehaviorSanitizer, which also
# finds offsets of null pointers; gcc's does not.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034
sanitize=undefined compiler=clang only='coldwalk|sqpack|squashfs'
# shellcheck source=tests/san.sh
. "${SRC:?}/tests/san.sh"
