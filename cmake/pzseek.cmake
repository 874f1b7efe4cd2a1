# SPDX-License-Identifier: BSD-2-Clause
# pzseek: read ranges; the support for each format is in the library
option(COLDPRESS_PZSEEK "Build pzseek" ON)

if(COLDPRESS_PZSEEK)
    coldpress_tool(pzseek)
else()
    list(APPEND lost "pzseek: COLDPRESS_PZSEEK is OFF")
endif()
