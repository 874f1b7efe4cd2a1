# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_TOUCHLOG)
    shell_test(cli touchlog)
    shell_test(root touchlog root)
endif()
