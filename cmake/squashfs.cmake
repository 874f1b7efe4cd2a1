# SPDX-License-Identifier: BSD-2-Clause
# The reader of squashfs images.  liblzo2 is under the GPL: a build with it
# may be given away under that licence alone.
option(COLDPRESS_LZO "Read squashfs images of lzo, by liblzo2" ON)

if(COLDPRESS_COLDWALK AND CRYPTO_FOUND)
    target_sources(coldpress PRIVATE
        src/image/sq_super.c src/image/sq_table.c src/image/sq_meta.c
        src/image/sq_inode.c src/image/sq_dir.c src/image/sq_codec.c
        src/image/sq_tree.c src/image/sq_plan.c src/image/sq_pool.c
        src/image/sq_rows.c src/image/sq_walk.c)
    if(COLDPRESS_LZO)
        find_path(LZO_INCLUDE lzo/lzo1x.h)
        find_library(LZO_LIBRARY lzo2)
    endif()
    if(COLDPRESS_LZO AND LZO_INCLUDE AND LZO_LIBRARY)
        target_compile_definitions(coldpress PRIVATE COLDPRESS_LZO)
        target_include_directories(coldpress PRIVATE ${LZO_INCLUDE})
        target_link_libraries(coldpress PUBLIC ${LZO_LIBRARY})
    else()
        list(APPEND lost "liblzo2: squashfs images of lzo cannot be read")
    endif()
endif()
