/*
 * winwait_clock.h - an X server's clock, which timestamps some events
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WINWAIT_CLOCK_H
#define COLDPRESS_WINWAIT_CLOCK_H

#include <stdint.h>
#include <xcb/xcb.h>

struct winwait_clock {
	uint32_t ms;			/* a timestamp of the server, */
	uint64_t ns;			/* and its latest possible time */
};

/*
 * Compares the server's clock with ours.  Pending events are lost, so call this
 * before requesting events.  Returns 0, or -1 if the connection is lost.
 */
int winwait_clock_set(struct winwait_clock *k, xcb_connection_t *c,
    xcb_window_t root);

/*
 * Returns the time, on the clock of sys_now_ns(), of an event with
 * timestamp ms that was read at time `now`.  The result is at most a
 * millisecond too late, plus the error of the comparison.
 */
uint64_t winwait_clock_ns(const struct winwait_clock *k, uint32_t ms,
    uint64_t now);

#endif
