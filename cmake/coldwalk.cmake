# SPDX-License-Identifier: BSD-2-Clause
# coldwalk: read every file in a tree or an image, cold and in parallel
option(COLDPRESS_COLDWALK "Build coldwalk (needs OpenSSL)" ON)

if(COLDPRESS_COLDWALK)
    pkg_check_modules(CRYPTO IMPORTED_TARGET libcrypto)
endif()
if(COLDPRESS_COLDWALK AND CRYPTO_FOUND AND CRYPTO_VERSION VERSION_LESS 3)
    set(CRYPTO_FOUND FALSE)
endif()
if(COLDPRESS_COLDWALK AND CRYPTO_FOUND)
    # Only tools that walk trees or images link OpenSSL, which is slow to load.
    set(COLDWALK_LIBRARIES PkgConfig::CRYPTO ${LZO_LIBRARIES_USED})
    coldpress_folders(engine/digest image image/squashfs/read)
    target_include_directories(coldpress PRIVATE ${CRYPTO_INCLUDE_DIRS})
    set(COLDWALK_BUILT ON)
    coldpress_tool(coldwalk)
    target_link_libraries(coldwalk PRIVATE ${COLDWALK_LIBRARIES})

    # scripts/bench-coldwalk needs it even without the tests.
    add_executable(bench_squashfs tests/bench_squashfs.c)
    target_link_libraries(bench_squashfs PRIVATE coldpress
        ${COLDWALK_LIBRARIES})
    set_target_properties(bench_squashfs PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    install(TARGETS bench_squashfs
        RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
else()
    if(COLDPRESS_COLDWALK)
        list(APPEND lost "coldwalk: install OpenSSL 3 (libssl-dev)")
    else()
        list(APPEND lost "coldwalk: COLDPRESS_COLDWALK is OFF")
    endif()
endif()
