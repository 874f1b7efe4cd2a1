/*
 * output_signal.h - the temporary name that a signal must remove
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_OUTPUT_SIGNAL_H
#define COLDPRESS_OUTPUT_SIGNAL_H

#include "base/output.h"

/*
 * From now on a signal removes o->temp in o->dirfd, if there is such a name;
 * before it is made, so that no moment is left out.  One output of a process
 * at a time: of a second one nothing is removed.
 */
void output_arm(const struct output *o);

/* No more; before o->dirfd is closed. */
void output_disarm(const struct output *o);

#endif
