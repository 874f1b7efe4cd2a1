# SPDX-License-Identifier: BSD-2-Clause
# Installs the studies and benchmarks, which run from libexec, and the
# documents; demo and check stay in the repository.
install(PROGRAMS scripts/tarball scripts/pipe-buffer scripts/image-export
    scripts/mailfs scripts/bench-pzc scripts/bench-coldwalk
    scripts/bench-layers scripts/bench-mount scripts/bench-pull scripts/bench-sqpack
    scripts/bench-winwait scripts/bench-readers scripts/bench-advise
    scripts/bench-suites scripts/snap-startup scripts/lazy-pull scripts/coldpress
    scripts/sweep
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/*.sh
    ${PROJECT_SOURCE_DIR}/scripts/*.awk ${PROJECT_SOURCE_DIR}/scripts/*.py
    ${PROJECT_SOURCE_DIR}/scripts/*.html ${PROJECT_SOURCE_DIR}/scripts/*.tsv)
list(FILTER parts EXCLUDE REGEX "/(setup|check-bare)[.]sh$")
install(FILES ${parts} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
file(WRITE ${PROJECT_BINARY_DIR}/version "${PROJECT_VERSION}\n")
install(FILES ${PROJECT_BINARY_DIR}/version
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
install(DIRECTORY scripts/snap-startup-apps
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
# a link, since the studies are found beside the script
install(CODE "file(MAKE_DIRECTORY
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR})
file(CREATE_LINK ../${CMAKE_INSTALL_LIBEXECDIR}/coldpress/coldpress
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/coldpress
    SYMBOLIC)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES
    \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/coldpress)")
install(FILES man/coldpress.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE NEWS README.md SECURITY.md CONTRIBUTING.md TYPE DOC)
install(PROGRAMS examples/lens examples/pzc-nodes
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(PROGRAMS scripts/simulate-registry
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples/registry)
install(DIRECTORY examples/registry examples/systemd
    DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/*.md
    ${PROJECT_SOURCE_DIR}/doc/*.svg)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/doc)
# Shells look up completions by command name.
foreach(name IN LISTS tools PZC_NAMES ITEMS coldpress)
    install(FILES scripts/completion.bash RENAME ${name}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    configure_file(scripts/completion.zsh completions/_${name} @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/completions/_${name}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES scripts/completion.fish RENAME ${name}.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endforeach()
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
    -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
