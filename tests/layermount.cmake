# SPDX-License-Identifier: BSD-2-Clause
if(TARGET layermount)
    foreach(name http http_parse cache merge)
        unit_test(${name})
        target_include_directories(test_${name} PRIVATE
            ${CMAKE_SOURCE_DIR}/src/lazy/http ${CMAKE_SOURCE_DIR}/src/lazy/mount)
        target_link_libraries(test_${name} PRIVATE ${LAYERMOUNT_LIBRARIES})
    endforeach()
    target_sources(test_http PRIVATE http_server.c)
    add_executable(serve serve.c http_server.c)
    target_link_libraries(serve PRIVATE Threads::Threads)
    set_target_properties(serve PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    shell_test(cli layermount)
    shell_test(root layermount root)
    shell_test(root layermount_cas root)
    shell_test(root layermount_registry root)
    shell_test(root layermount_store root)
endif()
