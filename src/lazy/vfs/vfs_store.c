/*
 * vfs_store.c - the images and layers of an additional layer store
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer that is looked up is opened by the first thread that asks, while
 * others wait.  It remains open while it is used; one that could not be opened
 * is tried again by the next lookup.  Layers whose index has no known digest
 * are refused: whoever pulls an image relies on the digests in its manifest.
 *
 * A layer is unloaded when it has no users, no request has concerned it for a
 * while, and the caller, which is the kernel, has no reference to any of its
 * inodes: then no request can name one.  The kernel keeps unused names until
 * memory is short, so it is first asked to drop the layer's names: those at the
 * top, with all that is unused below them, and, if some were in use at that
 * time, later each name below them.  It is asked again after pauses that
 * double.
 *
 * The kernel answers once no lookup in the same directory waits for us, so only
 * this thread asks, without holding a lock.
 */
#include "lazy/vfs/vfs_store.h"

#include "vfs_private.h"

#include "lazy/vfs/cache.h"

#include "base/args.h"
#include "base/array.h"
#include "base/hex.h"
#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
	NAME_MAX_B = 1024,		/* maximum size of an image name in
					 * base64 */
	FIRST_INODE = 1 << 24,		/* number of the first inode in
					 * layers */
	IMAGES_MAX = 1 << 16, LAYERS_MAX = 1 << 16,
	KEY = sizeof(struct vfs_image_name) + OCI_HEX + 16,
	TICK_NS = 200000000, DOUBLINGS = 6
};

struct vfs_store {
	struct vfs *v;
	struct vfs_store_options o;
	pthread_t unloader;
	bool has_unloader;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;		/* a layer's state, or stop */
	bool stop;
	size_t open_count;		/* of layers */
	struct vfs_store_image **images;
	size_t image_count, image_cap;
	struct vfs_store_layer **layers;
	size_t layer_count, layer_cap;
	uint64_t next_inode;
};

/* Images */

/* Parses an image's name in base64, which must be in an allowed registry. */
static int
parse_name(const struct vfs_store *s, const char *name,
    struct vfs_image_name *of)
{
	char text[NAME_MAX_B], why[LAYER_WHY];
	size_t len = strlen(name);
	ssize_t n = len < sizeof(text) ? base64_read(text, name, len) : -1;

	if (n <= 0)
		return -ENOENT;
	text[n] = '\0';
	if (strlen(text) != (size_t)n)
		return -ENOENT;
	if (vfs_image_parse(text, s->v->o.remote.plain_http, of, why) != 0)
		return -ENOENT;
	for (size_t i = 0; i < s->o.registry_count; i++)
		if (strcasecmp(s->o.registries[i], of->host) == 0)
			return 0;
	return s->o.registry_count == 0 ? 0 : -ENOENT;
}

static void
image_free(struct vfs_store_image *i)
{
	oci_free(i->manifest);
	oci_free(i->config);
	pthread_rwlock_destroy(&i->lock);
	sys_free(i->name);
	sys_free(i);
}

/* Adds an image.  Called with the lock held. */
static int64_t
add_image(struct vfs_store *s, const char *name,
    const struct vfs_image_name *of)
{
	void *all = s->images;
	struct vfs_store_image *i;
	int rc = s->image_count == IMAGES_MAX ? -ENOMEM :
	    array_grow(&all, s->image_count, &s->image_cap,
	    sizeof(*s->images));

	s->images = all;
	if (rc != 0)
		return rc;
	i = sys_calloc(1, sizeof(*i));
	if (i == NULL)
		return -ENOMEM;
	pthread_rwlock_init(&i->lock, NULL);
	i->of = *of;
	i->name = strcopy(name);
	if (i->name == NULL) {
		image_free(i);
		return -ENOMEM;
	}
	i->number = s->image_count;
	s->images[s->image_count] = i;
	return (int64_t)s->image_count++;
}

int64_t
vfs_store_find_image(struct vfs_store *s, const char *name)
{
	struct vfs_image_name of;
	int64_t found = -ENOENT;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; found < 0 && i < s->image_count; i++)
		if (strcmp(s->images[i]->name, name) == 0)
			found = (int64_t)i;
	if (found < 0 && parse_name(s, name, &of) == 0)
		found = add_image(s, name, &of);
	pthread_mutex_unlock(&s->lock);
	return found;
}

struct vfs_store_image *
vfs_store_image(struct vfs_store *s, uint64_t number)
{
	struct vfs_store_image *i;

	pthread_mutex_lock(&s->lock);
	i = number < s->image_count ? s->images[number] : NULL;
	pthread_mutex_unlock(&s->lock);
	return i;
}

/* Documents */

static bool
is_layer_digest(const char *s)
{
	uint8_t digest[LAYER_DIGEST];

	return hex_read_sha256(digest, s) == 0;
}

/* Reports why a layer cannot be used.  Returns rc. */
static int
refuse_layer(const struct vfs_store_layer *l, int rc, const char *why)
{
	char name[sizeof(l->image->of.base) + sizeof(l->digest) + 8];

	snprintf(name, sizeof(name), "%s/blobs/%s", l->image->of.base,
	    l->digest);
	return vfs_refuse(&l->stack.v->o.remote.report, name, rc, why);
}

/*
 * Returns whether the manifest states this digest of a layer's table of contents.
 * containers/storage looks for these two annotations only.
 */
static bool
has_table(const struct oci_document *manifest, size_t which, const char *digest)
{
	static const char *const names[] = {
		"containerd.io/snapshot/stargz/toc.digest",
		"io.github.containers.zstd-chunked.manifest-checksum" };
	const char *stated;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		stated = oci_annotation(manifest, which, names[i]);
		if (stated != NULL && strcmp(stated, digest) == 0)
			return true;
	}
	return false;
}

/*
 * Finds a layer in the manifest of its image, and sets its digest and size.
 * Returns its number; -ENOENT if it is not there, or if the documents have not
 * been fetched yet; or another -errno.
 */
static int64_t
find_in_manifest(struct vfs_store_layer *l)
{
	const struct vfs_store_image *i = l->image;
	const char *hex = strchr(l->name, ':') + 1;
	struct oci_blob *layers = NULL;
	char why[OCI_WHY];
	size_t count;
	int64_t found = i->config == NULL ? -ENOENT :
	    oci_layers(i->manifest, &layers, &count, why);

	if (found != 0)
		return found;
	found = -ENOENT;
	for (size_t k = 0; found < 0 && k < count; k++)
		if (strcmp(layers[k].hex, hex) == 0 ||
		    has_table(i->manifest, k, l->name)) {
			found = (int64_t)k;
			l->size = layers[k].size;
			snprintf(l->digest, sizeof(l->digest), "sha256:%s",
			    layers[k].hex);
		}
	sys_free(layers);
	return found;
}

/* Writes the cache key of the manifest in which a layer was found. */
static void
manifest_key(const struct vfs_store_layer *l, char key[KEY])
{
	snprintf(key, KEY, "%s %s %s", l->image->of.base,
	    l->image->of.reference, l->name);
}

/*
 * Fetches the manifest and the config, unless they are known and mirrors are
 * what they were then.
 * The manifest is requested by the name of the image, or of the manifest that
 * contained this layer when the image was pulled.  Returns 0, or -errno after
 * reporting the reason.
 */
static int
get_documents(struct vfs_store_layer *l)
{
	const struct vfs_remote *remote = &l->stack.v->o.remote;
	struct vfs_store_image *i = l->image;
	struct vfs_image_name of = i->of;
	char key[KEY], *hex = NULL;
	size_t len;
	int rc = 0;

	pthread_rwlock_wrlock(&i->lock);
	if (find_in_manifest(l) >= 0 && vfs_image_is_current(remote, &i->of))
		goto out;
	oci_free(i->manifest);
	oci_free(i->config);
	i->manifest = i->config = NULL;
	manifest_key(l, key);
	if (remote->cache_kept && cache_text_read(remote->cache_dir, key,
	    OCI_HEX, &hex, &len) == 0 && len == OCI_HEX)
		snprintf(of.reference, sizeof(of.reference), "sha256:%s", hex);
	sys_free(hex);
	rc = vfs_image_manifest(remote, &of, &i->manifest, i->hex);
	if (rc == 0) {
		strcpy(i->of.from, of.from);
		i->of.version = of.version;
		rc = vfs_image_config(remote, &of, i->manifest, &i->config);
	}
out:
	pthread_rwlock_unlock(&i->lock);
	return rc;
}

/*
 * Forgets the manifest, for the next attempt to fetch it: where nothing but a tag
 * vouched for it, it may have been damaged on its way.
 */
static void
forget_documents(struct vfs_store_image *i)
{
	pthread_rwlock_wrlock(&i->lock);
	oci_free(i->manifest);
	oci_free(i->config);
	i->manifest = i->config = NULL;
	pthread_rwlock_unlock(&i->lock);
}

/*
 * Returns the size of a layer's archive: the headers and data of its entries.
 * Extended headers are unknown and not counted.
 */
static int64_t
archive_size(const struct layer *l)
{
	enum { RECORD = 512 };
	uint64_t size = 2 * RECORD;
	size_t count;
	const struct layer_entry *e = layer_entries(l, &count);

	for (size_t i = 0; i < count && size < INT64_MAX / 2; i++)
		size += RECORD + (e[i].type != TAR_FILE ? 0 :
		    (e[i].size / RECORD + (e[i].size % RECORD != 0)) * RECORD);
	return size > INT64_MAX ? INT64_MAX : (int64_t)size;
}

/*
 * Writes the info file of the layer with the given number in the manifest.  See
 * type Layer in layers.go in containers/storage.  Whoever looks for a table of
 * contents has verified neither of the other digests, so they are left out, and
 * the config's is a mere expectation (storage_src.go in containers/image).
 * Returns 0, or -EBADMSG after reporting the reason.
 */
static int
describe_layer(struct vfs_store_layer *l, size_t which)
{
	const char *diff_id = oci_diff_id(l->image->config, which);
	const char *size = oci_annotation(l->image->manifest, which,
	    "io.containers.estargz.uncompressed-size");
	const struct layer *layer = l->stack.sources[0]->layer;
	int64_t length;
	bool by_table;

	if (diff_id == NULL || !is_layer_digest(diff_id))
		return refuse_layer(l, -EBADMSG, "the image's config has "
		    "no valid diff_id for the layer");
	if (size == NULL || args_int(size, 0, INT64_MAX, &length) != 0)
		length = archive_size(layer);
	by_table = strcmp(l->name, l->digest) != 0;
	l->info_length = (size_t)snprintf(l->info, sizeof(l->info),
	    "{\"%s\":\"%s\",\"compressed-size\":%" PRIu64 ",%s\"%s\":\"%s\"%s"
	    ",\"diff-size\":%" PRId64 ",\"compression\":%d}\n",
	    by_table ? "toc-digest" : "compressed-diff-digest", l->name,
	    l->size, by_table ? "\"flags\":{" : "",
	    by_table ? "expected-layer-diffid" : "diff-digest", diff_id,
	    by_table ? "}" : "", length,
	    layer_kind(layer) == LAYER_ZSTD_CHUNKED ? 4 : 2);
	return 0;
}

/* Layers */

static int
open_store_layer(struct vfs_store_layer *l)
{
	const struct vfs_remote *remote = &l->stack.v->o.remote;
	struct vfs_store_image *i = l->image;
	char url[sizeof(i->of.base) + sizeof(l->digest) + 16], key[KEY];
	int64_t which;
	/* a tag may have a new manifest */
	int rc = get_documents(l);

	if (rc != 0)
		return rc;
	pthread_rwlock_rdlock(&i->lock);
	which = find_in_manifest(l);
	snprintf(url, sizeof(url), "%s/blobs/%s", i->of.from, l->digest);
	rc = which < 0 ? (int)which :
	    vfs_stack_add(&l->stack, url, i->manifest, (size_t)which);
	if (rc == 0 && !l->stack.sources[0]->vouched)
		rc = refuse_layer(l, -EKEYREJECTED, "the manifest does not "
		    "contain the digest of the layer's index");
	if (rc == 0)
		rc = describe_layer(l, (size_t)which);
	if (rc == 0)
		rc = vfs_stack_build(&l->stack, MERGE_OVERLAY);
	if (rc == 0 && remote->cache_kept) {
		manifest_key(l, key);
		(void)cache_text_write(remote->cache_dir, key, i->hex,
		    OCI_HEX);
	}
	pthread_rwlock_unlock(&i->lock);
	if (rc == -EBADMSG)
		forget_documents(i);
	if (rc != 0)
		vfs_stack_close(&l->stack);
	return rc;
}

/* Finds a layer that has already been looked up.  Called with the lock held. */
static struct vfs_store_layer *
known_layer(struct vfs_store *s, const struct vfs_store_image *image,
    const char *name)
{
	for (size_t i = 0; i < s->layer_count; i++)
		if (s->layers[i]->image == image &&
		    strcmp(s->layers[i]->name, name) == 0)
			return s->layers[i];
	return NULL;
}

static struct vfs_store_layer *
new_layer(struct vfs_store *s, struct vfs_store_image *image,
    const char *name)
{
	void *all = s->layers;
	struct vfs_store_layer *l;
	int rc = s->layer_count == LAYERS_MAX ? -ENOMEM :
	    array_grow(&all, s->layer_count, &s->layer_cap,
	    sizeof(*s->layers));

	s->layers = all;
	l = rc != 0 ? NULL : sys_calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	s->layers[s->layer_count++] = l;
	l->image = image;
	l->number = s->layer_count;
	l->state = VFS_STORE_CLOSED;
	l->blob = -1;
	l->stack.v = s->v;
	strcpy(l->name, name);
	strcpy(l->digest, name);
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

/*
 * Opens a layer unless it is open, and holds it.  Called with the lock held,
 * which is released meanwhile.
 */
static int
open_and_hold(struct vfs_store *s, struct vfs_store_layer *l, bool *opened)
{
	int rc = 0;

	while (l->state == VFS_STORE_OPENING || l->state == VFS_STORE_CLOSING)
		pthread_cond_wait(&s->changed, &s->lock);
	*opened = l->state == VFS_STORE_CLOSED;
	if (*opened) {
		l->state = VFS_STORE_OPENING;
		pthread_mutex_unlock(&s->lock);
		rc = open_store_layer(l);
		pthread_mutex_lock(&s->lock);
		if (rc == 0) {
			l->stack.number = l->number;
			l->stack.first_inode = s->next_inode;
			s->next_inode += merge_count(l->stack.tree);
			s->open_count++;
		}
		l->state = rc == 0 ? VFS_STORE_OPEN : VFS_STORE_CLOSED;
		pthread_cond_broadcast(&s->changed);
	}
	if (rc == 0)
		l->held++;
	return rc;
}

int
vfs_store_find_layer(struct vfs_store *s, uint64_t image, const char *name,
    struct vfs_store_layer **out, bool *opened)
{
	struct vfs_store_image *i = vfs_store_image(s, image);
	struct vfs_store_layer *l;
	int rc = -ENOMEM;

	*opened = false;
	if (i == NULL || !is_layer_digest(name))
		return -ENOENT;
	pthread_mutex_lock(&s->lock);
	l = known_layer(s, i, name);
	if (l == NULL)
		l = new_layer(s, i, name);
	if (l != NULL)
		rc = open_and_hold(s, l, opened);
	pthread_mutex_unlock(&s->lock);
	if (rc != 0)
		return rc == -ENOMEM ? -ENOMEM : -ENOENT;
	if (*opened)
		vfs_stack_fetch(&l->stack);
	*out = l;
	return 0;
}

/* Holding layers, and using them */

void
vfs_store_list(struct vfs_store *s,
    void (*each)(void *arg, const char *name, const struct layer *layer),
    void *arg)
{
	char name[VFS_BASE + sizeof(((struct vfs_image_name *)0)->reference) +
	    OCI_HEX + 16];

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->layer_count; i++) {
		const struct vfs_store_layer *l = s->layers[i];
		const struct vfs_image_name *of = &l->image->of;
		const char *path = strstr(of->base, "/v2/");

		if (l->state != VFS_STORE_OPEN || path == NULL)
			continue;
		snprintf(name, sizeof(name), "%s/%s%c%s %s", of->host,
		    path + strlen("/v2/"), strchr(of->reference, ':') != NULL
		    ? '@' : ':', of->reference, l->digest);
		each(arg, name, l->stack.sources[0]->layer);
	}
	pthread_mutex_unlock(&s->lock);
}

struct vfs_store_layer *
vfs_store_hold(struct vfs_store *s, uint64_t number)
{
	struct vfs_store_layer *l = NULL;

	pthread_mutex_lock(&s->lock);
	if (number > 0 && number <= s->layer_count &&
	    s->layers[number - 1]->state == VFS_STORE_OPEN) {
		l = s->layers[number - 1];
		l->held++;
	}
	pthread_mutex_unlock(&s->lock);
	return l;
}

static void
touch_layer(struct vfs_store_layer *l)
{
	l->last_ns = sys_now_ns();
	l->asked = 0;
}

void
vfs_store_let_go(struct vfs_store *s, struct vfs_store_layer *l)
{
	pthread_mutex_lock(&s->lock);
	l->held--;
	touch_layer(l);
	pthread_mutex_unlock(&s->lock);
}

void
vfs_store_use(struct vfs_store *s, struct vfs_store_layer *l)
{
	pthread_mutex_lock(&s->lock);
	l->uses++;
	pthread_mutex_unlock(&s->lock);
}

void
vfs_store_release(struct vfs_store *s, const struct vfs_store_image *image,
    const char *name)
{
	struct vfs_store_layer *l;

	pthread_mutex_lock(&s->lock);
	l = known_layer(s, image, name);
	if (l != NULL && l->uses > 0)
		l->uses--;
	if (l != NULL)
		touch_layer(l);
	pthread_mutex_unlock(&s->lock);
}

void
vfs_store_forget(struct vfs_store *s, uint64_t number, int64_t inode,
    uint64_t count)
{
	struct vfs_store_layer *l = vfs_store_hold(s, number);

	if (l == NULL)
		return;
	if (inode == MERGE_NONE)
		atomic_fetch_sub(&l->stack.references, count);
	else if ((uint64_t)inode < merge_count(l->stack.tree))
		vfs_stack_unreference(&l->stack, (uint32_t)inode, count);
	pthread_mutex_lock(&s->lock);
	/*
	 * returning references is not a use, so the layer stays as idle as
	 * before
	 */
	l->held--;
	pthread_mutex_unlock(&s->lock);
}

/* Unloading */

/*
 * Asks for references.  Called with the lock held, which it drops; the layer
 * stays open meanwhile, because only this thread closes layers.
 */
static void
ask_back(struct vfs_store *s, struct vfs_store_layer *l)
{
	bool all = l->asked++ > 0;

	l->asked_ns = sys_now_ns();
	pthread_mutex_unlock(&s->lock);
	s->o.ask_back(s->o.arg, l, all);
	pthread_mutex_lock(&s->lock);
}

/* Called with the lock held, which it drops. */
static void
unload_layer(struct vfs_store *s, struct vfs_store_layer *l)
{
	struct vfs_stack *k = &l->stack;

	l->state = VFS_STORE_CLOSING;
	pthread_mutex_unlock(&s->lock);
	vfs_stack_forget(k);
	s->o.closing(s->o.arg, k);
	atomic_fetch_sub(&s->v->layers, k->source_count);
	atomic_fetch_sub(&s->v->files, merge_count(k->tree));
	atomic_fetch_add(&s->v->unloaded, k->source_count);
	vfs_stack_close(k);
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
	pthread_mutex_lock(&s->lock);
	s->open_count--;
	l->state = VFS_STORE_CLOSED;
	pthread_cond_broadcast(&s->changed);
}

/* Waits for a while or, as long as no layer is open, until one is. */
static void
wait_a_tick(struct vfs_store *s)
{
	struct timespec until;

	if (s->open_count == 0) {
		pthread_cond_wait(&s->changed, &s->lock);
		return;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += TICK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	(void)pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

static void *
unload_idle(void *arg)
{
	struct vfs_store *s = arg;
	uint64_t idle_ns = s->o.idle_s * UINT64_C(1000000000);

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		wait_a_tick(s);
		for (size_t i = 0; i < s->layer_count && !s->stop; i++) {
			struct vfs_store_layer *l = s->layers[i];
			unsigned n = l->asked < DOUBLINGS ? l->asked :
			    DOUBLINGS;
			uint64_t now = sys_now_ns();

			if (l->state != VFS_STORE_OPEN || l->uses > 0 ||
			    l->held > 0 || now - l->last_ns < idle_ns)
				continue;
			/* each pause is twice the previous one */
			if (atomic_load(&l->stack.references) == 0)
				unload_layer(s, l);
			else if (l->asked == 0 ||
			    now - l->asked_ns >= (idle_ns << n) / 2)
				ask_back(s, l);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Opening and closing */

int
vfs_store_open(struct vfs_store **out, struct vfs *v,
    const struct vfs_store_options *o)
{
	struct vfs_store *s = sys_calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return -ENOMEM;
	s->v = v;
	s->o = *o;
	s->next_inode = FIRST_INODE;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	*out = s;
	rc = sys_thread(&s->unloader, unload_idle, s);
	s->has_unloader = rc == 0;
	return rc;
}

bool
vfs_store_stop(struct vfs_store *s)
{
	if (s == NULL || !s->has_unloader)
		return true;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!vfs_join(s->unloader))
		return false;
	s->has_unloader = false;
	return true;
}

void
vfs_store_close(struct vfs_store *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->layer_count; i++) {
		struct vfs_store_layer *l = s->layers[i];

		vfs_stack_close(&l->stack);
		if (l->blob >= 0)
			sys_close(l->blob);
		pthread_mutex_destroy(&l->lock);
		sys_free(l);
	}
	for (size_t i = 0; i < s->image_count; i++)
		image_free(s->images[i]);
	sys_free(s->layers);
	sys_free(s->images);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	sys_free(s);
}
