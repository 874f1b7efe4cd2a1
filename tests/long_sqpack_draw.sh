#!/bin/sh
# Three hundred option sets, as in cli_sqpack_draw.sh.
# SPDX-License-Identifier: BSD-2-Clause
COLDPRESS_DRAWS=300
export COLDPRESS_DRAWS
exec sh "${SRC:?}/tests/cli_sqpack_draw.sh"
