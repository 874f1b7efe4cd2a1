/*
 * winwait_x.c - watching an X server for new windows
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A window manager lists the windows that it manages in _NET_CLIENT_LIST
 * (Extended Window Manager Hints, 1.5); without a window manager, or with one
 * that keeps no list, a window counts when it is mapped.  A managed window is
 * reparented, and the root then receives no events about it, so the events of
 * each window are selected as soon as it is created.
 *
 * Windows that existed before the command started are ignored, and so are those
 * of processes that do not descend from it.  A window that was ignored is
 * examined again when its type, class or title changes: some programs turn
 * their splash screen into the main window.
 */
#include "winwait.h"
#include "winwait_clock.h"
#include "winwait_owner.h"

#include "base/array.h"
#include "base/sys.h"

#include <stdlib.h>
#include <string.h>
#include <xcb/xcb.h>

enum { LIST_MAX = 4096, WINDOWS_MAX = 1 << 16 };

enum atom { CLIENT_LIST, SUPPORTED, WM_CHECK, WM_NAME, WM_PID, WM_TYPE,
    /* the types of windows */
    TYPE_NORMAL, TYPE_DESKTOP, TYPE_DIALOG, TYPE_SPLASH, TYPE_UTILITY,
    TYPE_DOCK, TYPE_TOOLBAR, TYPE_MENU, TYPE_DROPDOWN, TYPE_POPUP, TYPE_TOOLTIP,
    TYPE_NOTIFICATION, TYPE_COMBO, TYPE_DND, ATOMS };

static const char *const atom_names[ATOMS] = {
	[CLIENT_LIST] = "_NET_CLIENT_LIST",
	[SUPPORTED] = "_NET_SUPPORTED",
	[WM_CHECK] = "_NET_SUPPORTING_WM_CHECK",
	[WM_NAME] = "_NET_WM_NAME",
	[WM_PID] = "_NET_WM_PID",
	[WM_TYPE] = "_NET_WM_WINDOW_TYPE",
	[TYPE_NORMAL] = "_NET_WM_WINDOW_TYPE_NORMAL",
	[TYPE_DESKTOP] = "_NET_WM_WINDOW_TYPE_DESKTOP",
	[TYPE_DIALOG] = "_NET_WM_WINDOW_TYPE_DIALOG",
	[TYPE_SPLASH] = "_NET_WM_WINDOW_TYPE_SPLASH",
	[TYPE_UTILITY] = "_NET_WM_WINDOW_TYPE_UTILITY",
	[TYPE_DOCK] = "_NET_WM_WINDOW_TYPE_DOCK",
	[TYPE_TOOLBAR] = "_NET_WM_WINDOW_TYPE_TOOLBAR",
	[TYPE_MENU] = "_NET_WM_WINDOW_TYPE_MENU",
	[TYPE_DROPDOWN] = "_NET_WM_WINDOW_TYPE_DROPDOWN_MENU",
	[TYPE_POPUP] = "_NET_WM_WINDOW_TYPE_POPUP_MENU",
	[TYPE_TOOLTIP] = "_NET_WM_WINDOW_TYPE_TOOLTIP",
	[TYPE_NOTIFICATION] = "_NET_WM_WINDOW_TYPE_NOTIFICATION",
	[TYPE_COMBO] = "_NET_WM_WINDOW_TYPE_COMBO",
	[TYPE_DND] = "_NET_WM_WINDOW_TYPE_DND",
};

/* What the type of a window means for a launch. */
enum kind {
	KIND_MAIN,			/* or unknown */
	KIND_DIALOG,
	KIND_SPLASH,
	KIND_OTHER			/* a part of the program's interface */
};

struct window {
	xcb_window_t id;
	xcb_window_t frame;		/* frame of the window manager, or 0 */
	uint64_t created_ns, mapped_ns;
	bool shown;			/* listed or, if there is no list,
					 * mapped */
	enum winwait_kin kin;		/* KIN_UNKNOWN: not asked yet, too */
};

struct winwait_x {
	xcb_connection_t *c;
	xcb_window_t root;
	xcb_atom_t atoms[ATOMS];
	bool managed;			/* a window manager keeps a list */
	struct winwait_owner owner;
	struct winwait_clock clock;	/* clock of the server */
	struct window *windows;		/* created since the watch began */
	size_t count, cap;
};

static int
ask_atoms(struct winwait_x *x)
{
	xcb_intern_atom_cookie_t asked[ATOMS];

	for (int i = 0; i < ATOMS; i++)
		asked[i] = xcb_intern_atom(x->c, 0,
		    (uint16_t)strlen(atom_names[i]), atom_names[i]);
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

/* Returns a property's 32-bit values; *n becomes their number. */
static const uint32_t *
values(const xcb_get_property_reply_t *r, size_t *n)
{
	*n = r == NULL || r->format != 32 ? 0 : r->value_len;
	return *n == 0 ? NULL : xcb_get_property_value(r);
}

/* Returns the first of a property's 32-bit values, or 0. */
static uint32_t
first_value(const struct winwait_x *x, xcb_window_t id, xcb_atom_t name)
{
	xcb_get_property_reply_t *r = property(x, id, name);
	size_t n;
	const uint32_t *all = values(r, &n);
	uint32_t value = n == 0 ? 0 : all[0];

	free(r);
	return value;
}

/*
 * Copies the text of a property; two strings separated by NUL are joined by a
 * dot.  Returns whether the window exists.
 */
static bool
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
	return r != NULL;
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

/*
 * Returns whether a window manager runs that keeps a list.  Its check window
 * disappears with it, whereas the properties of the root remain.  (Weston's
 * Xwayland has such a window, but keeps no list.)
 */
static bool
is_managed(const struct winwait_x *x)
{
	xcb_window_t check = first_value(x, x->root, x->atoms[WM_CHECK]);
	xcb_get_property_reply_t *r;
	const uint32_t *all;
	bool lists;
	size_t n;

	if (check == 0 || first_value(x, check, x->atoms[WM_CHECK]) != check)
		return false;
	r = property(x, x->root, x->atoms[CLIENT_LIST]);
	lists = r != NULL && r->type != XCB_ATOM_NONE;
	free(r);
	if (lists)
		return true;
	r = property(x, x->root, x->atoms[SUPPORTED]);
	all = values(r, &n);
	while (!lists && n > 0)
		lists = all[--n] == x->atoms[CLIENT_LIST];
	free(r);
	return lists;
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
		msg_error(&w->msg, "no X server at DISPLAY '%s'%s",
		    display == NULL ? "" : display,
		    getenv("WAYLAND_DISPLAY") == NULL ? "" :
		    "; a window on Wayland cannot be seen");
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
	winwait_owner_open(&x->owner, x->c);
	x->managed = is_managed(x);
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
find_window(struct winwait_x *x, xcb_window_t id)
{
	for (size_t i = x->count; i > 0; i--)
		if (x->windows[i - 1].id == id)
			return &x->windows[i - 1];
	return NULL;
}

static void
add_window(struct winwait_x *x, xcb_window_t id, uint64_t now)
{
	const uint32_t events = XCB_EVENT_MASK_STRUCTURE_NOTIFY |
	    XCB_EVENT_MASK_PROPERTY_CHANGE;
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
drop_window(struct winwait_x *x, xcb_window_t id)
{
	struct window *v = find_window(x, id);

	if (v != NULL)
		*v = x->windows[--x->count];
}

/*
 * Returns the kind of a window.  Its types are in order of preference, and may
 * begin with types that only one window manager knows.
 */
static enum kind
kind_of(const struct winwait_x *x, xcb_window_t id)
{
	static const enum kind kinds[ATOMS] = {
		[TYPE_NORMAL] = KIND_MAIN, [TYPE_DESKTOP] = KIND_MAIN,
		[TYPE_DIALOG] = KIND_DIALOG, [TYPE_SPLASH] = KIND_SPLASH,
		[TYPE_UTILITY] = KIND_OTHER, [TYPE_DOCK] = KIND_OTHER,
		[TYPE_TOOLBAR] = KIND_OTHER, [TYPE_MENU] = KIND_OTHER,
		[TYPE_DROPDOWN] = KIND_OTHER, [TYPE_POPUP] = KIND_OTHER,
		[TYPE_TOOLTIP] = KIND_OTHER, [TYPE_NOTIFICATION] = KIND_OTHER,
		[TYPE_COMBO] = KIND_OTHER, [TYPE_DND] = KIND_OTHER,
	};
	xcb_get_property_reply_t *r = property(x, id, x->atoms[WM_TYPE]);
	int known = ATOMS;
	size_t n;
	const uint32_t *all = values(r, &n);

	for (size_t i = 0; i < n && known == ATOMS; i++) {
		known = TYPE_NORMAL;
		while (known < ATOMS && x->atoms[known] != all[i])
			known++;
	}
	free(r);
	return known == ATOMS ? KIND_MAIN : kinds[known];
}

/*
 * Returns whether the window belongs to a process that does not descend from
 * the command, and notes it.
 */
static bool
is_foreign(struct winwait *w, struct window *v)
{
	struct winwait_x *x = w->x;
	char machine[TEXT_B];
	pid_t named, pid;

	if (v->kin != KIN_UNKNOWN)
		return v->kin == KIN_OTHER;
	named = (pid_t)first_value(x, v->id, x->atoms[WM_PID]);
	text_of(x, v->id, XCB_ATOM_WM_CLIENT_MACHINE, machine);
	v->kin = winwait_owner_of(&x->owner, v->id, named, machine, &pid);
	if (v->kin != KIN_OTHER)
		return false;
	w->seen.other_pid = pid;
	text_of(x, v->id, XCB_ATOM_WM_CLASS, w->seen.other_class);
	return true;
}

static bool
is_match(const regex_t *regex, const char *text)
{
	return regexec(regex, text, 0, NULL, 0) == 0;
}

/* Classifies a window; RESULT_NONE means to ignore it. */
static enum winwait_result
judge(struct winwait *w, struct window *v)
{
	struct winwait_x *x = w->x;
	struct winwait_seen *s = &w->seen;
	bool wanted = w->has_match || w->has_title;
	enum kind kind;

	/* a window that is already gone has no class: not an error message */
	if (!text_of(x, v->id, XCB_ATOM_WM_CLASS, s->class) ||
	    is_foreign(w, v))
		return RESULT_NONE;
	text_of(x, v->id, x->atoms[WM_NAME], s->title);
	if (s->title[0] == '\0')
		text_of(x, v->id, XCB_ATOM_WM_NAME, s->title);
	kind = kind_of(x, v->id);
	if (kind == KIND_SPLASH)
		return RESULT_NONE;
	if (wanted && (!w->has_match || is_match(&w->match, s->class)) &&
	    (!w->has_title || is_match(&w->title, s->title)))
		return RESULT_SEEN;
	if (kind == KIND_OTHER)
		return RESULT_NONE;
	if (kind == KIND_DIALOG || s->class[0] == '\0' ||
	    is_match(&w->error, s->title))
		return RESULT_ERROR_WINDOW;
	return wanted ? RESULT_NONE : RESULT_SEEN;
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
appear(struct winwait *w, struct window *v, uint64_t now)
{
	enum winwait_result result = judge(w, v);

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
	size_t n;
	const uint32_t *ids = values(r, &n);

	for (size_t i = 0; i < x->count; i++)
		x->windows[i].shown = false;
	for (size_t i = 0; i < n && w->seen.result == RESULT_NONE; i++) {
		struct window *v = find_window(x, ids[i]);

		if (v == NULL)
			continue;
		v->shown = true;
		appear(w, v, now);
	}
	free(r);
}

static bool
is_frame(const struct winwait_x *x, xcb_window_t id)
{
	for (size_t i = 0; i < x->count; i++)
		if (x->windows[i].frame == id)
			return true;
	return false;
}

static void
note_mapped(struct winwait *w, const xcb_map_notify_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;
	struct window *v = find_window(x, e->window);

	for (size_t i = 0; i < x->count; i++)
		if ((x->windows[i].id == e->window ||
		    x->windows[i].frame == e->window) &&
		    x->windows[i].mapped_ns == 0)
			x->windows[i].mapped_ns = now;
	if (v == NULL || x->managed || e->override_redirect ||
	    is_frame(x, v->id))
		return;
	v->shown = true;
	appear(w, v, now);
}

static void
unmap(struct winwait_x *x, const xcb_unmap_notify_event_t *e)
{
	struct window *v = find_window(x, e->window);

	if (v != NULL && !x->managed)
		v->shown = false;
}

static void
change(struct winwait *w, const xcb_property_notify_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;
	uint64_t then = winwait_clock_ns(&x->clock, e->time, now);
	struct window *v;

	if (e->window == x->root) {
		if (x->managed && e->atom == x->atoms[CLIENT_LIST])
			read_list(w, then);
		return;
	}
	v = find_window(x, e->window);
	if (v != NULL && v->shown && (e->atom == x->atoms[WM_TYPE] ||
	    e->atom == XCB_ATOM_WM_CLASS || (w->has_title &&
	    (e->atom == x->atoms[WM_NAME] || e->atom == XCB_ATOM_WM_NAME))))
		appear(w, v, then);
}

static bool
is_mapped(const struct winwait_x *x, xcb_window_t id)
{
	xcb_get_window_attributes_reply_t *r = xcb_get_window_attributes_reply(
	    x->c, xcb_get_window_attributes(x->c, id), NULL);
	bool mapped = r != NULL && r->map_state != XCB_MAP_STATE_UNMAPPED &&
	    !r->override_redirect;

	free(r);
	return mapped;
}

/*
 * A manager may have framed and mapped a window before its events were
 * selected.  If it is not mapped by now, its event will arrive.
 */
static void
reparent(struct winwait *w, const xcb_reparent_notify_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;
	struct window *v = find_window(x, e->window);

	if (v == NULL || e->parent == x->root)
		return;
	v->frame = e->parent;
	if (x->managed || v->shown || !is_mapped(x, v->id))
		return;
	v->shown = true;
	if (v->mapped_ns == 0)
		v->mapped_ns = now;
	appear(w, v, now);
}

static void
take_event(struct winwait *w, const xcb_generic_event_t *e, uint64_t now)
{
	struct winwait_x *x = w->x;

	switch (e->response_type & 0x7f) {
	case XCB_CREATE_NOTIFY:
		add_window(x, ((const xcb_create_notify_event_t *)e)->window,
		    now);
		break;
	case XCB_DESTROY_NOTIFY:
		drop_window(x, ((const xcb_destroy_notify_event_t *)e)->window);
		break;
	case XCB_MAP_NOTIFY:
		note_mapped(w, (const void *)e, now);
		break;
	case XCB_UNMAP_NOTIFY:
		unmap(x, (const void *)e);
		break;
	case XCB_REPARENT_NOTIFY:
		reparent(w, (const void *)e, now);
		break;
	case XCB_PROPERTY_NOTIFY:
		change(w, (const void *)e, now);
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
		take_event(w, e, now);
		free(e);
		/* More events may have arrived while this one was examined. */
		now = sys_now_ns();
	}
	if (w->seen.result == RESULT_NONE &&
	    xcb_connection_has_error(w->x->c))
		w->seen.result = RESULT_LOST;
}
