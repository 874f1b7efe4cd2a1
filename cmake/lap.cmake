# SPDX-License-Identifier: BSD-2-Clause
# lap and lapcmp: run, time, compare
option(COLDPRESS_LAP "Build lap and lapcmp" ON)
