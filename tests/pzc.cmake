# SPDX-License-Identifier: BSD-2-Clause
fault_tool(pzc)
shell_test(cli pzc_flush)
shell_test(long cpu long)
shell_test(cli pzc_formats)
shell_test(cli pzc_formats_options)
shell_test(cli pzc_zip)
shell_test(cli pzc_members)
shell_test(cli pzc_names)
shell_test(cli pzc_as_gzip)
shell_test(cli pzc_as_pigz)
shell_test(cli pzc_options)
shell_test(cli pzc_files)
shell_test(cli pzc_same)
shell_test(cli pzc_errors)
shell_test(cli pzc_bombs)
shell_test(cli pzc_memory)
add_test(NAME cli.pzc_bombs_4GiB
    COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/run.sh cli_pzc_bombs.sh)
set_tests_properties(cli.pzc_bombs_4GiB PROPERTIES
    LABELS long SKIP_RETURN_CODE 77 TIMEOUT 3600
    ENVIRONMENT "BIN=${CMAKE_BINARY_DIR};SRC=${CMAKE_SOURCE_DIR};COLDPRESS_BOMB_MIB=4096")
shell_test(root pzc_files root)
# a process that exchanges two names
add_executable(exchange exchange.c)
set_target_properties(exchange PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
shell_test(cli pzc_exchange)
shell_test(root pzc_exchange root)
shell_test(cli vectors)
add_executable(kernel_gunzip kernel_gunzip.c)
target_link_libraries(kernel_gunzip PRIVATE PkgConfig::ZLIB)
shell_test(cli pzc_kernel)
shell_test(root boot root)
set_tests_properties(root.boot PROPERTIES TIMEOUT 1200)
shell_test(cli pzc_kill)
shell_test(cli pzc_fault)
shell_test(cli pzc_stats)

unit_test(pipeline)
unit_test(gzip_layout)
unit_test(gzip_verdict)
target_link_libraries(test_gzip_verdict PRIVATE PkgConfig::DEFLATE
    PkgConfig::ZLIB)
unit_test(deflate_scan)
unit_test(inflater)
target_link_libraries(test_inflater PRIVATE PkgConfig::ZLIB)
unit_test(deflate_walk)
target_link_libraries(test_deflate_walk PRIVATE PkgConfig::DEFLATE
    PkgConfig::ZLIB)
unit_test(deflate_blocks)
unit_test(deflate_strong)
target_link_libraries(test_deflate_strong PRIVATE PkgConfig::DEFLATE
    PkgConfig::ZLIB)
add_executable(bench_deflate_walk bench_deflate_walk.c)
target_link_libraries(bench_deflate_walk PRIVATE coldpress PkgConfig::DEFLATE)
find_package(BZip2 REQUIRED)
# bzip2 by blocks
unit_test(bz2_block bz2_made.c)
target_link_libraries(test_bz2_block PRIVATE BZip2::BZip2)
unit_test(bz2_stream bz2_made.c)
target_link_libraries(test_bz2_stream PRIVATE BZip2::BZip2)
add_executable(bench_bz2 EXCLUDE_FROM_ALL bench_bz2.c)
target_link_libraries(bench_bz2 PRIVATE coldpress BZip2::BZip2)

unit_test(lz4_fast)
unit_test(lz4 lz4_made.c)
unit_test(lz4_frames lz4_made.c)
unit_test(lz4_tool lz4_made.c)
set_tests_properties(unit.lz4_tool PROPERTIES
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})

shell_test(cli list)
shell_test(long list long)

if(COLDPRESS_PZSEEK)
    shell_test(cli pzseek)
    fault_tool(pzseek)
    shell_test(cli pzseek_fault)
endif()

unit_test(seek)
unit_test(adapt)
shell_test(cli pzc_adapt)

unit_test(tar)
add_executable(tar_list tar_list.c)
target_link_libraries(tar_list PRIVATE coldpress PkgConfig::ZLIB)
shell_test(cli tar)
