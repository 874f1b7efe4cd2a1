#!/bin/sh
# Every shell script passes shellcheck with all that it sources.
# SPDX-License-Identifier: BSD-2-Clause
COLDPRESS_LINT_SOURCED=1 lint_scripts='.ci/run scripts/* tests/*.sh examples/*'
# shellcheck source=tests/lint_sh.sh
. "${SRC:?}/tests/lint_sh.sh"
