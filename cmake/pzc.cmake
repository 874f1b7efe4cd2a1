# SPDX-License-Identifier: BSD-2-Clause
# pzc: the codecs and their tool
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
find_package(BZip2 REQUIRED)

# bzip2, a block at a time, of our own
target_sources(coldpress PRIVATE src/codec/bz2_bits.c src/codec/bz2_rle.c
    src/codec/bz2_decode.c src/codec/bz2_unsort.c src/codec/bz2_random.c
    src/codec/bz2_encode.c src/codec/bz2_codes.c src/codec/bz2_sort.c
    src/codec/bz2_seeds.c src/codec/bz2_words.c)
