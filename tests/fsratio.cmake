# SPDX-License-Identifier: BSD-2-Clause
if(COLDPRESS_FSRATIO)
    unit_test(zfs_packers)
    shell_test(cli fsratio)
    shell_test(root fsratio_zfs root)
endif()
