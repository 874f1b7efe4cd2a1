# SPDX-License-Identifier: BSD-2-Clause
# coldwalk: read every file of a tree or an image, cold and in parallel
option(COLDPRESS_COLDWALK "Build coldwalk (needs OpenSSL)" ON)

if(COLDPRESS_COLDWALK)
    pkg_check_modules(CRYPTO IMPORTED_TARGET libcrypto)
endif()
if(COLDPRESS_COLDWALK AND CRYPTO_FOUND AND CRYPTO_VERSION VERSION_LESS 3)
    set(CRYPTO_FOUND FALSE)
endif()
if(COLDPRESS_COLDWALK AND CRYPTO_FOUND)
    # Only what hashes is linked with OpenSSL, which takes long to load.
    target_sources(coldpress PRIVATE src/cold.c src/cold_device.c src/cold_pages.c
        src/digest.c src/kernel_config.c src/walk_dir.c
        src/walk_tree.c)
    target_include_directories(coldpress PRIVATE ${CRYPTO_INCLUDE_DIRS})
    if(NOT COLDPRESS_LAP)
        target_sources(coldpress PRIVATE src/provenance.c src/utc.c)
    endif()
    coldpress_tool(coldwalk)
    target_sources(coldwalk PRIVATE src/coldwalk_options.c
        src/coldwalk_rows.c src/coldwalk_summary.c)
    target_link_libraries(coldwalk PRIVATE PkgConfig::CRYPTO)
else()
    if(COLDPRESS_COLDWALK)
        list(APPEND lost "coldwalk: there is no OpenSSL 3 (libssl-dev)")
    else()
        list(APPEND lost "coldwalk: COLDPRESS_COLDWALK is OFF")
    endif()
endif()
