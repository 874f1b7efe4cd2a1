/*
 * world.c - the people who write, and the lists they write to
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include "base/sys.h"
#include "mail/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Streams of random numbers; messages use those from 0 onward. */
#define STREAM_WORLD (~(uint64_t)0)

enum { LOGO_LEAST = 4550, LOGO_MOST = 4750 };

static void
lower_case(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

static void
make_host(struct prng *p, char host[2 * WORD_B])
{
	char name[WORD_B];

	words_name(p, 2 + prng_below(p, 2), name);
	lower_case(name);
	snprintf(host, 2 * WORD_B, "%s.example", name);
}

static void
make_person(struct person *a, struct prng *p, const struct words *w,
    struct strbuf *title)
{
	static const uint8_t blocks[3][3] = { { 192, 0, 2 },
	    { 198, 51, 100 }, { 203, 0, 113 } };
	char first[WORD_B], last[WORD_B], machine[WORD_B];
	struct text t;

	words_name(p, 2, first);
	words_name(p, 2 + prng_below(p, 2), last);
	words_name(p, 2, machine);
	make_host(p, a->host);
	snprintf(a->name, sizeof(a->name), "%s %s", first, last);
	lower_case(first);
	lower_case(last);
	lower_case(machine);
	snprintf(a->address, sizeof(a->address), "%s.%s@%s", first, last,
	    a->host);
	snprintf(a->machine, sizeof(a->machine), "%s.%s", machine, a->host);
	memcpy(a->ip, blocks[prng_below(p, 3)], 3);
	a->ip[3] = (uint8_t)prng_range(p, 1, 254);
	a->client = (uint8_t)prng_below(p, 5);
	strbuf_clear(title);
	text_start(&t, w, p, &(struct text_like){ .repeat = 0 });
	text_line(&t, title, 3);
	strbuf_char(title, '\0');
	if (title->failed)
		return;
	a->signature[0] = '\0';
	if (prng_chance(p, PRNG_ONE / 3))
		snprintf(a->signature, sizeof(a->signature), "%s\n", a->name);
	else if (prng_chance(p, PRNG_ONE / 2))
		snprintf(a->signature, sizeof(a->signature),
		    "-- \n%s\n%s\nhttp://www.%s/\n", a->name, title->data,
		    a->host);
}

static void
make_page(struct list *l, struct prng *p, const struct words *w)
{
	static const char *const properties[][2] = { { "margin:0 0 ", "px 0" },
	    { "padding:", "px 4px" }, { "font-size:", "px" },
	    { "line-height:", "px" }, { "width:", "%" },
	    { "border-top:", "px solid #cccccc" },
	    { "text-align:left;text-indent:", "px" },
	    { "mso-line-height-rule:exactly;height:", "pt" },
	    { "font-family:Calibri,Arial,sans-serif;top:", "px" } };
	struct text t;

	text_start(&t, w, p, &(struct text_like){ .repeat = PRNG_ONE / 16 });
	t.break_line = "\n";
	t.break_par = "</p>\n<p class=\"legal\">";
	strbuf_str(&l->page, "<html xmlns:o=\"urn:schemas-microsoft-com:office:"
	    "office\">\n<head>\n<meta http-equiv=\"Content-Type\" "
	    "content=\"text/html; charset=utf-8\">\n"
	    "<style type=\"text/css\">\n<!--\n");
	/* style sheet rules, all with the same few properties */
	for (unsigned i = 0; i < 12; i++) {
		char name[WORD_B];

		words_name(p, 2, name);
		strbuf_fmt(&l->page, "table.%s td, p.%s, .ExternalClass %s {",
		    name, name, name);
		for (unsigned j = prng_range(p, 2, 4); j > 0; j--) {
			unsigned k = prng_below(p, 9);

			strbuf_fmt(&l->page, "%s%u%s", properties[k][0],
			    prng_range(p, 1, 48), properties[k][1]);
			strbuf_str(&l->page, j > 1 ? ";" : "}\n");
		}
	}
	strbuf_fmt(&l->page, "-->\n</style>\n</head>\n<body lang=\"EN-GB\">\n"
	    "<table width=\"100%%\" border=\"0\" cellspacing=\"0\"><tr><td>"
	    "<img src=\"cid:logo@%s\" alt=\"%s\"></td></tr></table>\n",
	    l->host, l->name);
	strbuf_str(&l->end, "<hr>\n<p class=\"legal\"><small>");
	text_write(&t, &l->end, 600);
	strbuf_fmt(&l->end, "</small></p>\n<p><a href=\"https://www.%s/legal\">"
	    "%s</a></p>\n</body>\n</html>\n", l->host, l->host);
	encode_noise(&l->logo, p, prng_range(p, LOGO_LEAST, LOGO_MOST));
}

static void
make_list(struct list *l, struct prng *p, const struct words *w, uint32_t i)
{
	static const char *const kinds[] = { "dev", "help", "users",
	    "announce", "sig", "core" };
	char name[WORD_B];

	memset(l, 0, sizeof(*l));
	words_name(p, 2, name);
	lower_case(name);
	make_host(p, l->host);
	if (i % WORLD_SET >= WORLD_OFFICE) {
		snprintf(l->name, sizeof(l->name), "%s-%s",
		    i % WORLD_SET == WORLD_OFFICE ? "office" : "share", name);
		if (i % WORLD_SET == WORLD_OFFICE)
			make_page(l, p, w);
		return;
	}
	snprintf(l->name, sizeof(l->name), "%s-%s", name,
	    kinds[prng_below(p, 6)]);
	snprintf(l->footer, sizeof(l->footer),
	    "_______________________________________________\n"
	    "%s mailing list\n%s@lists.%s\n"
	    "https://lists.%s/mailman/listinfo/%s\n",
	    l->name, l->name, l->host, l->host, l->name);
}

int
world_make(struct world *w, uint64_t seed, uint32_t sets)
{
	struct strbuf title = { .data = NULL };
	struct prng p;
	bool failed = false;

	w->sets = sets;
	w->lists = sys_calloc((size_t)sets * WORLD_SET, sizeof(*w->lists));
	if (w->lists == NULL)
		return -ENOMEM;
	prng_start(&p, seed, STREAM_WORLD);
	for (int i = 0; i < WORLD_LANGUAGES; i++)
		words_make(&w->words[i], &p, i > 0);
	for (int i = 0; i < WORLD_PEOPLE && !failed; i++) {
		make_person(&w->people[i], &p, &w->words[0], &title);
		failed = title.failed;
	}
	strbuf_free(&title);
	for (uint32_t i = 0; i < sets * WORLD_SET && !failed; i++) {
		struct list *l = &w->lists[i];

		make_list(l, &p, &w->words[0], i);
		failed = l->page.failed || l->end.failed || l->logo.failed;
	}
	return failed ? -ENOMEM : 0;
}

void
world_free(struct world *w)
{
	for (uint32_t i = 0; w->lists != NULL && i < w->sets * WORLD_SET;
	    i++) {
		strbuf_free(&w->lists[i].page);
		strbuf_free(&w->lists[i].end);
		strbuf_free(&w->lists[i].logo);
	}
	sys_free(w->lists);
	w->lists = NULL;
}
