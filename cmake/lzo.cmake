# SPDX-License-Identifier: BSD-2-Clause
# LZO is licensed under the GPL, so only the tools that use it are linked with it
option(COLDPRESS_LZO "Support LZO in squashfs images and on btrfs" ON)
set(LZO_LIBRARIES_USED "")
if(COLDPRESS_LZO)
    pkg_check_modules(LZO IMPORTED_TARGET lzo2)
endif()
if(COLDPRESS_LZO AND LZO_FOUND)
    coldpress_folders(engine/lzo)
    target_compile_definitions(coldpress PRIVATE COLDPRESS_LZO)
    set(LZO_LIBRARIES_USED PkgConfig::LZO)
    set(licence "with LZO, coldwalk, fsratio and sqpack as a whole are under the \
GPL, version 3 or later; -DCOLDPRESS_LZO=OFF leaves them under BSD-2-Clause")
else()
    list(APPEND lost
        "LZO: coldwalk rejects such images, fsratio and sqpack do not support lzo")
endif()
