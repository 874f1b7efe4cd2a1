# SPDX-License-Identifier: BSD-2-Clause
# yajl: parse the JSON in OCI images and layers
option(COLDPRESS_OCI "Read OCI layouts (needs yajl)" ON)

pkg_check_modules(YAJL IMPORTED_TARGET yajl)
if(YAJL_FOUND)
    target_include_directories(coldpress PRIVATE ${YAJL_INCLUDE_DIRS})
endif()
if(YAJL_FOUND AND COLDPRESS_OCI)
    coldpress_folders(image/oci)
    set(OCI_BUILT ON)
endif()
