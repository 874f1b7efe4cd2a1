# SPDX-License-Identifier: BSD-2-Clause
# pzc: the codecs and their tool
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

target_sources(coldpress PRIVATE
    src/codec/codec.c src/codec/carry.c src/codec/cutter.c src/codec/serial.c
    src/codec/deflate_walk.c src/codec/deflate_codes.c
    src/codec/deflate_blocks.c src/codec/deflate_split.c
    src/codec/deflate_emit.c src/codec/huffman.c src/codec/deflate_fast.c
    src/codec/deflate_parse.c src/codec/deflate_strong.c
    src/codec/deflate_lanes.c src/codec/deflate_engine.c
    src/codec/deflate_encode.c src/codec/gzip_header.c
    src/codec/deflate_check.c src/codec/deflate_unwrap.c
    src/codec/deflate_scan.c
    src/codec/deflate_decode.c src/codec/inflate_work.c
    src/codec/inflate_join.c src/codec/inflate_piece.c
    src/codec/inflate_codes.c src/codec/inflate_fast.c
    src/codec/inflate_header.c src/codec/inflater.c
    src/codec/gzip.c src/codec/zip_encode.c
    src/codec/zstd.c src/codec/zstd_scan.c src/codec/zstd_decode.c
    src/codec/lz4.c src/codec/lz4_fast.c src/codec/lz4_scan.c src/codec/lz4_decode.c
    src/codec/xz.c
    src/codec/bzip2.c src/codec/bzip2_scan.c src/codec/bzip2_decode.c
    src/codec/bz2_bits.c src/codec/bz2_rle.c
    src/codec/bz2_decode.c src/codec/bz2_read_codes.c
    src/codec/bz2_unsort.c src/codec/bz2_random.c
    src/codec/bz2_encode.c src/codec/bz2_codes.c src/codec/bz2_sort.c
    src/codec/bz2_seeds.c
    src/codec/compress.c src/codec/lzw.c
    src/codec/look.c src/codec/list_gzip.c src/codec/list_zip.c
    src/codec/list_zstd.c src/codec/list_lz4.c src/codec/list_xz.c
    src/codec/seek.c src/codec/seek_map.c src/codec/seek_stream.c
    src/codec/seek_gzip.c src/codec/seek_index.c
    src/codec/seek_index_file.c src/codec/seek_index_part.c
    src/codec/seek_index_make.c src/codec/seek_zstd.c src/codec/seek_lz4.c
    src/codec/seek_xz.c)
target_link_libraries(coldpress PUBLIC PkgConfig::DEFLATE PkgConfig::ZLIB
    PkgConfig::ZSTD PkgConfig::LZ4 PkgConfig::LZMA PkgConfig::XXHASH)

# A loop that is to stay in registers: -O3 unrolls and vectorizes its copies,
# which makes it a tenth slower.
set_source_files_properties(src/codec/inflate_fast.c PROPERTIES
    COMPILE_OPTIONS "$<$<CONFIG:Release>:-O2>")

if(COLDPRESS_ISAL)
    pkg_check_modules(ISAL IMPORTED_TARGET libisal)
endif()
if(COLDPRESS_ISAL AND ISAL_FOUND)
    target_compile_definitions(coldpress PRIVATE COLDPRESS_ISAL
        COLDPRESS_ISAL_VERSION="${ISAL_VERSION}")
    target_link_libraries(coldpress PUBLIC PkgConfig::ISAL)
else()
    list(APPEND lost "ISA-L: gzip -1 takes twice the time")
endif()

coldpress_tool(pzc src/pzc_options.c src/pzc_check.c src/pzc_help.c
    src/pzc_file.c src/pzc_convert.c src/pzc_target.c src/pzc_names.c
    src/pzc_stats.c src/pzc_list.c)
set(PZC_NAMES unpzc pzcat CACHE STRING "Further names of pzc")
foreach(name IN LISTS PZC_NAMES)
    add_custom_command(TARGET pzc POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink pzc ${name})
    install(FILES ${CMAKE_BINARY_DIR}/${name} TYPE BIN)
    add_custom_command(TARGET pzc POST_BUILD
        COMMAND ${CMAKE_COMMAND} -E create_symlink pzc.1 ${name}.1)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endforeach()
