# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_WINWAIT)
    fault_tool(winwait)
    shell_test(cli winwait)
    callers_test(winwait)
endif()
