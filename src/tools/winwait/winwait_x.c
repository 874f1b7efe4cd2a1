/*
 * winwait_x.c - watching an X server for new windows
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A window manager lists the windows that it manages in _NET_CLIENT_LIST
 * (Extended Window Manager Hints, 1.5); without a window manager, a window
 * counts when it is mapped.  A managed window is reparented, and the root then
 * receives no events about it, so the events of each window are selected as
 * soon as it is created.
 *
 * Windows that existed before the command started are ignored.
 */
#include "winwait.h"
#include "winwait_clock.h"

#include "base/array.h"
#include "base/sys.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xcb.h>

enum { LIST_MAX = 4096, WINDOWS_MAX = 1 << 16 };

enum atom { CLIENT_LIST, WM_NAME, WM_TYPE, TYPE_DIALOG, TYPE_SPLASH, WM_CHECK,
    ATOMS };

struct window {
	xcb_window_t id;
	xcb_window_t frame;		/* frame of the window manager, or 0 */
	uint64_t created_ns, mapped_ns;
};

struct winwait_x {
	xcb_connection_t *c;
	xcb_window_t root;
	xcb_atom_t atoms[ATOMS];
	bool managed;			/* there is a window manager */
	struct winwait_clock clock;	/* clock of the server */
	struct window *windows;		/* created since the watch began */
	size_t count, cap;
};

static int
ask_atoms(struct winwait_x *x)
{
	static const char *const names[] = { [CLIENT_LIST] =
	    "_NET_CLIENT_LIST", [WM_NAME] = "_NET_WM_NAME", [WM_TYPE] =
	    "_NET_WM_WINDOW_TYPE", [TYPE_DIALOG] =
	    "_NET_WM_WINDOW_TYPE_DIALOG", [TYPE_SPLASH] =
	    "_NET_WM_WINDOW_TYPE_SPLASH", [WM_CHECK] =
	    "_NET_SUPPORTING_WM_CHECK" };
	xcb_intern_atom_cookie_t asked[ATOMS];

	for (int i = 0; i < ATOMS; i++)
		asked[i] = xcb_intern_atom(x->c, 0,
		    (uint16_t)strlen(names[i]), names[i]);
	for (int i = 0; i < ATOMS; i++) {
		xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(x->c,
		    asked[i], NULL);

		if (r == NULL)
			return -1;
		x->atoms[i] = r->atom;
		free(r);
	}
	return 0;
}

/* Returns a property of any type, to be freed with free(), or NULL. */
static xcb_get_property_reply_t *
property(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name)
{
	return xcb_get_property_reply(x->c, xcb_get_property(x->c, 0, id, name,
	    XCB_GET_PROPERTY_TYPE_ANY, 0, LIST_MAX), NULL);
}

/* Returns the first of a property's 32-bit values, or 0. */
static uint32_t
first_value(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name)
{
	xcb_get_property_reply_t *r = property(x, id, name);
	uint32_t value = 0;

	if (r != NULL && r->format == 32 && r->value_len > 0)
		memcpy(&value, xcb_get_property_value(r), sizeof(value));
	free(r);
	return value;
}

/*
 * Copies the text of a property; two strings separated by NUL are joined by a
 * dot.
 */
static void
text_of(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name,
    char text[TEXT_B])
{
	xcb_get_property_reply_t *r = property(x, id, name);
	size_t n = r == NULL || r->format != 8 ? 0 :
	    (size_t)xcb_get_property_value_length(r);

	if (n > TEXT_B - 1)
		n = TEXT_B - 1;
	if (n > 0)
		memcpy(text, xcb_get_property_value(r), n);
	while (n > 0 && text[n - 1] == '\0')
		n--;
	text[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = '.';
	free(r);
}

static int
listen_to(const struct winwait_x *x, xcb_window_t id, uint32_t events)
{
	xcb_generic_error_t *e = xcb_request_check(x->c,
	    xcb_change_window_attributes_checked(x->c, id, XCB_CW_EVENT_MASK,
	    &events));
	int rc = e == NULL ? 0 : -1;

	free(e);
	return rc;
}

int
winwait_x_open(struct winwait *w)
{
	struct winwait_x *x = sys_calloc(1, sizeof(*x));
	const char *display = getenv("DISPLAY");
	int screen = 0;
	xcb_screen_iterator_t s;

	w->x = x;
	if (x == NULL) {
		msg_error(&w->msg, "out of memory");
		return -1;
	}
	x->c = xcb_connect(NULL, &screen);
	if (xcb_connection_has_error(x->c)) {
		msg_error(&w->msg, "no X server at DISPLAY '%s'",
		    display == NULL ? "" : display);
		return -1;
	}
	s = xcb_setup_roots_iterator(xcb_get_setup(x->c));
	for (; screen > 0 && s.rem > 1; screen--)
		xcb_screen_next(&s);
	x->root = s.data->root;
	if (ask_atoms(x) != 0 || winwait_clock_set(&x->clock, x->c,
	    x->root) != 0 || listen_to(x, x->root,
	    XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY |
	    XCB_EVENT_MASK_PROPERTY_CHANGE) != 0) {
		msg_error(&w->msg, "the X server sends no events for its root "
		    "window");
		return -1;
	}
	x->managed = first_value(x, x->root, x->atoms[WM_CHECK]) != 0;
	return 0;
}

void
winwait_x_close(struct winwait_x *x)
{
	if (x == NULL)
		return;
	xcb_disconnect(x->c);
	sys_free(x->windows);
	sys_free(x);
}

int
winwait_x_fd(const struct winwait_x *x)
{
	return xcb_get_file_descriptor(x->c);
}

/* Windows */

static struct window *
find(struct winwait_x *x, xcb_window_t id)
{
	for (size_t i = x->count; i > 0; i--)
		if (x->windows[i - 1].id == id)
			return &x->windows[i - 1];
	return NULL;
}

static void
add(struct winwait_x *x, xcb_window_t id, uint64_t now)
{
	const uint32_t events = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
	void *windows = x->windows;
	int rc = x->count == WINDOWS_MAX ? -1 : array_grow(&windows, x->count,
	    &x->cap, sizeof(*x->windows));

	x->windows = windows;
	if (rc != 0)
		return;
	x->windows[x->count++] = (struct window){ .id = id,
		.created_ns = now };
	/* if the window is already gone, the error is ignored */
	xcb_change_window_attributes(x->c, id, XCB_CW_EVENT_MASK, &events);
}

static void
drop(struct winwait_x *x, xcb_window_t id)
{
	struct window *v = find(x, id);

	if (v != NULL)
		*v = x->windows[--x->count];
}

/* Classifies a window; RESULT_NONE means to ignore it. */
static enum winwait_result
judge(struct winwait *w, xcb_window_t id)
{
	struct winwait_x *x = w->x;
	struct winwait_seen *s = &w->seen;
	uint32_t type = first_value(x, id, x->atoms[WM_TYPE]);
	bool matches;

	text_of(x, id, XCB_ATOM_WM_CLASS, s->class);
	text_of(x, id, x->atoms[WM_NAME], s->title);
	if (s->title[0] == '\0')
		text_of(x, id, XCB_ATOM_WM_NAME, s->title);
	if (type == x->atoms[TYPE_SPLASH])
		return RESULT_NONE;
	if (type == x->atoms[TYPE_DIALOG] || s->class[0] == '\0')
		return RESULT_ERROR_WINDOW;
	matches = w->has_match &&
	    regexec(&w->match, s->class, 0, NULL, 0) == 0;
	if (!matches && regexec(&w->error, s->title, 0, NULL, 0) == 0)
		return RESULT_ERROR_WINDOW;
	return matches || !w->has_match ? RESULT_SEEN : RESULT_NONE;
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Handles a window of the command that appeared at time `now`, or at the
 * server's earlier timestamp if events were read late.
 */
static void
appear(struct winwait *w, const struct window *v, uint64_t now)
{
	enum winwait_result result = judge(w, v->id);

	if (result == RESULT_NONE) {
		w->seen.class[0] = w->seen.title[0] = '\0';
		return;
	}
	w->seen.result = result;
	w->seen.created_ns = earlier(v->created_ns, now);
	w->seen.mapped_ns = earlier(v->mapped_ns, now);
	w->seen.seen_ns = now;
}

static void
read_list(struct winwait *w, uint64_t now)
{
	struct winwait_x *x = w->x;
	xcb_get_property_reply_t *r = property(x, x->root,
	    x->atoms[CLIENT_LIST]);
	const xcb_window_t *ids = r == NULL ? NULL : xcb_get_property_value(r);
	size_t n = r == NULL || r->format != 32 ? 0 : r->value_len;

	for (size_t i = 0; i < n && w->seen.result == RESULT_NONE; i++) {
		const struct window *v = find(x, ids[i]);

		if (v != NULL)
			appear(w, v, now);
	}
	free(r);
}

static void
map(struct winwait *w, const xcb_map_notify_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;
	struct window *v = find(x, e->window);

	for (size_t i = 0; i < x->count; i++)
		if ((x->windows[i].id == e->window ||
		    x->windows[i].frame == e->window) &&
		    x->windows[i].mapped_ns == 0)
			x->windows[i].mapped_ns = now;
	if (v != NULL && !x->managed && !e->override_redirect)
		appear(w, v, now);
}

static void
reparent(struct winwait_x *x, const xcb_reparent_notify_event_t *e)
{
	struct window *v = find(x, e->window);

	if (v != NULL && e->parent != x->root)
		v->frame = e->parent;
}

static void
take(struct winwait *w, const xcb_generic_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;
	const xcb_property_notify_event_t *p = (const void *)e;

	switch (e->response_type & 0x7f) {
	case XCB_CREATE_NOTIFY:
		add(x, ((const xcb_create_notify_event_t *)e)->window, now);
		break;
	case XCB_DESTROY_NOTIFY:
		drop(x, ((const xcb_destroy_notify_event_t *)e)->window);
		break;
	case XCB_MAP_NOTIFY:
		map(w, (const void *)e, now);
		break;
	case XCB_REPARENT_NOTIFY:
		reparent(x, (const void *)e);
		break;
	case XCB_PROPERTY_NOTIFY:
		if (p->window == x->root && p->atom == x->atoms[CLIENT_LIST])
			read_list(w, winwait_clock_ns(&x->clock, p->time,
			    now));
		break;
	}
}

/*
 * Returns the next event.  Sending a request may also read events into the
 * queue; these do not make the socket readable.
 */
static xcb_generic_event_t *
next_event(const struct winwait_x *x)
{
	xcb_generic_event_t *e = xcb_poll_for_event(x->c);

	if (e != NULL)
		return e;
	xcb_flush(x->c);
	return xcb_poll_for_queued_event(x->c);
}

void
winwait_x_events(struct winwait *w, uint64_t now)
{
	xcb_generic_event_t *e;

	while (w->seen.result == RESULT_NONE &&
	    (e = next_event(w->x)) != NULL) {
		take(w, e, now);
		free(e);
		/* More events may have arrived while this one was examined. */
		now = sys_now_ns();
	}
	if (w->seen.result == RESULT_NONE &&
	    xcb_connection_has_error(w->x->c))
		w->seen.result = RESULT_LOST;
}
