/*
 * layerpack_make_options.c - the options for making a layer
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/options.h"

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
		return options_bad(&p->msg, "kind of windows",
		    "raw or packed");
	return -1;
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
	case LAYERPACK_MIN_CHUNK:
		return options_size(&p->msg, "size", &o->min_chunk);
	case LAYERPACK_MIN_LAYER:
		return options_size(&p->msg, "size", &o->min_layer);
	case LAYERPACK_NO_TAR_SPLIT: o->no_tar_split = true; break;
	case LAYERPACK_NO_TRACE: o->no_trace = true; break;
	case LAYERPACK_ORDER: o->order = optarg; break;
	case LAYERPACK_STATS: o->stats = optarg == NULL ? "-" : optarg; break;
	case LAYERPACK_WINDOWS: return set_windows(p);
	default: return MSG_ERROR;
	}
	return -1;
}

static int
set_kind(struct layerpack *p)
{
	static const enum layer_kind kinds[] = { LAYER_ESTARGZ,
		LAYER_ZSTD_CHUNKED, LAYER_ZTOC };
	const char *name = p->o.kind;
	/* an image of layers with ztocs is not made */
	bool image = p->o.mode == LAYERPACK_IMAGE;
	size_t count = image ? 2 : 3;

	for (size_t i = 0; name != NULL && i < count; i++)
		if (strcmp(name, layer_kind_name(kinds[i])) == 0) {
			p->o.make.kind = kinds[i];
			return -1;
		}
	msg_error(&p->msg, "%s%s%s", image ?
	    "--image needs -F estargz or zstd-chunked" :
	    "-o needs -F estargz, zstd-chunked or ztoc",
	    name == NULL ? "" : ", not ", name == NULL ? "" : name);
	return MSG_ERROR;
}

/* An option that is not for this format is a mistake. */
static int
check_format(struct layerpack *p)
{
	const struct layerpack_make_options *o = &p->o.make;
	bool ztoc = o->kind == LAYER_ZTOC;
	const char *alien = ztoc ?
	    o->order != NULL ? "--order" :
	    o->min_chunk != 0 ? "--min-chunk" :
	    o->no_trace ? "--no-trace" :
	    o->no_tar_split ? "--no-tar-split" : NULL :
	    o->windows != NULL ? "--windows" :
	    o->min_layer != 0 ? "--min-layer" : NULL;

	if (alien == NULL)
		return -1;
	msg_error(&p->msg, "%s is not for %s", alien, p->o.kind);
	return MSG_ERROR;
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
		msg_error(&p->msg, "level %" PRId64 " is not in %d..%d, those "
		    "of %s", o->level, levels.least, levels.most, p->o.kind);
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
