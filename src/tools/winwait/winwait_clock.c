/*
 * winwait_clock.c - translating the X server's timestamps
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * On a busy machine an event may be read long after it happened.  Property
 * changes carry a timestamp: milliseconds on the server's own clock, truncated
 * to 32 bits.
 */
#include "winwait_clock.h"

#include "base/sys.h"

#include <stdbool.h>
#include <stdlib.h>

enum { TRIES = 8, MS = 1000000 };

/*
 * Returns the latest time that a timestamp can represent, ignoring its
 * truncation.
 */
static uint64_t
latest(const struct winwait_clock *k, uint32_t ms)
{
	return k->ns + (uint64_t)((int64_t)(int32_t)(ms - k->ms) * MS);
}

/*
 * Changes a property of the window.  Returns the timestamp of the change, or
 * -1.
 */
static int64_t
stamp(xcb_connection_t *c, xcb_window_t window)
{
	int64_t ms = -1;
	xcb_generic_event_t *e;

	xcb_change_property(c, XCB_PROP_MODE_REPLACE, window, XCB_ATOM_WM_NAME,
	    XCB_ATOM_STRING, 8, 0, NULL);
	xcb_flush(c);
	while (ms < 0 && (e = xcb_wait_for_event(c)) != NULL) {
		if ((e->response_type & 0x7f) == XCB_PROPERTY_NOTIFY)
			ms = ((const xcb_property_notify_event_t *)e)->time;
		free(e);
	}
	return ms;
}

/*
 * Every timestamp precedes its arrival, so the timestamp with the shortest
 * delay provides the tightest bound.
 */
int
winwait_clock_set(struct winwait_clock *k, xcb_connection_t *c,
    xcb_window_t root)
{
	const uint32_t events = XCB_EVENT_MASK_PROPERTY_CHANGE;
	xcb_window_t window = xcb_generate_id(c);
	int64_t ms = 0;

	xcb_create_window(c, 0, window, root, 0, 0, 1, 1, 0,
	    XCB_WINDOW_CLASS_INPUT_ONLY, XCB_COPY_FROM_PARENT,
	    XCB_CW_EVENT_MASK, &events);
	for (int i = 0; i < TRIES && ms >= 0; i++) {
		uint64_t now;

		ms = stamp(c, window);
		now = sys_now_ns();
		if (ms >= 0 && (i == 0 || now < latest(k, (uint32_t)ms)))
			*k = (struct winwait_clock){ (uint32_t)ms, now };
	}
	xcb_destroy_window(c, window);
	return ms < 0 ? -1 : 0;
}

uint64_t
winwait_clock_ns(const struct winwait_clock *k, uint32_t ms, uint64_t now)
{
	uint64_t end = latest(k, ms) + MS;

	return now < end ? now : end;
}
