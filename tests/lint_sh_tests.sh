#!/bin/sh
# Every shell script of the tests passes shellcheck.
# SPDX-License-Identifier: BSD-2-Clause
lint_scripts='tests/*.sh'
# shellcheck source=tests/lint_sh.sh
. "${SRC:?}/tests/lint_sh.sh"
