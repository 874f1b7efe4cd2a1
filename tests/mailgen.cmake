# SPDX-License-Identifier: BSD-2-Clause
if(MAILGEN_BUILT)
    unit_test(mailgen)
    target_link_libraries(test_mailgen PRIVATE ${COLDWALK_LIBRARIES})
    shell_test(cli mailgen)
    fault_tool(mailgen)
endif()
