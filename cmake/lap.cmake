# SPDX-License-Identifier: BSD-2-Clause
# lap and lapcmp: run, time, compare
option(COLDPRESS_LAP "Build lap and lapcmp" ON)

if(COLDPRESS_LAP)
    # A command's measured peak memory is never below that of lap, so lap is
    # linked statically if a static C library exists, and against our library
    # alone, without its dependencies.
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_LINK_OPTIONS -static)
    check_c_source_compiles("int main(void) { return 0; }" HAVE_STATIC_LIBC)
    unset(CMAKE_REQUIRED_LINK_OPTIONS)

    # This allows the linker to remove unused functions.
    target_compile_options(coldpress PRIVATE -ffunction-sections
        -fdata-sections)

    coldpress_tool(lap)
    # Link our library as a file: the target would also bring in pzc's
    # libraries.
    set_target_properties(lap PROPERTIES
        LINK_LIBRARIES "$<TARGET_FILE:coldpress>;Threads::Threads;m"
        INCLUDE_DIRECTORIES ${CMAKE_SOURCE_DIR}/include
        LINK_DEPENDS $<TARGET_FILE:coldpress>)
    add_dependencies(lap coldpress)
    if(HAVE_STATIC_LIBC AND NOT COLDPRESS_SANITIZE AND NOT COLDPRESS_FUZZ)
        # -static-pie relocates itself at each start: lap's own peak memory
        # was then 840 to 1016 KiB, different each time, instead of 844.  The
        # property would add -pie.
        set_property(TARGET lap PROPERTY POSITION_INDEPENDENT_CODE)
        target_link_options(lap PRIVATE -static -Wl,--gc-sections)
    endif()

    coldpress_tool(lapcmp)
    if(YAJL_FOUND)
        target_link_libraries(lapcmp PRIVATE PkgConfig::YAJL)
    else()
        list(APPEND lost "JSON in lapcmp: install yajl (libyajl-dev)")
    endif()
else()
    list(APPEND lost "lap, lapcmp: COLDPRESS_LAP is OFF")
endif()
