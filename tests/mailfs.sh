# shellcheck shell=sh
# mailfs.sh - what the tests of the mail study need; sourced after lib.sh
# SPDX-License-Identifier: BSD-2-Clause
#
# study WORD...   runs the study

have lap || skip_all 'no lap'
have cpio || skip_all 'no cpio'
study() { sh "$SRC/scripts/mailfs" "$@"; }
