# SPDX-License-Identifier: BSD-2-Clause
if(TARGET sqpack)
    fault_tool(sqpack)
    shell_test(cli sqpack)
    shell_test(cli sqpack_read)
    shell_test(cli sqpack_again)
    shell_test(cli sqpack_order)
    shell_test(root sqpack root)
endif()
