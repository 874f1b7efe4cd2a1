/*
 * vfs_store.c - the images and layers of an additional layer store
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer that is looked up is opened by the first thread that asks, while
 * others wait.  It remains open while it is used (vfs_store_unload.c);
 * one that could not be opened is tried again by the next lookup.  Layers whose
 * index has no known digest are refused: whoever pulls an image relies on the
 * digests in its manifest.
 */
#include "vfs_store_private.h"

#include "base/array.h"
#include "base/base64.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	NAME_MAX_B = 1024,		/* maximum size of an image name in
					 * base64 */
	FIRST_INODE = 1 << 24,		/* number of the first inode in
					 * layers */
	IMAGES_MAX = 1 << 16, LAYERS_MAX = 1 << 16
};

/* Images */

static bool
is_allowed(const struct vfs_store_options *o, const char *host)
{
	for (size_t i = 0; i < o->registry_count; i++)
		if (strcasecmp(o->registries[i], host) == 0)
			return true;
	return o->registry_count == 0;
}

/* Parses an image's name in base64. */
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
	return vfs_image_parse(text, s->v->o.remote.plain_http, of, why) == 0 &&
	    is_allowed(&s->o, of->host) ? 0 : -ENOENT;
}

static void
image_free(struct vfs_store_image *i)
{
	oci_free(i->manifest);
	oci_free(i->config);
	pthread_rwlock_destroy(&i->lock);
	free(i->name);
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
	i->name = strdup(name);
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

/* Layers */

/* Opens the layer with the given number in the manifest. */
static int
open_stack(struct vfs_store_layer *l, size_t which)
{
	char url[sizeof(l->image->of.base) + sizeof(l->digest) + 16];
	int rc;

	snprintf(url, sizeof(url), "%s/blobs/%s", l->image->of.base,
	    l->digest);
	rc = vfs_stack_add(&l->stack, url, l->image->manifest, which);
	if (rc != 0)
		return rc;
	if (!l->stack.sources[0]->vouched)
		return vfs_store_refuse(l, -EKEYREJECTED, "the manifest does "
		    "not contain the digest of the layer's index");
	rc = vfs_store_describe(l, which);
	return rc != 0 ? rc : vfs_stack_build(&l->stack, MERGE_OVERLAY);
}

static int
open_store_layer(struct vfs_store_layer *l)
{
	struct vfs_store_image *i = l->image;
	int64_t which;
	/* a tag may have a new manifest */
	int rc = vfs_store_get_documents(l);

	if (rc != 0)
		return rc;
	pthread_rwlock_rdlock(&i->lock);
	which = vfs_store_find_in_manifest(i, l->digest, &l->size);
	rc = which >= 0 ? open_stack(l, (size_t)which) : (int)which;
	if (rc == 0)
		vfs_store_remember(l);
	pthread_rwlock_unlock(&i->lock);
	if (rc != 0)
		vfs_stack_close(&l->stack);
	return rc;
}

/* Finds a layer that has already been looked up.  Called with the lock held. */
static struct vfs_store_layer *
known_layer(struct vfs_store *s, const struct vfs_store_image *image,
    const char *digest)
{
	for (size_t i = 0; i < s->layer_count; i++)
		if (s->layers[i]->image == image &&
		    strcmp(s->layers[i]->digest, digest) == 0)
			return s->layers[i];
	return NULL;
}

static struct vfs_store_layer *
new_layer(struct vfs_store *s, struct vfs_store_image *image,
    const char *digest)
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
	strcpy(l->digest, digest);
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

/* Opens a closed layer.  Called with the lock held, which is released. */
static int
open_unlocked(struct vfs_store *s, struct vfs_store_layer *l)
{
	int rc;

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
	return rc;
}

/*
 * Opens a layer unless it is open, and holds it.  Called with the lock held.
 */
static int
open_and_hold(struct vfs_store *s, struct vfs_store_layer *l, bool *opened)
{
	int rc = 0;

	while (l->state == VFS_STORE_OPENING || l->state == VFS_STORE_CLOSING)
		pthread_cond_wait(&s->changed, &s->lock);
	*opened = l->state == VFS_STORE_CLOSED;
	if (*opened)
		rc = open_unlocked(s, l);
	if (rc == 0)
		l->held++;
	return rc;
}

int
vfs_store_find_layer(struct vfs_store *s, uint64_t image, const char *digest,
    struct vfs_store_layer **out, bool *opened)
{
	struct vfs_store_image *i = vfs_store_image(s, image);
	struct vfs_store_layer *l;
	int rc = -ENOMEM;

	*opened = false;
	if (i == NULL || !vfs_store_is_digest(digest))
		return -ENOENT;
	pthread_mutex_lock(&s->lock);
	l = known_layer(s, i, digest);
	if (l == NULL)
		l = new_layer(s, i, digest);
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
    const char *digest)
{
	struct vfs_store_layer *l;

	pthread_mutex_lock(&s->lock);
	l = known_layer(s, image, digest);
	if (l != NULL && l->uses > 0)
		l->uses--;
	if (l != NULL)
		touch_layer(l);
	pthread_mutex_unlock(&s->lock);
}

/* Opening and closing */

int
vfs_store_open(struct vfs_store **out, struct vfs *v,
    const struct vfs_store_options *o)
{
	struct vfs_store *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->v = v;
	s->o = *o;
	s->next_inode = FIRST_INODE;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	*out = s;
	return vfs_store_start(s);
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
