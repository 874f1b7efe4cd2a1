# SPDX-License-Identifier: BSD-2-Clause
# layermount: mount layers using HTTP range requests
option(COLDPRESS_LAYERMOUNT
    "Build layermount (needs what layerpack needs, libcurl and libfuse3)" ON)
option(COLDPRESS_CONTAINERD
    "Let layermount be a snapshotter of containerd (needs libnghttp2, sqlite3)"
    ON)

if(COLDPRESS_LAYERMOUNT)
    pkg_check_modules(FUSE3 IMPORTED_TARGET fuse3>=3.14)
endif()
if(COLDPRESS_LAYERMOUNT AND PULL_BUILT AND FUSE3_FOUND)
    coldpress_folders(lazy/metrics)
    coldpress_tool(layermount)
    target_compile_definitions(layermount PRIVATE FUSE_USE_VERSION=314)
    set(LAYERMOUNT_LIBRARIES PkgConfig::CURL PkgConfig::SSL
        ${LAYERPACK_LIBRARIES})
    if(COLDPRESS_CONTAINERD)
        pkg_check_modules(NGHTTP2 IMPORTED_TARGET libnghttp2>=1.40)
    endif()
    if(COLDPRESS_CONTAINERD AND NGHTTP2_FOUND AND COLDPRESS_SQLITE AND
        SQLITE_FOUND)
        set(CONTAINERD_BUILT ON)
        coldpress_folders(lazy/snapshots)
        target_include_directories(coldpress PRIVATE ${NGHTTP2_INCLUDE_DIRS})
        target_compile_definitions(layermount PRIVATE COLDPRESS_CONTAINERD)
        list(APPEND LAYERMOUNT_LIBRARIES PkgConfig::NGHTTP2)
    else()
        get_target_property(sources layermount SOURCES)
        list(FILTER sources EXCLUDE REGEX layermount_containerd)
        set_target_properties(layermount PROPERTIES SOURCES "${sources}")
        if(NOT COLDPRESS_CONTAINERD)
            list(APPEND lost
                "layermount --containerd: COLDPRESS_CONTAINERD is OFF")
        else()
            list(APPEND lost "layermount --containerd: install libnghttp2 \
and sqlite3 (libnghttp2-dev, libsqlite3-dev)")
        endif()
    endif()
    target_link_libraries(layermount PRIVATE ${LAYERMOUNT_LIBRARIES}
        PkgConfig::FUSE3)
elseif(NOT COLDPRESS_LAYERMOUNT)
    list(APPEND lost "layermount: COLDPRESS_LAYERMOUNT is OFF")
elseif(NOT LAYERPACK_BUILT OR NOT OCI_BUILT)
    list(APPEND lost "layermount: needs everything that layerpack needs, \
and OCI layouts")
else()
    list(APPEND lost "layermount: install libcurl and libfuse3 \
(libcurl4-openssl-dev, libfuse3-dev)")
endif()
