# SPDX-License-Identifier: BSD-2-Clause
if(CRYPTO_FOUND)
    unit_test(arena)
    unit_test(digest)
    target_link_libraries(test_digest PRIVATE ${COLDWALK_LIBRARIES})
    unit_test(sha256)
    target_link_libraries(test_sha256 PRIVATE ${COLDWALK_LIBRARIES})
    set_tests_properties(unit.sha256 PROPERTIES SKIP_RETURN_CODE 77)
    unit_test(squashfs)
    target_link_libraries(test_squashfs PRIVATE ${COLDWALK_LIBRARIES})
    set_tests_properties(unit.squashfs PROPERTIES SKIP_RETURN_CODE 77)
    add_executable(squashfs_walk squashfs_walk.c)
    target_link_libraries(squashfs_walk PRIVATE coldpress
        ${COLDWALK_LIBRARIES})
    add_executable(bench_squashfs bench_squashfs.c)
    target_include_directories(bench_squashfs PRIVATE
        ${CMAKE_SOURCE_DIR}/src/image)
    target_link_libraries(bench_squashfs PRIVATE coldpress
        ${COLDWALK_LIBRARIES})
    shell_test(cli squashfs)
    shell_test(cli coldwalk)
    shell_test(root coldwalk root)
endif()
