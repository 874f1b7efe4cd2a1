# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_WINWAIT)
    shell_test(cli winwait)
endif()
