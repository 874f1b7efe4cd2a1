/*
 * pzc_zstd_train.c - dictionaries made as zstd --train does
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libzstd has the trainers; the options, messages and statuses are the same as
 * in zstd 1.5.4.
 */
#define ZDICT_STATIC_LINKING_ONLY

#include "pzc_zstd.h"

#include "base/args.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/output.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zdict.h>

enum {
	MAXDICT_B = 112640,		/* size of a dictionary, by default */
	SAMPLE_B = 128 << 10,		/* of a file */
	SAMPLES_B = 1 << 30,		/* of all files */
	SAMPLES_LEAST = 5,
	SELECTIVITY = 9,
	MB = 1 << 20
};

/* The samples that a dictionary is made from, one after the other. */
struct pzc_samples {
	char *bytes;
	size_t len, room;
	size_t *sizes;
	size_t count, sizes_room;
	uint64_t total;			/* bytes of all samples, read or not */
	size_t most;			/* to be read */
	/* what --train-cover and --train-fastcover say */
	ZDICT_fastCover_params_t how;
};

/* Options */

int
pzc_take_train(void *into, const char *how)
{
	struct pzc *p = into;

	p->trains = how;
	p->train_options = optarg;
	return -1;
}

/*
 * Reads "k=N,d=N,..."; a parameter that is not named is 0.  Only fastcover has
 * f and accel.  Returns false if they are malformed.
 */
static bool
read_parameters(ZDICT_fastCover_params_t *to, const char *s, bool fast)
{
	static const struct {
		const char *name;
		size_t at;
		bool fast;
	} all[] = {
		{ "k", offsetof(ZDICT_fastCover_params_t, k), false },
		{ "d", offsetof(ZDICT_fastCover_params_t, d), false },
		{ "f", offsetof(ZDICT_fastCover_params_t, f), true },
		{ "steps", offsetof(ZDICT_fastCover_params_t, steps), false },
		{ "accel", offsetof(ZDICT_fastCover_params_t, accel), true },
		{ "shrink", offsetof(ZDICT_fastCover_params_t,
		    shrinkDictMaxRegression), false },
		{ "split", 0, false },
		{ NULL, 0, false }
	};

	*to = (ZDICT_fastCover_params_t){ .k = 0 };
	for (bool more = true; more;) {
		size_t len = strcspn(s, ","), name = strcspn(s, "=,"), i = 0;
		bool given = name < len;
		char value[16] = "1";
		int64_t n;

		while (all[i].name != NULL && (strlen(all[i].name) != name ||
		    strncmp(all[i].name, s, name) != 0))
			i++;
		if (all[i].name == NULL || (all[i].fast && !fast) ||
		    (given && len - name > sizeof(value)) ||
		    (!given && strcmp(all[i].name, "shrink") != 0))
			return false;
		if (given)
			snprintf(value, sizeof(value), "%.*s",
			    (int)(len - name - 1), s + name + 1);
		if (args_int(value, 0, UINT32_MAX, &n) != 0)
			return false;
		if (strcmp(all[i].name, "split") == 0) {
			to->splitPoint = (double)n / 100;
		} else {
			unsigned v = (unsigned)n;

			memcpy((char *)to + all[i].at, &v, sizeof(v));
		}
		if (strcmp(all[i].name, "shrink") == 0)
			to->shrinkDict = 1;
		more = s[len] == ',';
		s += len + more;
	}
	return true;
}

/* --train-legacy=s=N or selectivity=N. */
static bool
read_selectivity(struct pzc *p, const char *s)
{
	const char *equal = strchr(s, '=');
	size_t name = equal == NULL ? 0 : (size_t)(equal - s);
	int64_t n;

	if ((name != 1 || *s != 's') &&
	    (name != 11 || strncmp(s, "selectivity", name) != 0))
		return false;
	if (args_int(equal + 1, 0, UINT32_MAX, &n) != 0)
		return false;
	p->selectivity = (int)n;
	return true;
}

static int
too_few_samples(struct pzc *p)
{
	fputs("!  Warning : nb of samples too low for proper processing ! \n"
	    "!  Please provide _one file per sample_. \n"
	    "!  Alternatively, split files into fixed-size blocks "
	    "representative of samples, with -B# \n"
	    "Error 14 : nb of samples too low\n", stderr);
	return p->msg.status = ZSTD_FEW_SAMPLES;
}

static void
free_samples(struct pzc *p)
{
	if (p->samples == NULL)
		return;
	sys_free(p->samples->bytes);
	sys_free(p->samples->sizes);
	sys_free(p->samples);
	p->samples = NULL;
}

int
pzc_train_prepare(struct pzc *p)
{
	bool legacy = strcmp(p->trains, "-legacy") == 0;
	bool cover = strcmp(p->trains, "-cover") == 0;
	struct pzc_samples *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return options_wrong(&p->msg, strerror(ENOMEM));
	p->samples = s;
	s->most = SAMPLES_B;
	if (p->limit.unpack > 0 && p->limit.unpack < s->most)
		s->most = (size_t)p->limit.unpack;
	/* the defaults of zstd */
	s->how = (ZDICT_fastCover_params_t){ .d = 8, .steps = 4,
	    .f = cover ? 0 : 20, .splitPoint = cover ? 1 : 0.75,
	    .accel = cover ? 0 : 1 };
	if (p->train_options != NULL && (legacy ?
	    !read_selectivity(p, p->train_options) :
	    !read_parameters(&s->how, p->train_options, !cover))) {
		free_samples(p);
		return options_wrong(&p->msg, "Incorrect parameters");
	}
	/* -o means the dictionary, not where inputs go */
	p->dictionary = p->output;
	p->output = NULL;
	p->to_stdout = true;
	if (p->file_count > 0 || p->names_files.count > 0)
		return -1;
	free_samples(p);
	return too_few_samples(p);
}

/* Samples */

/* Makes room for n bytes more, and for one sample more. */
static int
reserve(struct pzc_samples *s, size_t n)
{
	void *bytes = s->bytes, *sizes = s->sizes;
	int rc = array_reserve(&bytes, s->len + n, &s->room, 1);

	s->bytes = bytes;
	if (rc == 0)
		rc = array_grow(&sizes, s->count, &s->sizes_room,
		    sizeof(*s->sizes));
	s->sizes = sizes;
	return rc;
}

/* Of a file, its first SAMPLE_B bytes or, with -B, all pieces of that size. */
void
pzc_train_sample(struct pzc *p, struct source *src)
{
	struct pzc_samples *s = p->samples;
	size_t most = p->job_B > 0 ? p->job_B : SAMPLE_B, room;
	uint64_t size = src->st.st_size > 0 ? (uint64_t)src->st.st_size : 0;
	ssize_t n;

	s->total += p->job_B > 0 || size < SAMPLE_B ? size : SAMPLE_B;
	do {
		room = s->most - s->len < most ? s->most - s->len : most;
		if (room == 0)
			return;
		if (reserve(s, room) != 0) {
			msg_error(&p->msg, "out of memory");
			return;
		}
		n = fdio_read(src->fd, s->bytes + s->len, room);
		if (n < 0) {
			pzc_say(p, ON_OPEN, src->path, strerror((int)-n));
			return;
		}
		if (n > 0)
			s->sizes[s->count++] = (size_t)n;
		s->len += (size_t)n;
	} while (p->job_B > 0 && (size_t)n == most);
}

/* Training */

/* Returns the dictionary's size, or an error code of ZDICT. */
static size_t
run_trainer(struct pzc *p, ZDICT_params_t z, void *dict, size_t room)
{
	struct pzc_samples *s = p->samples;
	ZDICT_fastCover_params_t fast = s->how;
	ZDICT_cover_params_t cover = { .k = fast.k, .d = fast.d,
	    .steps = fast.steps, .splitPoint = fast.splitPoint,
	    .shrinkDict = fast.shrinkDict,
	    .shrinkDictMaxRegression = fast.shrinkDictMaxRegression };
	unsigned count = (unsigned)s->count;
	bool searches = fast.k == 0 || fast.d == 0;
	size_t len;

	if (strcmp(p->trains, "-legacy") == 0)
		return ZDICT_trainFromBuffer_legacy(dict, room, s->bytes,
		    s->sizes, count, (ZDICT_legacy_params_t){
		    .selectivityLevel = p->selectivity >= 0 ?
		    (unsigned)p->selectivity : SELECTIVITY, .zParams = z });
	fast.nbThreads = cover.nbThreads = p->codec_options.threads;
	fast.zParams = cover.zParams = z;
	if (strcmp(p->trains, "-cover") == 0) {
		if (!searches)
			return ZDICT_trainFromBuffer_cover(dict, room, s->bytes,
			    s->sizes, count, cover);
		len = ZDICT_optimizeTrainFromBuffer_cover(dict, room, s->bytes,
		    s->sizes, count, &cover);
		if (!ZDICT_isError(len) && !p->msg.quiet)
			fprintf(stderr, "k=%u\nd=%u\nsteps=%u\nsplit=%u\n",
			    cover.k, cover.d, cover.steps,
			    (unsigned)(100 * cover.splitPoint));
		return len;
	}
	if (!searches)
		return ZDICT_trainFromBuffer_fastCover(dict, room, s->bytes,
		    s->sizes, count, fast);
	len = ZDICT_optimizeTrainFromBuffer_fastCover(dict, room, s->bytes,
	    s->sizes, count, &fast);
	if (!ZDICT_isError(len) && !p->msg.quiet)
		fprintf(stderr, "k=%u\nd=%u\nf=%u\nsteps=%u\nsplit=%u\n"
		    "accel=%u\n", fast.k, fast.d, fast.f, fast.steps,
		    (unsigned)(100 * fast.splitPoint), fast.accel);
	return len;
}

static int
save(const char *path, const char *dict, size_t len)
{
	struct output o = { .fd = -1, .dirfd = -1 };
	mode_t mask = umask(0);
	int rc = output_create(&o, path, true);

	umask(mask);
	if (rc == 0)
		rc = fdio_write(o.fd, dict, len);
	if (rc == 0 && !o.direct && fchmod(o.fd, 0666 & ~mask) == -1)
		rc = -errno;
	if (rc == 0)
		return output_commit(&o, false);
	output_abort(&o);
	return rc;
}

/* Says what zstd says before it trains. */
static void
say_before(const struct pzc *p, size_t room)
{
	const struct pzc_samples *s = p->samples;

	if (p->msg.silent)
		return;
	if (p->limit.unpack > 0 && !p->msg.quiet)
		fprintf(stderr, "!  Warning : setting manual memory limit for "
		    "dictionary training data at %" PRIu64 " MB \n",
		    p->limit.unpack / MB);
	if (s->total < 8 * (uint64_t)room && !p->msg.quiet)
		fputs("!  Warning : data size of samples too small for target "
		    "dictionary size \n!  Samples should be about 100x larger "
		    "than target dictionary size \n", stderr);
	if (s->len < s->total)
		fprintf(stderr, "Training samples set too large (%" PRIu64
		    " MB); training on %zu MB only...\n", s->total / MB,
		    s->len / MB);
}

void
pzc_train(struct pzc *p)
{
	size_t room = p->stream_B > 0 ? (size_t)p->stream_B : MAXDICT_B, len;
	const char *path = p->dictionary != NULL ? p->dictionary : "dictionary";
	char *dict = NULL;
	int64_t id = 0;
	int rc = 0;

	/* not from some of the files only */
	if (p->msg.status != MSG_OK)
		goto out;
	if (p->samples->count < SAMPLES_LEAST) {
		too_few_samples(p);
		goto out;
	}
	if (p->dictionary_id != NULL && args_int(p->dictionary_id, 1,
	    UINT32_MAX, &id) != 0)
		rc = -EINVAL;
	if (rc == 0 && (p->stream_B > SIZE_MAX / 2 ||
	    (dict = sys_malloc(room)) == NULL))
		rc = -ENOMEM;
	if (rc == 0) {
		say_before(p, room);
		len = run_trainer(p, (ZDICT_params_t){ .dictID = (unsigned)id,
		    .compressionLevel = p->level > 0 ? p->level :
		    ZSTD_DICTIONARY_LEVEL }, dict, room);
		if (ZDICT_isError(len)) {
			msg_error(&p->msg, "dictionary training failed : %s ",
			    ZDICT_getErrorName(len));
			goto out;
		}
		rc = save(path, dict, len);
		if (rc == 0 && !p->msg.quiet)
			fprintf(stderr, "Save dictionary of size %zu into file "
			    "%s \n", len, path);
	}
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", path, strerror(-rc));
out:
	sys_free(dict);
	free_samples(p);
}
