# SPDX-License-Identifier: BSD-2-Clause
# fsratio: predict the size of a tree on a compressing filesystem
option(COLDPRESS_FSRATIO "Build fsratio" ON)

if(COLDPRESS_FSRATIO)
    coldpress_folders(image/squashfs/write fs fs/zfs fs/btrfs fs/squashfs)
    coldpress_tool(fsratio)
    set(FSRATIO_LIBRARIES ${LZO_LIBRARIES_USED})
    target_link_libraries(fsratio PRIVATE ${FSRATIO_LIBRARIES})
else()
    list(APPEND lost "fsratio: COLDPRESS_FSRATIO is OFF")
endif()
