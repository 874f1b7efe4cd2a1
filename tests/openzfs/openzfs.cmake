# SPDX-License-Identifier: BSD-2-Clause
# zpcopy, which long.fsratio_openzfs needs.  It is linked with code under the CDDL
# (see LICENSE in this folder), so it is built only on request and never
# installed.
option(COLDPRESS_OPENZFS
    "Build zpcopy, to compare fsratio with libzpool (CDDL)" OFF)
set(COLDPRESS_OPENZFS_USR /usr CACHE PATH
    "Where libzfslinux-dev and zfs-dkms are, or were unpacked")

if(COLDPRESS_OPENZFS)
    set(usr ${COLDPRESS_OPENZFS_USR})
    file(GLOB OPENZFS_SOURCE ${usr}/src/zfs-*/include)
    if(NOT EXISTS ${usr}/include/libzpool OR NOT OPENZFS_SOURCE)
        message(FATAL_ERROR
            "COLDPRESS_OPENZFS needs libzfslinux-dev and zfs-dkms in ${usr}")
    endif()
    # its headers include each other from sys/
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/openzfs)
    file(CREATE_LINK ${usr}/include/libzpool
        ${PROJECT_BINARY_DIR}/openzfs/sys SYMBOLIC)
    add_executable(zpcopy openzfs/zpcopy.c)
    target_include_directories(zpcopy SYSTEM PRIVATE ${usr}/include/libspl
        ${usr}/include/libzfs ${PROJECT_BINARY_DIR}/openzfs)
    target_compile_definitions(zpcopy PRIVATE _LARGEFILE64_SOURCE _REENTRANT)
    target_compile_options(zpcopy PRIVATE
        "SHELL:-idirafter ${OPENZFS_SOURCE}" -Wno-pedantic -Wno-cast-qual
        -Wno-strict-prototypes -Wno-undef -Wno-shadow -Wno-pointer-arith)
    set_target_properties(zpcopy PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    target_link_directories(zpcopy PRIVATE
        ${usr}/lib/${CMAKE_LIBRARY_ARCHITECTURE})
    target_link_libraries(zpcopy PRIVATE -l:libzpool.a -l:libnvpair.a
        -l:libblkid.so.1 -l:libudev.so.1 -l:libuuid.so.1 -l:libtirpc.so.3 z
        crypto pthread dl m rt)
endif()
