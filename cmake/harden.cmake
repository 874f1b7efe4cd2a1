# SPDX-License-Identifier: BSD-2-Clause
# Hardening, and binaries that do not name the folder they were built in.  Builds
# with sanitizers or for the fuzzers have their own checks and stay as they are.
option(COLDPRESS_HARDEN
    "Harden the binaries (no effect with sanitizers or fuzzers)" ON)

include(CheckCCompilerFlag)
include(CheckCSourceCompiles)
include(CheckLinkerFlag)
include(CheckPIESupported)

# harden_compile(FLAG...), harden_link(FLAG...): use the flags that are accepted
function(harden_compile)
    foreach(flag IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
        check_c_compiler_flag(${flag} ${have})
        if(${have})
            add_compile_options(${flag})
        endif()
    endforeach()
endfunction()
function(harden_link)
    foreach(flag IN LISTS ARGN)
        string(MAKE_C_IDENTIFIER "HAVE${flag}" have)
        check_linker_flag(C ${flag} ${have})
        if(${have})
            add_link_options(${flag})
        endif()
    endforeach()
endfunction()

# _FORTIFY_SOURCE needs optimization; a level that the compiler or CFLAGS set
# stands.  Both can change between two runs of cmake in one folder.
function(harden_fortify)
    set(CMAKE_TRY_COMPILE_CONFIGURATION ${CMAKE_BUILD_TYPE})
    unset(FORTIFY_IS_OURS CACHE)
    check_c_source_compiles("
#if !defined __OPTIMIZE__ || defined _FORTIFY_SOURCE
#error
#endif
int main(void) { return 0; }" FORTIFY_IS_OURS)
    foreach(level IN ITEMS 3 2)
        if(NOT FORTIFY_IS_OURS)
            return()
        endif()
        set(CMAKE_REQUIRED_DEFINITIONS -D_FORTIFY_SOURCE=${level})
        check_c_source_compiles("
#include <string.h>
#if __USE_FORTIFY_LEVEL != ${level}
#error
#endif
int main(void) { return 0; }" HAVE_FORTIFY_${level})
        if(HAVE_FORTIFY_${level})
            add_compile_definitions(_FORTIFY_SOURCE=${level})
            return()
        endif()
    endforeach()
endfunction()

if(COLDPRESS_SANITIZE OR COLDPRESS_FUZZ)
    return()
endif()

# Headers of other libraries put the name of the source file into the binary.  A
# debugger needs the whole name.
if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    harden_compile(-ffile-prefix-map=${PROJECT_BINARY_DIR}=.
        -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()

if(COLDPRESS_HARDEN)
    check_pie_supported(LANGUAGES C)
    harden_compile(-fstack-protector-strong -fstack-clash-protection
        -fcf-protection)
    harden_fortify()
    harden_link(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endif()
