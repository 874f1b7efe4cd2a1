# SPDX-License-Identifier: BSD-2-Clause
if(LAYERPACK_BUILT)
    unit_test(flatbuf)
    unit_test(layer)
    target_link_libraries(test_layer PRIVATE ${LAYERPACK_LIBRARIES})
    unit_test(pack)
    target_link_libraries(test_pack PRIVATE ${LAYERPACK_LIBRARIES})
    shell_test(cli layerpack_make)
endif()
