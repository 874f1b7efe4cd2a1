#!/bin/sh
# Runs the quick tests under ThreadSanitizer.
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck disable=SC2034
sanitize=thread
# shellcheck source=tests/san.sh
. "${SRC:?}/tests/san.sh"
