# SPDX-License-Identifier: BSD-2-Clause
# fsratio: what a tree would take on a compressing filesystem
option(COLDPRESS_FSRATIO "Build fsratio" ON)

if(COLDPRESS_FSRATIO)
    target_sources(coldpress PRIVATE src/fs/fs_list.c src/fs/fs_run.c
        src/fs/lzjb.c src/fs/packer.c src/fs/zfs.c src/fs/zfs_meta.c
        src/fs/zle.c)
    if(NOT COLDWALK_BUILT)
        target_sources(coldpress PRIVATE src/walk_tree.c)
    endif()
    if(NOT COLDPRESS_LAP AND NOT COLDWALK_BUILT)
        target_sources(coldpress PRIVATE src/provenance.c src/utc.c)
    endif()
    coldpress_tool(fsratio src/fsratio_options.c src/fsratio_rows.c
        src/fsratio_zfs.c)
    target_include_directories(fsratio PRIVATE src)
else()
    list(APPEND lost "fsratio: COLDPRESS_FSRATIO is OFF")
endif()
