# SPDX-License-Identifier: BSD-2-Clause
# winwait: start a program and report when it is ready
option(COLDPRESS_WINWAIT "Build winwait" ON)
option(COLDPRESS_XCB "Let winwait wait for windows (needs libxcb)" ON)

if(COLDPRESS_WINWAIT)
    coldpress_tool(winwait)
    if(COLDPRESS_XCB)
        pkg_check_modules(XCB IMPORTED_TARGET xcb)
        pkg_check_modules(XCB_RES IMPORTED_TARGET xcb-res)
    endif()
    set(without winwait_no_x.c)
    if(COLDPRESS_XCB AND XCB_FOUND)
        target_link_libraries(winwait PRIVATE PkgConfig::XCB)
        target_compile_definitions(winwait PRIVATE
            COLDPRESS_XCB="${XCB_VERSION}")
        if(XCB_RES_FOUND)
            target_link_libraries(winwait PRIVATE PkgConfig::XCB_RES)
            target_compile_definitions(winwait PRIVATE
                COLDPRESS_XCB_RES="${XCB_RES_VERSION}")
        else()
            list(APPEND lost "winwait: PIDs of windows from the X server: \
install libxcb-res (libxcb-res0-dev)")
        endif()
        # scripts/bench-winwait needs it even without the tests.
        add_executable(window_client tests/window_client.c)
        target_link_libraries(window_client PRIVATE PkgConfig::XCB)
        set_target_properties(window_client PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
        install(TARGETS window_client
            RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
        set(WINWAIT_BUILT ON)
    else()
        list(APPEND lost
            "winwait --criterion window: install libxcb (libxcb1-dev)")
        set(without winwait_x.c)
    endif()
    list(TRANSFORM without PREPEND src/tools/winwait/)
    set_source_files_properties(${without} PROPERTIES HEADER_FILE_ONLY ON)
else()
    list(APPEND lost "winwait: COLDPRESS_WINWAIT is OFF")
endif()
