# SPDX-License-Identifier: BSD-2-Clause
# Installs the studies and benchmarks, which run from libexec, and the
# documents; demo and check stay in the repository.
install(PROGRAMS scripts/tarball scripts/pipe-buffer scripts/image-export
    scripts/mailfs scripts/bench-pzc scripts/bench-coldwalk
    scripts/bench-layers scripts/bench-mount scripts/bench-sqpack
    scripts/bench-winwait scripts/bench-readers scripts/snap-startup
    scripts/lazy-pull scripts/coldpress
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
install(FILES scripts/lib.sh scripts/bench.sh scripts/study.sh
    scripts/options.sh scripts/plan.sh scripts/xserver.sh
    scripts/cells.sh
    scripts/findings.sh scripts/csv.awk scripts/rows.awk
    scripts/tarball-baselines.sh scripts/tarball-report.sh
    scripts/stats.awk scripts/tree.awk scripts/breakeven.awk
    scripts/image-export-tree.sh scripts/image-export-cell.sh
    scripts/image-export-report.sh scripts/image-export-findings.sh
    scripts/image-export-plot.sh scripts/image-export-methods.sh
    scripts/image-export-start.sh scripts/image-export-tables.sh
    scripts/image-export-sizes.sh
    scripts/snap-startup-apps.sh scripts/snap-startup-images.sh
    scripts/snap-startup-launch.sh scripts/snap-startup-prewarm.sh
    scripts/snap-startup-cell.sh scripts/snap-startup-report.sh
    scripts/snap-startup-findings.sh scripts/snap-startup-tables.sh
    scripts/snap-startup-plot.sh scripts/plot.sh
    scripts/snap-startup-machines.sh
    scripts/lazy-pull-systems.sh scripts/lazy-pull-images.sh
    scripts/lazy-pull-net.sh scripts/lazy-pull-cell.sh
    scripts/lazy-pull-start.sh scripts/lazy-pull-pullers.sh
    scripts/lazy-pull-root.sh scripts/lazy-pull-report.sh
    scripts/lazy-pull-tables.sh scripts/lazy-pull-findings.sh
    scripts/lazy-pull-plot.sh scripts/lazy-pull-containerd.sh
    scripts/lazy-pull-delay.py scripts/lazy-pull-publish.sh
    scripts/lazy-pull-rows.sh scripts/lazy-pull-runtimes.sh
    scripts/lazy-pull-serve.sh scripts/lazy-pull-services.sh
    scripts/mailfs-source.sh scripts/mailfs-findings.sh
    scripts/mailfs-fs.sh scripts/mailfs-sizes.sh scripts/mailfs-cell.sh
    scripts/mailfs-copy.sh scripts/mailfs-report.sh
    scripts/mailfs-tables.sh scripts/mailfs-plot.sh
    scripts/mailfs-rows.awk scripts/mailfs.awk scripts/mailfs-study.awk
    scripts/bench-readers-programs.sh scripts/bench-readers.awk
    scripts/bench-layers-images.sh
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
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/doc/*.md
    ${PROJECT_SOURCE_DIR}/doc/*.svg)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/doc)
# bash looks up completions by command name.
foreach(name IN LISTS tools PZC_NAMES)
    install(FILES scripts/completion.bash RENAME ${name}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
    -DMANIFEST=${CMAKE_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM)
