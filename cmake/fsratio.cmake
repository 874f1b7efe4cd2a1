# SPDX-License-Identifier: BSD-2-Clause
# fsratio: what a tree would take on a compressing filesystem
option(COLDPRESS_FSRATIO "Build fsratio" ON)

if(COLDPRESS_FSRATIO)
    coldpress_folders(image/sqwrite fs fs/zfs fs/btrfs fs/squashfs)
    coldpress_tool(fsratio)
    # Its licence is the GPL: linked with nothing that does not use it.
    set(FSRATIO_LIBRARIES "")
    if(COLDPRESS_LZO)
        pkg_check_modules(LZO IMPORTED_TARGET lzo2)
    endif()
    if(COLDPRESS_LZO AND LZO_FOUND)
        coldpress_folders(engine/lzo)
        target_compile_definitions(coldpress PRIVATE COLDPRESS_LZO)
        set(FSRATIO_LIBRARIES PkgConfig::LZO)
    else()
        list(APPEND lost "LZO: fsratio has no lzo")
    endif()
    target_link_libraries(fsratio PRIVATE ${FSRATIO_LIBRARIES})
else()
    list(APPEND lost "fsratio: COLDPRESS_FSRATIO is OFF")
endif()
