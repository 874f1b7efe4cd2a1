# SPDX-License-Identifier: BSD-2-Clause
if(CRYPTO_FOUND)
    unit_test(digest)
    target_link_libraries(test_digest PRIVATE PkgConfig::CRYPTO)
    unit_test(squashfs)
    target_link_libraries(test_squashfs PRIVATE PkgConfig::CRYPTO)
    set_tests_properties(unit.squashfs PROPERTIES SKIP_RETURN_CODE 77)
endif()
