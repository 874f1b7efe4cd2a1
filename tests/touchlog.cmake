# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_TOUCHLOG)
    fault_tool(touchlog)
    shell_test(cli touchlog)
    callers_test(touchlog)
    shell_test(root touchlog root)
endif()
