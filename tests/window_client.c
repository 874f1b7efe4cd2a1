/*
 * window_client.c - a program with a window, for tests of winwait
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * window_client [-ir] [-c class] [-t title] [-k dialog|splash] [-w ms] [-f
 * file]
 *
 * Waits -w milliseconds, makes a window of that class (default: test; "": none)
 * and maps it; -i first creates one that is never mapped.  It writes the times
 * of its MapNotify event and of its appearance in _NET_CLIENT_LIST to file, in
 * ns on CLOCK_MONOTONIC or, with -r, CLOCK_REALTIME; then it waits to be
 * killed.  To read these times promptly on a busy machine, it runs at real-time
 * priority if permitted.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

struct client {
	const char *class, *title, *kind, *file;
	long wait_ms;
	clockid_t clock;
	int invisible;
	xcb_connection_t *c;
	xcb_window_t root, window;
	xcb_atom_t list;
	uint64_t mapped_ns, listed_ns;
};

static uint64_t
now_ns(const struct client *t)
{
	struct timespec ts;

	clock_gettime(t->clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static xcb_atom_t
atom(xcb_connection_t *c, const char *name)
{
	xcb_intern_atom_reply_t *r = xcb_intern_atom_reply(c,
	    xcb_intern_atom(c, 0, (uint16_t)strlen(name), name), NULL);
	xcb_atom_t a = r == NULL ? XCB_ATOM_NONE : r->atom;

	free(r);
	return a;
}

static xcb_window_t
create(struct client *t)
{
	const uint32_t events = XCB_EVENT_MASK_STRUCTURE_NOTIFY;
	xcb_window_t w = xcb_generate_id(t->c);

	xcb_create_window(t->c, XCB_COPY_FROM_PARENT, w, t->root, 0, 0, 80, 60,
	    0, XCB_WINDOW_CLASS_INPUT_OUTPUT, XCB_COPY_FROM_PARENT,
	    XCB_CW_EVENT_MASK, &events);
	return w;
}

static void
name_window(struct client *t)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s%c%s", t->class, '\0',
	    t->class) + 1;
	xcb_atom_t type;

	if (*t->class != '\0')
		xcb_change_property(t->c, XCB_PROP_MODE_REPLACE, t->window,
		    XCB_ATOM_WM_CLASS, XCB_ATOM_STRING, 8, (uint32_t)n, text);
	xcb_change_property(t->c, XCB_PROP_MODE_REPLACE, t->window,
	    XCB_ATOM_WM_NAME, XCB_ATOM_STRING, 8, (uint32_t)strlen(t->title),
	    t->title);
	if (t->kind == NULL)
		return;
	type = atom(t->c, strcmp(t->kind, "dialog") == 0 ?
	    "_NET_WM_WINDOW_TYPE_DIALOG" : "_NET_WM_WINDOW_TYPE_SPLASH");
	xcb_change_property(t->c, XCB_PROP_MODE_REPLACE, t->window,
	    atom(t->c, "_NET_WM_WINDOW_TYPE"), XCB_ATOM_ATOM, 32, 1, &type);
}

static int
listed(struct client *t)
{
	xcb_get_property_reply_t *r = xcb_get_property_reply(t->c,
	    xcb_get_property(t->c, 0, t->root, t->list,
	    XCB_GET_PROPERTY_TYPE_ANY, 0, 4096), NULL);
	const xcb_window_t *ids = r == NULL ? NULL : xcb_get_property_value(r);
	int found = 0;

	for (uint32_t i = 0; ids != NULL && i < r->value_len; i++)
		found |= ids[i] == t->window;
	free(r);
	return found;
}

static void
write_times(const struct client *t)
{
	char text[4096];
	FILE *f;

	if (t->file == NULL)
		return;
	snprintf(text, sizeof(text), "%s.new", t->file);
	f = fopen(text, "w");
	if (f == NULL)
		return;
	fprintf(f, "%" PRIu64 " %" PRIu64 "\n", t->mapped_ns, t->listed_ns);
	fclose(f);
	rename(text, t->file);
}

static void
wait_for_events(struct client *t)
{
	xcb_generic_event_t *e;

	while ((e = xcb_wait_for_event(t->c)) != NULL) {
		uint64_t now = now_ns(t);
		int type = e->response_type & 0x7f;

		if (type == XCB_MAP_NOTIFY && t->mapped_ns == 0) {
			t->mapped_ns = now;
			write_times(t);
		}
		if (type == XCB_PROPERTY_NOTIFY && t->listed_ns == 0 &&
		    ((xcb_property_notify_event_t *)e)->atom == t->list &&
		    listed(t)) {
			t->listed_ns = now;
			write_times(t);
		}
		free(e);
	}
}

static void
parse(struct client *t, int argc, char **argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "c:f:ik:rt:w:")) != -1)
		switch (ch) {
		case 'c': t->class = optarg; break;
		case 'f': t->file = optarg; break;
		case 'i': t->invisible = 1; break;
		case 'k': t->kind = optarg; break;
		case 'r': t->clock = CLOCK_REALTIME; break;
		case 't': t->title = optarg; break;
		case 'w': t->wait_ms = atol(optarg); break;
		default: exit(2);
		}
}

int
main(int argc, char **argv)
{
	struct client t = { .class = "test", .title = "a test",
		.clock = CLOCK_MONOTONIC };
	const uint32_t events = XCB_EVENT_MASK_PROPERTY_CHANGE;
	const struct sched_param priority = { .sched_priority = 1 };
	struct timespec nap;

	parse(&t, argc, argv);
	if (t.file != NULL)
		sched_setscheduler(0, SCHED_RR, &priority);
	nap = (struct timespec){ t.wait_ms / 1000,
		t.wait_ms % 1000 * 1000000 };
	t.c = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(t.c))
		return 3;
	t.root = xcb_setup_roots_iterator(xcb_get_setup(t.c)).data->root;
	t.list = atom(t.c, "_NET_CLIENT_LIST");
	xcb_change_window_attributes(t.c, t.root, XCB_CW_EVENT_MASK, &events);
	if (t.invisible)
		create(&t);
	xcb_flush(t.c);
	nanosleep(&nap, NULL);
	t.window = create(&t);
	name_window(&t);
	xcb_map_window(t.c, t.window);
	xcb_flush(t.c);
	wait_for_events(&t);
	return 0;
}
