# bzip2 by blocks
add_executable(bench_bz2 EXCLUDE_FROM_ALL bench_bz2.c)
target_link_libraries(bench_bz2 PRIVATE coldpress BZip2::BZip2)
