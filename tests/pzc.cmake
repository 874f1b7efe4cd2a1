# SPDX-License-Identifier: BSD-2-Clause
# bzip2 by blocks
unit_test(bz2_block)
target_link_libraries(test_bz2_block PRIVATE BZip2::BZip2)
set_tests_properties(unit.bz2_block PROPERTIES TIMEOUT 300)
add_executable(bench_bz2 EXCLUDE_FROM_ALL bench_bz2.c)
target_link_libraries(bench_bz2 PRIVATE coldpress BZip2::BZip2)
