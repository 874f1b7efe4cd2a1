# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_LAP)
    unit_test(stats)
    unit_test(flatjson)
    unit_test(proc)
    unit_test(utc)
    shell_test(cli lap)
    shell_test(cli lapcmp)
endif()
