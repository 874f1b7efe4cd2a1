# SPDX-License-Identifier: BSD-2-Clause
# layermount: mount layers using HTTP range requests
option(COLDPRESS_LAYERMOUNT
    "Build layermount (needs what layerpack needs, libcurl and libfuse3)" ON)

if(COLDPRESS_LAYERMOUNT)
    pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.85)
    pkg_check_modules(FUSE3 IMPORTED_TARGET fuse3>=3.14)
endif()
if(COLDPRESS_LAYERMOUNT AND LAYERPACK_BUILT AND OCI_BUILT AND CURL_FOUND AND
    FUSE3_FOUND)
    coldpress_folders(lazy/http lazy/vfs)
    target_include_directories(coldpress PRIVATE ${CURL_INCLUDE_DIRS})
    coldpress_tool(layermount)
    target_compile_definitions(layermount PRIVATE FUSE_USE_VERSION=314)
    set(LAYERMOUNT_LIBRARIES PkgConfig::CURL ${LAYERPACK_LIBRARIES})
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
