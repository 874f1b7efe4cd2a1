/*
 * pzc_parse.c - parsing the command line and the environment
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_style.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_MAX_LOG = 27 };

/*
 * Returns whether a word looks like -T4, which sets the number of threads in xz
 * and zstd, whereas pigz's -T has no argument.
 */
static bool
is_threads_T(int argc, char **argv, int word)
{
	const char *t = strchr(argv[word], 'T');

	if (t != NULL && t[1] != '\0')
		return isdigit((unsigned char)t[1]) != 0;
	return optind < argc && argv[optind][0] != '\0' &&
	    argv[optind][strspn(argv[optind], "0123456789")] == '\0' &&
	    access(argv[optind], F_OK) != 0;
}

/*
 * Returns whether a word looks like -M100M or -M50%, which limits the memory in
 * xz and zstd, whereas pigz's -M has no argument.  -M9 stores the time.
 */
static bool
is_limit_M(const char *word)
{
	const char *m = strchr(word, 'M');
	size_t n = m == NULL ? 0 : strspn(m + 1, "0123456789");

	return n > 2 || (n > 0 && (m[1 + n] == 'M' || m[1 + n] == 'G' ||
	    m[1 + n] == '%'));
}

/*
 * Adds a digit to the level.  The digits in one word form one number: -11 is
 * not -1 -1.
 */
static int
take_digit(struct pzc *p, int digit, bool more)
{
	p->level = more && !p->style->digits_apart ?
	    10 * p->level + digit : digit;
	p->fast = false;
	if (p->level <= PZC_LEVEL_MAX)
		return -1;
	msg_error(&p->msg, "there is no level %d", p->level);
	return MSG_ERROR;
}

/* Returns the meaning of the letter in this style. */
static int
meaning(const struct pzc_style *style, int opt)
{
	const struct pzc_letter *l = style->letters;

	while (l->letter != 0 && l->letter != opt)
		l++;
	return l->letter != 0 ? l->means : opt;
}

static int
take_option(struct pzc *p, int opt, int argc, char **argv, int word)
{
	opt = meaning(p->style, opt);
	if (opt == OPT_T && is_threads_T(argc, argv, word)) {
		msg_error(&p->msg, "-T means --no-time and takes no number; "
		    "use -p for the number of threads");
		return MSG_ERROR;
	}
	if (opt == OPT_M && is_limit_M(argv[word])) {
		msg_error(&p->msg, "-M means --time and takes no number; use "
		    "--memory to limit the memory");
		return MSG_ERROR;
	}
	return pzc_take_option(p, opt == OPT_T ? 'm' : opt == OPT_M ? 'M' :
	    opt);
}

/*
 * Parses all options.  Returns -1, or the exit status.  Operands are moved to
 * the front of argv here, instead of by getopt, so that optind indicates which
 * word contains an option.  allowed lists the permitted letters; NULL permits
 * all.
 */
static int
take_all(struct pzc *p, int argc, char **argv, const char *allowed)
{
	int opt, status = -1, word = 1, digit_word = -1;

	p->files = argv + 1;
	p->file_count = 0;
	optind = 0;
	while (status < 0 && (opt = options_next(&p->msg, argc, argv,
	    p->style->short_options, p->style->long_options)) != -1) {
		if (opt == 1) {
			p->files[p->file_count++] = optarg;
		} else if (allowed != NULL && opt != '?' &&
		    opt != OPT_MEMORY && strchr(allowed, opt) == NULL) {
			msg_error(&p->msg, "%s: option not allowed in the "
			    "environment", argv[word]);
			status = MSG_ERROR;
		} else if (opt >= '0' && opt <= '9') {
			status = take_digit(p, opt - '0', word == digit_word);
			digit_word = word;
		} else {
			status = take_option(p, opt, argc, argv, word);
		}
		word = optind;
	}
	/* "--" counts as a file if files are not allowed */
	if (allowed != NULL && word < optind)
		p->file_count++;
	while (status < 0 && optind < argc)
		p->files[p->file_count++] = argv[optind++];
	return status;
}

static int
take_variable(struct pzc *p, const char *name, char **argv, char ***words)
{
	const char *text = getenv(name);
	int count = 1, rc, status;

	if (text == NULL)
		return -1;
	rc = args_splice(text, &count, argv, words);
	if (rc != 0) {
		msg_error(&p->msg, "%s", strerror(-rc));
		return MSG_ERROR;
	}
	status = take_all(p, count, *words, p->style->in_environment);
	if (status >= 0)
		return status;
	if (p->file_count > 0) {
		msg_error(&p->msg, "%s may contain only options", name);
		return MSG_ERROR;
	}
	if (p->style->in_environment != NULL && count > 1 && !p->msg.quiet)
		msg_note(&p->msg, "warning: the environment variable %s is "
		    "deprecated; use an alias or script", name);
	return -1;
}

/* Parses the environment, before the command line, which overrides it. */
static int
take_environment(struct pzc *p, char **argv)
{
	int status = -1;

	for (size_t i = 0; status < 0 && p->style->environment[i] != NULL;
	    i++)
		status = take_variable(p, p->style->environment[i], argv,
		    &p->words[i]);
	return status;
}

int
pzc_parse(struct pzc *p, int argc, char **argv)
{
	int status;

	*p = (struct pzc){ .level = -1, .store_name = true,
	    .store_size = true,
	    .store_time = true,
	    .codec_options = {
	    .window_max = (uint64_t)1 << WINDOW_MAX_LOG } };
	msg_init(&p->msg, argv[0]);
	status = pzc_be_called(p);
	if (status < 0)
		status = take_environment(p, argv);
	if (status < 0)
		status = take_all(p, argc, argv, NULL);
	if (status < 0)
		status = pzc_check(p);
	p->codec_options.threads = cpus_choose(p->codec_options.threads,
	    PZC_THREADS_MAX);
	return status == MSG_ERROR ? p->style->bad_usage : status;
}

void
pzc_release(struct pzc *p)
{
	for (size_t i = 0; i < PZC_VARIABLES; i++)
		sys_free(p->words[i]);
}
