# SPDX-License-Identifier: BSD-2-Clause
# coldwalk: read every file of a tree or an image, cold and in parallel
option(COLDPRESS_COLDWALK "Build coldwalk (needs OpenSSL)" ON)
option(COLDPRESS_LZO "Read squashfs images compressed with LZO" ON)

if(COLDPRESS_COLDWALK)
    pkg_check_modules(CRYPTO IMPORTED_TARGET libcrypto)
endif()
if(COLDPRESS_COLDWALK AND CRYPTO_FOUND AND CRYPTO_VERSION VERSION_LESS 3)
    set(CRYPTO_FOUND FALSE)
endif()
if(COLDPRESS_COLDWALK AND CRYPTO_FOUND)
    # Only what walks is linked with OpenSSL, which takes long to load, and
    # with LZO, whose licence is the GPL.
    set(COLDWALK_LIBRARIES PkgConfig::CRYPTO)
    target_sources(coldpress PRIVATE src/arena.c
        src/cold.c src/cold_device.c src/cold_pages.c
        src/digest.c src/sha256.c src/sha256_ni.c
        src/kernel_config.c src/walk_dir.c src/walk_read.c
        src/walk_links.c src/walk_open.c src/walk_tree.c
        src/image/sq_super.c src/image/sq_codec.c src/image/sq_meta.c
        src/image/sq_inode.c src/image/sq_image.c src/image/sq_tree.c
        src/image/sq_plan.c src/image/sq_deal.c src/image/sq_buf.c
        src/image/sq_ahead.c src/image/sq_stream.c src/image/sq_rows.c
        src/image/sq_walk.c)
    target_include_directories(coldpress PRIVATE ${CRYPTO_INCLUDE_DIRS})
    if(NOT COLDPRESS_LAP)
        target_sources(coldpress PRIVATE src/provenance.c src/utc.c)
    endif()
    if(COLDPRESS_LZO)
        pkg_check_modules(LZO IMPORTED_TARGET lzo2)
    endif()
    if(COLDPRESS_LZO AND LZO_FOUND)
        target_compile_definitions(coldpress PRIVATE COLDPRESS_LZO)
        list(APPEND COLDWALK_LIBRARIES PkgConfig::LZO)
    else()
        list(APPEND lost "LZO: squashfs images compressed with it are refused")
    endif()
    set(COLDWALK_BUILT ON)
    coldpress_tool(coldwalk src/coldwalk_cold.c src/coldwalk_list.c
        src/coldwalk_options.c src/coldwalk_rows.c src/coldwalk_sort.c src/coldwalk_summary.c)
    target_link_libraries(coldwalk PRIVATE ${COLDWALK_LIBRARIES})
else()
    if(COLDPRESS_COLDWALK)
        list(APPEND lost "coldwalk: there is no OpenSSL 3 (libssl-dev)")
    else()
        list(APPEND lost "coldwalk: COLDPRESS_COLDWALK is OFF")
    endif()
endif()
