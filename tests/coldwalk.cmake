# SPDX-License-Identifier: BSD-2-Clause
if(CRYPTO_FOUND)
    unit_test(digest)
    target_link_libraries(test_digest PRIVATE PkgConfig::CRYPTO)
endif()
