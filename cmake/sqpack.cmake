# SPDX-License-Identifier: BSD-2-Clause
# sqpack: build squashfs images (tables by libsquashfs) and read them
option(COLDPRESS_SQPACK "Build sqpack (needs libsquashfs)" ON)

if(COLDPRESS_SQPACK)
    pkg_check_modules(SQUASHFS IMPORTED_TARGET libsquashfs1)
endif()
if(COLDPRESS_SQPACK AND COLDWALK_BUILT AND SQUASHFS_FOUND)
    coldpress_folders(image/squashfs/tables)
    if(NOT COLDPRESS_FSRATIO)
        coldpress_folders(image/squashfs/write)
    endif()
    coldpress_tool(sqpack)
    target_link_libraries(sqpack PRIVATE PkgConfig::SQUASHFS
        ${COLDWALK_LIBRARIES})
    if(OCI_BUILT)
        target_compile_definitions(sqpack PRIVATE COLDPRESS_OCI)
        target_link_libraries(sqpack PRIVATE PkgConfig::YAJL)
    else()
        get_target_property(sources sqpack SOURCES)
        list(FILTER sources EXCLUDE REGEX sqpack_oci)
        set_target_properties(sqpack PROPERTIES SOURCES "${sources}")
        list(APPEND lost "OCI layouts in sqpack: install yajl \
(libyajl-dev), or COLDPRESS_OCI is OFF")
    endif()
    set(SQPACK_NAMES "" CACHE STRING
        "Additional names for sqpack: mksquashfs, unsquashfs")
    foreach(name IN LISTS SQPACK_NAMES)
        add_custom_command(TARGET sqpack POST_BUILD
            COMMAND ${CMAKE_COMMAND} -E create_symlink sqpack ${name})
        install(FILES ${CMAKE_BINARY_DIR}/${name} TYPE BIN)
    endforeach()
elseif(NOT COLDPRESS_SQPACK)
    list(APPEND lost "sqpack: COLDPRESS_SQPACK is OFF")
elseif(NOT COLDWALK_BUILT)
    list(APPEND lost "sqpack: needs everything that coldwalk needs")
else()
    list(APPEND lost "sqpack: install libsquashfs (libsquashfs-dev)")
endif()
