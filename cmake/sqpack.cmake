# SPDX-License-Identifier: BSD-2-Clause
# sqpack: squashfs images built, tables by libsquashfs; read as by coldwalk
option(COLDPRESS_SQPACK "Build sqpack (needs libsquashfs)" ON)

if(COLDPRESS_SQPACK)
    pkg_check_modules(SQUASHFS IMPORTED_TARGET libsquashfs1)
endif()
if(COLDPRESS_SQPACK AND COLDWALK_BUILT AND SQUASHFS_FOUND)
    coldpress_folders(image/sqtables)
    if(NOT COLDPRESS_FSRATIO)
        coldpress_folders(image/sqwrite image/sqbuild)
    endif()
    coldpress_tool(sqpack)
    target_link_libraries(sqpack PRIVATE PkgConfig::SQUASHFS
        ${COLDWALK_LIBRARIES})
elseif(NOT COLDPRESS_SQPACK)
    list(APPEND lost "sqpack: COLDPRESS_SQPACK is OFF")
elseif(NOT COLDWALK_BUILT)
    list(APPEND lost "sqpack: it needs what coldwalk needs")
else()
    list(APPEND lost "sqpack: there is no libsquashfs (libsquashfs-dev)")
endif()
