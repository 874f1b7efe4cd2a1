# SPDX-License-Identifier: BSD-2-Clause
if(MAILGEN_BUILT)
    foreach(name mailgen mail_profile)
        unit_test(${name})
        target_link_libraries(test_${name} PRIVATE ${COLDWALK_LIBRARIES})
    endforeach()
    shell_test(cli mailgen)
    fault_tool(mailgen)
endif()
