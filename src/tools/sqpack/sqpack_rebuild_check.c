/*
 * sqpack_rebuild_check.c - checking that an image can be rebuilt from its tree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqpack.h"

#include "base/listing.h"
#include "image/squashfs/write/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void
print_difference(struct sq_file *f, const struct imgsrc_difference *d)
{
	const char *path = d->name == 0 ? NULL : sq_file_path(f, d->name);

	printf("different: byte %llu, ", (unsigned long long)d->at);
	if (d->old_ends || d->made_ends) {
		printf("where %s ends\n", d->old_ends ? "the image" :
		    "the rebuilt one");
	} else if (path != NULL) {
		fputs("in the data of ", stdout);
		listing_print(stdout, path, strlen(path));
		putchar('\n');
	} else {
		puts(d->where);
	}
}

static void
print_filters(int filters)
{
	const char *before = " --bcj ";

	for (int i = 0; i < SQW_FILTERS; i++)
		if ((filters & 1 << i) != 0) {
			printf("%s%s", before, sqw_filters[i]);
			before = ",";
		}
}

/* Prints all settings, including those for which the image has no field. */
static void
print_settings(const struct sqpack *p, bool level_given)
{
	const struct sqw_data_options *o = &p->image.pack;
	char text[SQW_RECORD_MAX];

	printf("built by: -F %s", o->method->name);
	if (o->method->filters)
		print_filters(o->level);
	else if (o->method->level_min != o->method->level_max)
		printf(" -L %d%s", o->level, level_given ? " (as given)" : "");
	printf(" -b %u%s", o->block, o->no_probe ? " --no-probe" : "");
	printf("%s\n", sqw_record_make(o, text) > 0 && p->image.tables.no_pad ?
	    "; the image cannot record all of these" : "");
}

static int
judge(struct sqpack *p, int fd)
{
	/* without reports: the source has made them */
	struct sq_file_options o = { .path = p->o.source,
		.has_offset = p->o.from.has_offset,
		.offset = p->o.from.offset, .threads = p->o.data.threads,
		.memory = p->o.memory };
	struct imgsrc_difference d;
	struct sq_file f;
	const char *why = NULL;
	int rc = sq_file_open(&f, &o, &why);

	if (rc == 0)
		rc = imgsrc_compare(&f, fd, &d);
	if (rc < 0)
		msg_error(&p->msg, "%s: %s", p->o.source,
		    why != NULL ? why : strerror(-rc));
	else if (rc > 0)
		print_difference(&f, &d);
	else
		printf("equal: %llu bytes\n",
		    (unsigned long long)p->image.space.image_B);
	sq_file_close(&f);
	return rc > 0 ? -EBADMSG : rc;
}

int
sqpack_rebuild_check(struct sqpack *p)
{
	bool given = p->o.data.level != 0;
	int rc = sqpack_build_nowhere(p, &imgsrc_rebuild, judge);

	if ((rc == 0 || p->msg.status == MSG_OK) && !p->msg.quiet)
		print_settings(p, given);
	return rc;
}
