# SPDX-License-Identifier: BSD-2-Clause
# advise: what to compress, how, and what it saves; coldpress runs it
option(COLDPRESS_ADVISE "Build coldpress advise (needs fsratio and coldwalk)" ON)

if(COLDPRESS_ADVISE AND COLDPRESS_FSRATIO AND COLDWALK_BUILT)
    coldpress_folders(advise)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tools/advise/*.c)
    add_executable(coldpress-advise ${sources})
    target_link_libraries(coldpress-advise PRIVATE coldpress
        ${FSRATIO_LIBRARIES} ${COLDWALK_LIBRARIES})
    install(TARGETS coldpress-advise
        DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
    install(FILES man/coldpress-advise.1
        DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
else()
    list(APPEND lost "coldpress advise: needs fsratio and coldwalk")
endif()
