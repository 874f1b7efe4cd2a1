# SPDX-License-Identifier: BSD-2-Clause
# The studies, to be run from libexec; demo and check stay in the repository.
install(PROGRAMS scripts/tarball scripts/pipe-buffer
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
install(FILES scripts/lib.sh scripts/tarball-report.sh scripts/rows.awk
    scripts/tree.awk
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/coldpress)
