/*
 * lapcmp.c - compare runs by paired ratios, with an exact interval
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/args.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
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

/* Returns -1, or the exit status. */
static int
set_option(struct cmp *c, int opt)
{
	struct cmp_options *o = &c->o;
	double percent = 10;

	switch (opt) {
	case 'h': return options_help(&c->msg, usage, help);
	case 'k': o->keys = optarg; break;
	case 'r': o->ref = optarg; break;
	case 's': o->stage = optarg; break;
	case 'V':
		printf("lapcmp (coldpress) %s\n", COLDPRESS_VERSION);
		return msg_finish(&c->msg);
	case OPT_ACROSS: o->across = true; break;
	case OPT_ALL: o->all = true; break;
	case OPT_CSV: o->csv = true; break;
	case OPT_HOLM: o->holm = true; break;
	case OPT_JSON: o->json = true; break;
	case OPT_TEST:
		if (strcmp(optarg, "sign") != 0 &&
		    strcmp(optarg, "ranks") != 0) {
			msg_error(&c->msg, "--test '%s': expected sign or "
			    "ranks", optarg);
			return MSG_ERROR;
		}
		o->test = *optarg == 's' ? CMP_SIGN : CMP_RANK;
		break;
	case OPT_TRIM:
		if (optarg != NULL &&
		    args_real(optarg, 0, 49.999, &percent) != 0)
			return options_bad(&c->msg, "trim", "in 0..49");
		o->trim = percent / 100;
		break;
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
		status = set_option(c, ch);
	return status;
}

static void
note_rows(struct cmp *c)
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
	struct cmp c = { .o = { .stage = "all", .trim = -1 } };
	struct options options = { .msg = &c.msg, .into = &c,
	    OPTIONS_TABLE(lapcmp_table), .usage = lapcmp_usage,
	    .about = lapcmp_about };
	int rc;

	msg_init(&c.msg, argv[0]);
	rc = options_parse(&options, argc, argv);
	if (rc >= 0)
		return rc;
	rc = optind == argc ? cmp_read(&c, "-") : 0;
	for (int i = optind; i < argc && rc == 0; i++)
		rc = cmp_read(&c, argv[i]);
	if (rc == 0 && c.rows.count == 0)
		msg_error(&c.msg, "no rows for stage '%s'", c.o.stage);
	else if (rc == 0) {
		rc = cmp_compare(&c);
		if (rc == 0)
			note_rows(&c);
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
