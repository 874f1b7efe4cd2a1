/*
 * lapcmp.c - compare runs by paired ratios, with an exact interval
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_ACROSS = 256, OPT_ALL, OPT_CSV, OPT_HOLM, OPT_JSON, OPT_TEST,
	OPT_TRIM };

static const struct option longs[] = {
	{ "across", no_argument, NULL, OPT_ACROSS },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "help", no_argument, NULL, 'h' },
	{ "holm", no_argument, NULL, OPT_HOLM },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "keys", required_argument, NULL, 'k' },
	{ "reference", required_argument, NULL, 'r' },
	{ "stage", required_argument, NULL, 's' },
	{ "test", required_argument, NULL, OPT_TEST },
	{ "trim", optional_argument, NULL, OPT_TRIM },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: lapcmp [-hV] [-r label] [-s stage] [-k key,...] [--across] [--all]\n"
"              [--holm] [--test sign|ranks] [--trim[=percent]]\n"
"              [--csv | --json] [file ...]\n";

static const char help[] =
"\n"
"Compares runs recorded by lap: the median ratio of pairs and its exact 95 %\n"
"confidence interval.  Reads standard input for -, or without a file.\n"
"\n"
"  --across             pair runs from different invocations of lap\n"
"  --all                also compare failed runs\n"
"  --csv, --json        write rows instead of a table\n"
"  --holm               intervals for all comparisons together (Holm)\n"
"  -k, --keys KEY,...   group runs by these keys only\n"
"  -r, --reference LABEL  compare with this label; default: the first of the\n"
"                       group\n"
"  -s, --stage N        compare this stage of pipelines; default: all\n"
"  --test sign|ranks    the test that decides: sign test (any noise; default)\n"
"                       or signed ranks (symmetric noise; more powerful)\n"
"  --trim[=PERCENT]     also print the mean without the outer PERCENT (10)\n"
"  -h, -V               this help; version\n";

static int
show_version(struct cmp *c)
{
	printf("lapcmp (coldpress) %s\n", COLDPRESS_VERSION);
	return msg_finish(&c->msg);
}

static int
set_trim(struct cmp *c)
{
	double percent = 10;

	if (optarg != NULL && args_real(optarg, 0, 49.999, &percent) != 0)
		return options_bad(&c->msg, "trim", "in 0..49");
	c->o.trim = percent / 100;
	return -1;
}

static int
set_test(struct cmp *c)
{
	if (strcmp(optarg, "sign") == 0)
		c->o.test = CMP_SIGN;
	else if (strcmp(optarg, "ranks") == 0)
		c->o.test = CMP_RANK;
	else {
		msg_error(&c->msg, "--test '%s': expected sign or ranks",
		    optarg);
		return MSG_ERROR;
	}
	return -1;
}

/* Returns -1, or the exit status. */
static int
take(struct cmp *c, int opt)
{
	struct cmp_options *o = &c->o;

	switch (opt) {
	case 'h': return options_help(&c->msg, usage, help);
	case 'k': o->keys = optarg; break;
	case 'r': o->ref = optarg; break;
	case 's': o->stage = optarg; break;
	case 'V': return show_version(c);
	case OPT_ACROSS: o->across = true; break;
	case OPT_ALL: o->all = true; break;
	case OPT_CSV: o->csv = true; break;
	case OPT_HOLM: o->holm = true; break;
	case OPT_JSON: o->json = true; break;
	case OPT_TEST: return set_test(c);
	case OPT_TRIM: return set_trim(c);
	default: return MSG_ERROR;
	}
	return -1;
}

static int
parse(struct cmp *c, int argc, char **argv)
{
	int ch, status = -1;

	c->o = (struct cmp_options){ .stage = "all", .trim = -1 };
	while (status < 0 && (ch = options_next(&c->msg, argc, argv,
	    "hk:r:s:V", longs)) != -1)
		status = take(c, ch);
	return status;
}

static int
read_all(struct cmp *c, int argc, char **argv)
{
	int rc = 0;

	if (optind == argc)
		return cmp_read(c, "-");
	for (int i = optind; i < argc && rc == 0; i++)
		rc = cmp_read(c, argv[i]);
	return rc;
}

static void
note(struct cmp *c)
{
	bool loose = false;

	if (c->rows.again == 1)
		msg_note(&c->msg, "1 row repeats a run (same series, label "
		    "and number) and was counted once");
	else if (c->rows.again > 1)
		msg_note(&c->msg, "%zu rows repeat a run (same series, label "
		    "and number) and were counted once", c->rows.again);
	for (size_t i = 0; i < c->count; i++)
		loose |= c->result[i].loose;
	if (loose)
		msg_note(&c->msg, "rows without a series are not known to be "
		    "interleaved, so they are not paired; --across pairs them "
		    "by run number");
}

int
main(int argc, char *argv[])
{
	struct cmp c = { .count = 0 };
	int rc;

	msg_init(&c.msg, argv[0]);
	rc = parse(&c, argc, argv);
	if (rc >= 0)
		return rc;
	rc = read_all(&c, argc, argv);
	if (rc == 0 && c.rows.count == 0)
		msg_error(&c.msg, "no rows for stage '%s'", c.o.stage);
	else if (rc == 0) {
		rc = cmp_compare(&c);
		if (rc == 0)
			note(&c);
		if (rc == 0)
			rc = c.o.csv || c.o.json ? cmp_print_rows(&c) :
			    cmp_print_text(&c);
		if (rc == -ENOENT)
			msg_error(&c.msg, "no rows have the label '%s'",
			    c.o.ref);
		else if (rc != 0)
			msg_error(&c.msg, "%s", strerror(-rc));
	}
	sys_free(c.result);
	sys_free(c.scratch);
	cmp_rows_free(&c.rows);
	return msg_finish(&c.msg);
}
