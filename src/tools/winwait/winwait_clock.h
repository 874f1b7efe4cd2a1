/*
 * winwait_clock.h - the clock of an X server, which dates some events
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WINWAIT_CLOCK_H
#define COLDPRESS_WINWAIT_CLOCK_H

#include <stdint.h>
#include <xcb/xcb.h>

struct winwait_clock {
	uint32_t ms;			/* a time stamp of the server, */
	uint64_t ns;			/* which cannot mean a later time */
};

/*
 * Compares the server's clock with ours.  Events that are pending are lost, so
 * this comes before any are requested.  0, or -1 if the connection is lost.
 */
int winwait_clock_set(struct winwait_clock *k, xcb_connection_t *c,
    xcb_window_t root);

/*
 * When an event happened, as of sys_now_ns(): it bears the time stamp ms and was
 * read at the time now.  At most a millisecond too late, plus the error of the
 * comparison.
 */
uint64_t winwait_clock_ns(const struct winwait_clock *k, uint32_t ms,
    uint64_t now);

#endif
