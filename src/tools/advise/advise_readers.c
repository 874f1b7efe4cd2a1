/*
 * advise_readers.c - which candidates all named programs can read
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The facts are rows of a table: a program, what it reads (stream, squashfs,
 * btrfs, zfs, layer or mail), a format, and the version since which it does so, or "-".  A program
 * with rows for a target reads no other formats there; one without rows for it
 * has nothing to do with it.
 */
#include "advise_tool.h"

#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fact {
	char program[24], target[12], format[12], since[12];
};

static const char *const target_names[ADVISE_TARGETS] = {
	[ADVISE_FILES] = "stream", [ADVISE_STREAM] = "stream",
	[ADVISE_SQUASHFS] = "squashfs", [ADVISE_BTRFS] = "btrfs",
	[ADVISE_ZFS] = "zfs", [ADVISE_SNAP] = "squashfs",
	[ADVISE_LAYERS] = "layer", [ADVISE_MAIL_STORE] = "mail",
};

/* Compares versions such as 5.4 and 5.15. */
static int
compare_versions(const char *a, const char *b)
{
	for (;;) {
		char *a_end, *b_end;
		long x = strtol(a, &a_end, 10), y = strtol(b, &b_end, 10);

		if (x != y)
			return x < y ? -1 : 1;
		if (*a_end != '.' && *b_end != '.')
			return 0;
		a = *a_end == '.' ? a_end + 1 : "0";
		b = *b_end == '.' ? b_end + 1 : "0";
	}
}

/* Reads the next fact.  Returns false at the end. */
static bool
next_fact(FILE *f, struct fact *fact)
{
	char line[256];

	while (fgets(line, sizeof(line), f) != NULL)
		if (line[0] != '#' && sscanf(line, "%23s %11s %11s %11s",
		    fact->program, fact->target, fact->format,
		    fact->since) == 4)
			return true;
	return false;
}

/*
 * Takes away what the program name, perhaps with "-VERSION", does not read.
 * Returns false if it is unknown.
 */
static bool
restrict_to(struct advise_tool *t, FILE *f, const char *name, size_t len)
{
	struct fact fact;
	bool known = false, has[ADVISE_TARGETS] = { false };
	bool *reads = sys_calloc(t->count * ADVISE_CANDIDATES + 1, 1);
	char version[12] = "";

	if (reads == NULL)
		return false;
	rewind(f);
	while (next_fact(f, &fact)) {
		size_t n = strlen(fact.program);

		if (len < n || strncmp(name, fact.program, n) != 0 ||
		    (len > n && name[n] != '-'))
			continue;
		if (len > n + 1)
			snprintf(version, sizeof(version), "%.*s",
			    (int)(len - n - 1), name + n + 1);
		known = true;
		for (int g = 0; g < ADVISE_TARGETS; g++)
			has[g] |= strcmp(target_names[g], fact.target) == 0;
		if (*version != '\0' && *fact.since != '-' &&
		    compare_versions(version, fact.since) < 0)
			continue;
		for (size_t i = 0; i < t->count; i++) {
			enum advise_target g = t->cases[i].group.target;
			const struct advise_candidate *c =
			    advise_candidates(g);

			for (unsigned k = 0; c[k].name != NULL; k++)
				if (strcmp(target_names[g], fact.target) == 0 &&
				    strcmp(c[k].format, fact.format) == 0)
					reads[i * ADVISE_CANDIDATES + k] = true;
		}
	}
	for (size_t i = 0; i < t->count; i++)
		for (unsigned k = 0; k < ADVISE_CANDIDATES; k++)
			if (has[t->cases[i].group.target])
				t->cases[i].read[k] &=
				    reads[i * ADVISE_CANDIDATES + k];
	sys_free(reads);
	return known;
}

/* Names the programs of the table, each once. */
static void
list_programs(struct advise_tool *t, FILE *f)
{
	struct strbuf b = { 0 };
	struct fact fact;
	char last[sizeof(fact.program)] = "";

	rewind(f);
	while (next_fact(f, &fact))
		if (strcmp(fact.program, last) != 0) {
			strbuf_fmt(&b, " %s", fact.program);
			strcpy(last, fact.program);
		}
	strbuf_char(&b, '\0');
	if (!b.failed)
		msg_note(&t->msg, "known readers:%s", b.data);
	strbuf_free(&b);
}

int
advise_readers(struct advise_tool *t)
{
	const char *list = t->o.readers;
	FILE *f;
	int status = -1;

	for (size_t i = 0; i < t->count; i++)
		memset(t->cases[i].read, true, sizeof(t->cases[i].read));
	if (list == NULL)
		return -1;
	f = t->o.readers_file == NULL ? NULL :
	    fopen(t->o.readers_file, "re");
	if (f == NULL) {
		msg_error(&t->msg, "%s: %s", t->o.readers_file == NULL ?
		    "--readers" : t->o.readers_file,
		    t->o.readers_file == NULL ?
		    "expected a file with the facts" : strerror(errno));
		return MSG_ERROR;
	}
	while (*list != '\0' && status < 0) {
		size_t n = strcspn(list, ",");

		if (n > 0 && !restrict_to(t, f, list, n)) {
			msg_error(&t->msg, "nothing is known about the reader "
			    "'%.*s'", (int)n, list);
			list_programs(t, f);
			status = MSG_ERROR;
		}
		list += n + (list[n] == ',');
	}
	fclose(f);
	return status;
}
