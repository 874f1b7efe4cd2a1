# SPDX-License-Identifier: BSD-2-Clause
if(TARGET layermount)
    foreach(name http http_faults http_parse http_proxy http_stalls http_tls
        http_whole resolver cache cache_space merge registries units vfs vfs_ahead
        vfs_source vfs_store vfs_trace)
        unit_test(${name})
        target_include_directories(test_${name} PRIVATE
            ${CMAKE_SOURCE_DIR}/src/lazy/http ${CMAKE_SOURCE_DIR}/src/lazy/vfs)
        target_link_libraries(test_${name} PRIVATE ${LAYERMOUNT_LIBRARIES})
    endforeach()
    unit_test(pull tar_made.c)
    target_include_directories(test_pull PRIVATE
        ${CMAKE_SOURCE_DIR}/src/lazy/pull)
    target_link_libraries(test_pull PRIVATE ${LAYERMOUNT_LIBRARIES})
    if(CONTAINERD_BUILT)
        foreach(name IN ITEMS snapshots wire)
            unit_test(${name})
            target_include_directories(test_${name} PRIVATE
                ${CMAKE_SOURCE_DIR}/src/lazy/snapshots)
            target_link_libraries(test_${name} PRIVATE
                ${LAYERMOUNT_LIBRARIES})
        endforeach()
    endif()
    target_sources(test_cache_space PRIVATE ${fault_seam})
    target_sources(test_http_whole PRIVATE ${fault_seam})
    pkg_check_modules(SSL REQUIRED IMPORTED_TARGET libssl)
    add_library(http_server STATIC http_proxy.c http_server.c
        http_server_reply.c http_server_request.c)
    target_link_libraries(http_server PUBLIC PkgConfig::SSL PkgConfig::CRYPTO
        Threads::Threads)
    foreach(name http http_faults http_proxy http_stalls http_tls http_whole
        pull resolver vfs_source vfs_store)
        target_link_libraries(test_${name} PRIVATE http_server)
    endforeach()
    add_executable(serve serve.c)
    target_link_libraries(serve PRIVATE http_server)
    set_target_properties(serve PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    fault_tool(layermount)
    shell_test(cli layermount)
    shell_test(cli units)
    callers_test(layermount)
    shell_test(root bench_mount root)
    shell_test(root layermount root)
    shell_test(root layermount_cas root)
    shell_test(root cvmfs root)
    shell_test(root layermount_compact root)
    shell_test(root layermount_containerd root)
    shell_test(root layermount_damage root)
    shell_test(root layermount_faults long)
    shell_test(root layermount_proxy root)
    shell_test(root layermount_push root)
    shell_test(root layermount_registry root)
    shell_test(root layermount_store root)
    shell_test(root layermount_suite root)
    shell_test(root layermount_unload root)
    shell_test(root layermount_tls long)
endif()
