#!/bin/sh
# Runs the quick tests under AddressSanitizer and UndefinedBehaviorSanitizer.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034
sanitize=address,undefined
# shellcheck source=tests/san.sh
. "${SRC:?}/tests/san.sh"
