# SPDX-License-Identifier: BSD-2-Clause
# The studies, to be run from libexec; demo and check stay in the repository.
install(PROGRAMS scripts/tarball scripts/pipe-buffer scripts/image-export
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
install(FILES scripts/lib.sh scripts/tarball-report.sh scripts/rows.awk
    scripts/stats.awk scripts/tree.awk scripts/breakeven.awk
    scripts/image-export-tree.sh scripts/image-export-report.sh
    scripts/image-export-plot.sh
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
