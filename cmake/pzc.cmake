# SPDX-License-Identifier: BSD-2-Clause
# pzc: the codecs and their tool
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

coldpress_folders(engine engine/deflate engine/bzip2 engine/lzma
    engine/other engine/packer
    format format/tar format/gzip format/zstd format/lz4 format/xz format/bzip2)
target_link_libraries(coldpress PUBLIC PkgConfig::DEFLATE PkgConfig::ZLIB
    PkgConfig::ZSTD PkgConfig::LZ4 PkgConfig::LZMA PkgConfig::XXHASH)

# The loop variables of these decoders should stay in registers.  -O3 unrolls
# and vectorizes the copy loops, which costs 10 %.
set_source_files_properties(src/engine/deflate/inflate_fast.c
    src/engine/lzma/unlzma_symbols.c PROPERTIES
    COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")
# Nearly every symbol moves a few bytes in a list of 256, the size of the
# alphabet; for _FORTIFY_SOURCE to check that costs 2 % of all instructions.
if(COLDPRESS_HARDEN)
    set_source_files_properties(src/engine/bzip2/bz2_decode.c PROPERTIES
        COMPILE_OPTIONS -U_FORTIFY_SOURCE)
endif()

if(COLDPRESS_ISAL)
    pkg_check_modules(ISAL IMPORTED_TARGET libisal)
    # Debian has no static ISA-L.
    find_library(ISAL_LIBRARY isal)
    if(NOT ISAL_LIBRARY)
        set(ISAL_FOUND FALSE)
    endif()
endif()
if(COLDPRESS_ISAL AND ISAL_FOUND)
    target_compile_definitions(coldpress PRIVATE COLDPRESS_ISAL
        COLDPRESS_ISAL_VERSION="${ISAL_VERSION}")
    target_link_libraries(coldpress PUBLIC PkgConfig::ISAL)
else()
    list(APPEND lost "ISA-L: gzip -1 takes twice as long")
endif()

coldpress_tool(pzc)
set(PZC_NAMES unpzc pzcat CACHE STRING "Additional names for pzc")
foreach(name IN LISTS PZC_NAMES)
    add_custom_command(TARGET pzc POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink pzc ${name})
    install(FILES ${CMAKE_BINARY_DIR}/${name} TYPE BIN)
    add_custom_command(TARGET pzc POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink pzc.1 ${name}.1)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endforeach()
