# SPDX-License-Identifier: BSD-2-Clause
# fsratio: what a tree would take on a compressing filesystem
option(COLDPRESS_FSRATIO "Build fsratio" ON)

if(COLDPRESS_FSRATIO)
    target_sources(coldpress PRIVATE src/fs/fs_hole.c src/fs/fs_list.c
        src/fs/fs_model.c src/fs/fs_run.c src/fs/packer.c
        src/fs/lz4_zfs.c src/fs/lzjb.c src/fs/zle.c src/fs/packer_zfs.c src/fs/zfs.c
        src/fs/zfs_block.c src/fs/zfs_dnode.c src/fs/zfs_dir.c
        src/fs/zfs_meta.c src/fs/zfs_model.c
        src/fs/packer_btrfs.c src/fs/btrfs.c src/fs/btrfs_sample.c
        src/fs/btrfs_trees.c src/fs/btrfs_model.c
        src/fs/packer_squashfs.c src/fs/sqfs_tree.c src/fs/sqfs_twins.c
        src/fs/sqfs_units.c src/fs/sqfs_feed.c src/fs/sqfs_table.c
        src/fs/sqfs_listing.c src/fs/sqfs_inode.c src/fs/sqfs_image.c
        src/fs/sqfs_model.c)
    if(NOT COLDWALK_BUILT)
        target_sources(coldpress PRIVATE src/walk_open.c src/walk_tree.c)
    endif()
    if(NOT COLDPRESS_LAP AND NOT COLDWALK_BUILT)
        target_sources(coldpress PRIVATE src/provenance.c src/utc.c)
    endif()
    coldpress_tool(fsratio src/fsratio_options.c src/fsratio_rows.c)
    target_include_directories(fsratio PRIVATE src)
    # Its licence is the GPL: linked with nothing that does not use it.
    set(FSRATIO_LIBRARIES "")
    if(COLDPRESS_LZO)
        pkg_check_modules(LZO IMPORTED_TARGET lzo2)
    endif()
    if(COLDPRESS_LZO AND LZO_FOUND)
        target_sources(coldpress PRIVATE src/fs/packer_lzo.c)
        target_compile_definitions(coldpress PRIVATE COLDPRESS_LZO)
        set(FSRATIO_LIBRARIES PkgConfig::LZO)
    else()
        list(APPEND lost "LZO: fsratio has no lzo")
    endif()
    target_link_libraries(fsratio PRIVATE ${FSRATIO_LIBRARIES})
else()
    list(APPEND lost "fsratio: COLDPRESS_FSRATIO is OFF")
endif()
