#!/bin/sh
# Runs the unit tests, and those of images and of pzc, under clang's
# UndefinedBehaviorSanitizer, which also finds offsets of null pointers; gcc's does
# not.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034
sanitize=undefined compiler=clang only='^unit|coldwalk|sqpack|pzc'
# shellcheck source=tests/san.sh
. "${SRC:?}/tests/san.sh"
