# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_TOUCHLOG)
    unit_test(touchlog_list ${fault_seam}
        ${CMAKE_SOURCE_DIR}/src/tools/touchlog/touchlog_list.c)
    target_include_directories(test_touchlog_list PRIVATE
        ${CMAKE_SOURCE_DIR}/src/tools/touchlog)
    fault_tool(touchlog)
    shell_test(cli touchlog)
    callers_test(touchlog)
    shell_test(root touchlog root)
endif()
