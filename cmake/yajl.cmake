# SPDX-License-Identifier: BSD-2-Clause
# yajl: parse JSON, in OCI images, layers and records of runs
option(COLDPRESS_OCI "Read OCI layouts (needs yajl)" ON)

pkg_check_modules(YAJL IMPORTED_TARGET yajl)
if(YAJL_FOUND AND COLDPRESS_STATIC)
    # the static library has a name of its own, which yajl.pc does not know
    find_library(YAJL_STATIC NAMES yajl_s yajl HINTS ${YAJL_LIBRARY_DIRS})
    if(YAJL_STATIC)
        set_property(TARGET PkgConfig::YAJL PROPERTY INTERFACE_LINK_LIBRARIES
            ${YAJL_STATIC})
    else()
        set(YAJL_FOUND 0)
    endif()
endif()
if(YAJL_FOUND)
    target_include_directories(coldpress PRIVATE ${YAJL_INCLUDE_DIRS})
    target_compile_definitions(coldpress PRIVATE COLDPRESS_JSON)
else()
    get_target_property(sources coldpress SOURCES)
    list(FILTER sources EXCLUDE REGEX /base/json[.]c)
    set_target_properties(coldpress PROPERTIES SOURCES "${sources}")
endif()
if(YAJL_FOUND AND COLDPRESS_OCI)
    coldpress_folders(image/oci)
    set(OCI_BUILT ON)
endif()
