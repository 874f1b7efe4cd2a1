# SPDX-License-Identifier: BSD-2-Clause
# Removes the files last installed from this build, and any of our folders that
# this leaves empty.
cmake_minimum_required(VERSION 3.25)
if(NOT EXISTS ${MANIFEST})
    message(FATAL_ERROR
        "${MANIFEST} is missing: nothing was installed from this build")
endif()
file(STRINGS ${MANIFEST} files)
set(folders "")
foreach(file IN LISTS files)
    file(REMOVE "$ENV{DESTDIR}${file}")
    cmake_path(GET file PARENT_PATH folder)
    while(folder MATCHES "/coldpress(/|$)")
        list(APPEND folders ${folder})
        cmake_path(GET folder PARENT_PATH folder)
    endwhile()
endforeach()
# Subfolders come first.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
    file(GLOB left "$ENV{DESTDIR}${folder}/*")
    if(NOT left)
        file(REMOVE_RECURSE "$ENV{DESTDIR}${folder}")
    endif()
endforeach()
