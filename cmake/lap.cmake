# SPDX-License-Identifier: BSD-2-Clause
# lap and lapcmp: run, time, compare
option(COLDPRESS_LAP "Build lap and lapcmp" ON)

if(COLDPRESS_LAP)
    # The peak memory of a command cannot be seen below that of lap, so lap
    # is linked statically where there is a static C library; and it takes
    # from our own library no more than it needs, not what that needs.
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static)
    check_c_source_compiles("int main(void) { return 0; }" HAVE_STATIC_LIBC)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)

    # What is not called is left out function by function.
    target_compile_options(coldpress PRIVATE -ffunction-sections
        -fdata-sections)

    coldpress_tool(lap)
    # Our library as a file, not as a target, which would link all of pzc's.
    set_target_properties(lap PROPERTIES
        LINK_LIBRARIES "$<TARGET_FILE:coldpress>;Threads::Threads;m"
        INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/include
        LINK_DEPENDS $<TARGET_FILE:coldpress>)
    add_dependencies(lap coldpress)
    if(HAVE_STATIC_LIBC AND NOT COLDPRESS_SANITIZE AND NOT COLDPRESS_FUZZ)
        target_link_options(lap PRIVATE -static -Wl,--gc-sections)
    endif()

    coldpress_tool(lapcmp)
else()
    list(APPEND lost "lap, lapcmp: COLDPRESS_LAP is OFF")
endif()
