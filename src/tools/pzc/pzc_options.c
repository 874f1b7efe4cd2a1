/*
 * pzc_options.c - applying each of pzc's options
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzc_style.h"

#include "base/args.h"
#include "base/options.h"

#include <stdio.h>
#include <string.h>

enum { LONG_WINDOW = 27 };

static int
set_format(struct pzc *p, const char *name)
{
	char known[128] = "";
	size_t n = 0;

	p->codec = codec_by_name(name);
	if (p->codec != NULL)
		return -1;
	for (size_t i = 0; codecs[i] != NULL && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
		    i == 0 ? "" : ", ", codecs[i]->name);
	msg_error(&p->msg, "unknown format '%s'; expected one of %s (-F is not "
	    "pigz's --first)", name, known);
	return MSG_ERROR;
}

/* Sets the level range: MIN:MAX, or the format's own range. */
static int
set_adapt(struct pzc *p)
{
	char low[16] = "";
	const char *colon = optarg == NULL ? NULL : strchr(optarg, ':');
	int64_t min = -1, max = -1;

	p->adapt = true;
	if (colon != NULL && (size_t)(colon - optarg) < sizeof(low))
		memcpy(low, optarg, (size_t)(colon - optarg));
	if (optarg != NULL && (colon == NULL ||
	    args_int(low, 0, PZC_LEVEL_MAX, &min) != 0 ||
	    args_int(colon + 1, min, PZC_LEVEL_MAX, &max) != 0)) {
		msg_error(&p->msg, "'%s' is not a level range MIN:MAX",
		    optarg);
		return MSG_ERROR;
	}
	p->adapt_min = (int)min;
	p->adapt_max = (int)max;
	return -1;
}

/* Sets an option that only some formats have; pzc_check() says which. */
static int
set_own(struct pzc *p, const char *key, uint64_t number, const char *text)
{
	int rc = codec_set(&p->codec_options, key, number, text);

	if (rc == 0)
		return -1;
	msg_error(&p->msg, "%s: %s", key, strerror(-rc));
	return MSG_ERROR;
}

static int
set_check(struct pzc *p, const char *name)
{
	p->no_check = false;
	return set_own(p, "check", 0, name);
}

static int
set_window(struct pzc *p)
{
	int64_t log = LONG_WINDOW;
	int status = -1;

	if (optarg != NULL)
		status = options_int(&p->msg, "window", 10, 30, &log);
	p->codec_options.window_max = (uint64_t)1 << log;
	return status >= 0 ? status :
	    set_own(p, "window-log", (uint64_t)log, NULL);
}

/*
 * Each of these functions handles an option.  It returns -1 to continue, or the
 * exit status after reporting an error.
 */

static int
take_number(struct pzc *p, int opt)
{
	struct codec_options *o = &p->codec_options;
	int64_t v = 0;
	int status;

	switch (opt) {
	case 'b':
		status = options_int(&p->msg, "block size", 1, 1 << 20, &v);
		o->block = (size_t)v << 10;
		return status;
	case OPT_FLUSH_MS:
		status = options_int(&p->msg, "time", 1, 3600000, &v);
		o->flush_ms = (int)v;
		return status;
	default:
		status = options_int(&p->msg, "level", 0, PZC_LEVEL_MAX, &v);
		p->level = (int)v;
		p->fast = opt == OPT_FAST;
		return status;
	}
}

static int
take_value(struct pzc *p, int opt)
{
	int status;

	switch (opt) {
	case 'A': p->alias = optarg; break;
	case 'C':			/* or xz's check */
		status = set_own(p, "comment", 0, optarg);
		return status >= 0 ? status : set_check(p, optarg);
	case 'F': return set_format(p, optarg);
	case 'I': case 'J': p->zopfli = true; break;
	case 'o': p->output = optarg; break;
	case 'p':
		return options_threads(&p->msg, PZC_THREADS_MAX,
		    &p->codec_options.threads);
	case 'S': p->suffix = optarg; break;
	case OPT_ADAPT: return set_adapt(p);
	case OPT_CHECK: return set_check(p, optarg);
	case OPT_FAST:
		p->level = 1;
		p->fast = false;
		return optarg == NULL ? -1 : take_number(p, opt);
	case OPT_LONG: return set_window(p);
	case OPT_MEMORY: return options_size(&p->msg, "size", &p->memory);
	case OPT_STATS: p->stats = optarg == NULL ? "-" : optarg; break;
	default: return take_number(p, opt);
	}
	return -1;
}

/* Sets the mode.  -td and -dt test; -lt and -tl list exact sizes. */
static void
set_mode(struct pzc *p, enum pzc_mode mode)
{
	enum pzc_mode was = p->mode;

	if (mode > was)
		p->mode = mode;
	p->verify |= p->mode == PZC_LIST &&
	    (was == PZC_TEST || mode == PZC_TEST);
}

int
pzc_take_option(struct pzc *p, int opt)
{
	struct codec_options *o = &p->codec_options;

	switch (opt) {
	case 'c': p->to_stdout = true; break;
	case 'd': set_mode(p, PZC_DECOMPRESS); break;
	case 'e': return set_own(p, "extreme", 1, NULL);
	case 'f': p->force = true; break;
	case 'h': return p->style->help(p);
	case 'H': return set_own(p, "huffman", 1, NULL);
	case 'i': o->independent = true; break;
	case 'k': p->keep = true; break;
	case 'K': return set_format(p, "zip");
	case 'l': set_mode(p, PZC_LIST); break;
	case 'L': return p->style->license(p);
	case 'm': case 'M':
		p->store_time = p->want_time = opt == 'M';
		if (p->style->restore_time_alone)
			p->restore_time = opt == 'M';
		break;
	case 'n': case 'N':
		p->store_name = p->store_time = opt == 'N';
		p->restore_name = p->restore_time = opt == 'N';
		p->want_time = false;
		break;
	case 'O': p->zopfli = true; break;
	case 'q':
		p->msg.quiet = true;
		p->msg.verbose = 0;
		break;
	case 'r': p->recursive = true; break;
	case 'R': o->rsyncable = true; break;
	case 't': set_mode(p, PZC_TEST); break;
	case 'U': return set_own(p, "rle", 1, NULL);
	case 'v':
		p->msg.quiet = p->msg.silent = false;
		p->msg.verbose++;
		break;
	case 'V': return p->style->version(p);
	case 'Y': p->sync = true; break;
	case 'z': return set_format(p, "zlib");
	case '?': return MSG_ERROR;
	case OPT_NO_CHECK:
		p->no_check = true;
		return set_own(p, "check", 0, "none");
	case OPT_ASCII: p->ascii = true; break;
	case OPT_BITS: return options_int(&p->msg, "number of bits", 0,
	    INT32_MAX, &(int64_t){ 0 });
	case OPT_BLOCK_CHECKSUM: return set_own(p, "block-check", 1, NULL);
	case OPT_BEST:
		p->level = 9;
		p->fast = false;
		break;
	case OPT_LEGACY: return set_own(p, "legacy", 1, NULL);
	case OPT_NONE: break;
	case OPT_SILENT:
		p->msg.quiet = p->msg.silent = true;
		p->msg.verbose = 0;
		break;
	case OPT_PRESUME_TTY: p->presume_tty = true; break;
	case OPT_ULTRA: p->ultra = true; break;	/* not required here */
	case OPT_JSON: p->json = true; break;
	case OPT_NO_SIZE: p->store_size = false; break;
	case OPT_SEEKABLE: return set_own(p, "seekable", 1, NULL);
	case OPT_VERIFY: p->verify = true; break;
	default: return take_value(p, opt);
	}
	return -1;
}
