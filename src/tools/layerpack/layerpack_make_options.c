/*
 * layerpack_make_options.c - the options for making a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/options.h"
#include "lazy/cvmfs/cas.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_MIN = 4096 };

static int
set_windows(struct layerpack *p)
{
	p->o.make.windows = optarg;
	if (strcmp(optarg, "raw") != 0 && strcmp(optarg, "packed") != 0)
		return options_bad(&p->msg, "type of windows",
		    "raw or packed");
	return -1;
}

static int
set_catalog(struct layerpack *p)
{
	int64_t n;
	int status = options_int(&p->msg, "number of names", CAS_CATALOG_MIN,
	    LAYER_ENTRIES_MAX, &n);

	if (status < 0)
		p->o.make.catalog = (uint64_t)n;
	return status;
}

int
layerpack_make_option(struct layerpack *p, int opt)
{
	struct layerpack_make_options *o = &p->o.make;

	switch (opt) {
	case '0': o->null_ends = true; break;
	case 'c': return options_size(&p->msg, "chunk size", &o->chunk);
	case 'L': return options_int(&p->msg, "level", 0, 22, &o->level);
	case 'o':
		o->output = optarg;
		return layerpack_set_mode(p, LAYERPACK_MAKE);
	case 'T': o->tmpdir = optarg; break;
	case LAYERPACK_CATALOG: return set_catalog(p);
	case LAYERPACK_NAME: o->name = optarg; break;
	case LAYERPACK_MIN_CHUNK:
		return options_size(&p->msg, "size", &o->min_chunk);
	case LAYERPACK_MIN_LAYER:
		return options_size(&p->msg, "size", &o->min_layer);
	case LAYERPACK_NO_COMPACT: o->no_compact = true; break;
	case LAYERPACK_NO_TAR_SPLIT: o->no_tar_split = true; break;
	case LAYERPACK_NO_TRACE: o->no_trace = true; break;
	case LAYERPACK_ORDER: o->order = optarg; break;
	case LAYERPACK_STARGZ: o->stargz = true; break;
	case LAYERPACK_STATS: o->stats = optarg == NULL ? "-" : optarg; break;
	case LAYERPACK_WINDOWS: return set_windows(p);
	default: return MSG_ERROR;
	}
	return -1;
}

/* Returns whether layers of this format can be made. */
static bool
makes(enum layer_kind kind)
{
#ifdef COLDPRESS_SQLITE
	const bool cas = true;
#else
	const bool cas = false;
#endif

	return kind != LAYER_CAS || cas;
}

static int
set_kind(struct layerpack *p)
{
	static const enum layer_kind kinds[] = { LAYER_ESTARGZ,
		LAYER_ZSTD_CHUNKED, LAYER_ZTOC, LAYER_CAS };
	const char *name = p->o.kind;

	for (size_t i = 0; name != NULL && i < sizeof(kinds) /
	    sizeof(kinds[0]); i++)
		if (makes(kinds[i]) &&
		    strcmp(name, layer_kind_name(kinds[i])) == 0) {
			p->o.make.kind = kinds[i];
			return -1;
		}
	msg_error(&p->msg, "%s needs -F estargz, zstd-chunked, ztoc%s%s%s",
	    p->o.mode == LAYERPACK_IMAGE ? "--image" : "-o",
	    makes(LAYER_CAS) ? ", cas" : "",
	    name == NULL ? "" : ", not ", name == NULL ? "" : name);
	return MSG_ERROR;
}

/* The formats that an option applies to. */
enum { TAR = 1, ZTOC = 2, CAS = 4, CHUNKED = 8 };

/* Reports options that do not apply to the format. */
static int
check_format(struct layerpack *p)
{
	const struct layerpack_make_options *o = &p->o.make;
	const struct {
		bool given;
		int formats;
		const char *name;
	} all[] = {
		{ o->order != NULL, TAR, "--order" },
		{ o->min_chunk != 0, TAR, "--min-chunk" },
		{ o->no_compact, TAR, "--no-compact-index" },
		{ o->no_trace, TAR, "--no-trace" },
		{ o->no_tar_split, TAR, "--no-tar-split" },
		{ o->stargz, CHUNKED, "--stargz" },
		{ o->windows != NULL, ZTOC, "--windows" },
		{ o->min_layer != 0, ZTOC, "--min-layer" },
		{ o->stats != NULL, TAR | ZTOC, "--stats" },
		{ o->name != NULL, CAS, "--name" },
		{ o->catalog != 0, CAS, "--catalog" },
		{ p->o.key != NULL, CAS, "--key" },
	};
	int format = o->kind == LAYER_ZTOC ? ZTOC : o->kind == LAYER_CAS ?
	    CAS : TAR;

	if (o->kind == LAYER_ZSTD_CHUNKED)
		format |= CHUNKED;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].given && (all[i].formats & format) == 0) {
			msg_error(&p->msg, "%s cannot be used with -F %s",
			    all[i].name, p->o.kind);
			return MSG_ERROR;
		}
	if (p->o.mode == LAYERPACK_IMAGE && o->windows != NULL &&
	    strcmp(o->windows, "packed") == 0) {
		msg_error(&p->msg, "--windows packed cannot be used with "
		    "--image: SOCI does not read packed windows");
		return MSG_ERROR;
	}
	return -1;
}

int
layerpack_make_check(struct layerpack *p)
{
	struct layerpack_make_options *o = &p->o.make;
	struct pack_levels levels;
	int status = set_kind(p);

	if (status < 0)
		status = check_format(p);
	if (status >= 0)
		return status;
	levels = pack_levels(o->kind);
	if (o->level >= 0 && (o->level < levels.least ||
	    o->level > levels.most)) {
		msg_error(&p->msg, "level %" PRId64 " is not in %d..%d, the "
		    "levels of %s", o->level, levels.least, levels.most,
		    p->o.kind);
		return MSG_ERROR;
	}
	if (o->chunk != 0 && (o->chunk < CHUNK_MIN ||
	    o->chunk > LAYER_UNIT_MAX)) {
		msg_error(&p->msg, "chunk size %" PRIu64 " is not in 4K..64M",
		    o->chunk);
		return MSG_ERROR;
	}
	return -1;
}
