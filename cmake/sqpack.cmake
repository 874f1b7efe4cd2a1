# SPDX-License-Identifier: BSD-2-Clause
# sqpack: build squashfs images (tables by libsquashfs) and read them
option(COLDPRESS_SQPACK "Build sqpack (needs libsquashfs)" ON)

if(COLDPRESS_SQPACK)
    pkg_check_modules(SQUASHFS IMPORTED_TARGET libsquashfs1)
endif()
if(COLDPRESS_SQPACK AND COLDWALK_BUILT AND SQUASHFS_FOUND)
    coldpress_folders(image/squashfs/tables image/source)
    if(NOT COLDPRESS_FSRATIO)
        coldpress_folders(image/squashfs/write)
    endif()
    coldpress_tool(sqpack)
    include(cmake/selinux.cmake)
    set(SQPACK_LIBRARIES PkgConfig::SQUASHFS ${COLDWALK_LIBRARIES}
        ${SELINUX_LIBRARIES_USED})
    if(OCI_BUILT)
        list(APPEND SQPACK_LIBRARIES PkgConfig::YAJL)
        target_compile_definitions(sqpack PRIVATE COLDPRESS_OCI)
        set_property(SOURCE src/image/source/imgsrc.c
            APPEND PROPERTY COMPILE_DEFINITIONS COLDPRESS_OCI)
    else()
        get_target_property(sources coldpress SOURCES)
        list(FILTER sources EXCLUDE REGEX image/source/imgsrc_oci)
        set_target_properties(coldpress PROPERTIES SOURCES "${sources}")
        list(APPEND lost "OCI layouts in sqpack: install yajl \
(libyajl-dev), or COLDPRESS_OCI is OFF")
    endif()
    target_link_libraries(sqpack PRIVATE ${SQPACK_LIBRARIES})
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
