# SPDX-License-Identifier: BSD-2-Clause
# touchlog: list the files and pages that a command touches
option(COLDPRESS_TOUCHLOG "Build touchlog" ON)

if(COLDPRESS_TOUCHLOG)
    coldpress_tool(touchlog)
else()
    list(APPEND lost "touchlog: COLDPRESS_TOUCHLOG is OFF")
endif()
