# SPDX-License-Identifier: BSD-2-Clause
# libselinux reads file_contexts for sqpack
option(COLDPRESS_SELINUX "Support SELinux labels in sqpack" ON)
set(SELINUX_LIBRARIES_USED "")
if(COLDPRESS_SELINUX)
    pkg_check_modules(SELINUX IMPORTED_TARGET libselinux)
endif()
if(COLDPRESS_SELINUX AND SELINUX_FOUND)
    set_property(SOURCE src/image/source/imgsrc_labels.c
        APPEND PROPERTY COMPILE_DEFINITIONS COLDPRESS_SELINUX)
    set(SELINUX_LIBRARIES_USED PkgConfig::SELINUX)
else()
    list(APPEND lost "SELinux labels in sqpack: install libselinux \
(libselinux1-dev), or COLDPRESS_SELINUX is OFF")
endif()
