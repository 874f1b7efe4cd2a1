# SPDX-License-Identifier: BSD-2-Clause
if(CRYPTO_FOUND)
    unit_test(digest)
    target_link_libraries(test_digest PRIVATE PkgConfig::CRYPTO)
    shell_test(cli coldwalk)
    shell_test(root coldwalk root)
endif()

# squashfs images, read without a mount
if(CRYPTO_FOUND)
    add_executable(squashfs_walk squashfs_walk.c)
    target_link_libraries(squashfs_walk PRIVATE coldpress PkgConfig::CRYPTO)
    shell_test(cli squashfs)
endif()
