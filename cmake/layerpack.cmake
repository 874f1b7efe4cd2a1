# SPDX-License-Identifier: BSD-2-Clause
# layerpack: layers that can be read lazily, made, listed and extracted
option(COLDPRESS_LAYERPACK "Build layerpack (needs OpenSSL and yajl)" ON)

if(COLDPRESS_LAYERPACK AND COLDWALK_BUILT AND YAJL_FOUND)
    coldpress_folders(lazy)
    # What reads layers is linked with these.
    set(LAYERPACK_LIBRARIES ${COLDWALK_LIBRARIES} PkgConfig::YAJL)
    set(LAYERPACK_BUILT ON)
    coldpress_tool(layerpack)
    target_link_libraries(layerpack PRIVATE ${LAYERPACK_LIBRARIES})
elseif(NOT COLDPRESS_LAYERPACK)
    list(APPEND lost "layerpack: COLDPRESS_LAYERPACK is OFF")
elseif(NOT COLDWALK_BUILT)
    list(APPEND lost "layerpack: it needs what coldwalk needs")
else()
    list(APPEND lost "layerpack: there is no yajl (libyajl-dev)")
endif()
