# SPDX-License-Identifier: BSD-2-Clause
# pzseek: ranges; what the formats do for it belongs to them
option(COLDPRESS_PZSEEK "Build pzseek" ON)

if(COLDPRESS_PZSEEK)
    coldpress_tool(pzseek)
else()
    list(APPEND lost "pzseek: COLDPRESS_PZSEEK is OFF")
endif()
