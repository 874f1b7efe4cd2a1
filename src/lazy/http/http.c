/*
 * http.c - opening and closing the HTTP client and its objects
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_private.h"

#include "base/strcopy.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int
copy(char **to, const char *s)
{
	if (s == NULL)
		return 0;
	*to = strcopy(s);
	return *to == NULL ? -ENOMEM : 0;
}

static void
release(struct http *h)
{
	struct http_host *next;

	for (struct http_host *i = h->hosts; i != NULL; i = next) {
		next = i->next;
		sys_free(i->origin);
		sys_free(i);
	}
	http_auth_free(h);
	sys_free(h->credentials);
	sys_free(h->credentials_for);
	sys_free(h->ca_file);
	sys_free(h);
}

int
http_open(struct http **out, const struct http_options *o,
    char why[LAYER_WHY])
{
	struct http *h = sys_calloc(1, sizeof(*h));
	int rc = h == NULL ? -ENOMEM : 0;

	snprintf(why, LAYER_WHY, "%s", strerror(ENOMEM));
	if (rc != 0)
		return rc;
	h->o = *o;
	if (curl_global_init(CURL_GLOBAL_ALL) != CURLE_OK)
		rc = -ENOMEM;
	if (rc == 0)
		rc = copy(&h->credentials, o->credentials);
	if (rc == 0)
		rc = copy(&h->credentials_for, o->credentials_for);
	if (rc == 0)
		rc = copy(&h->ca_file, o->ca_file);
	if (rc == 0 && o->auth_file != NULL)
		rc = http_auth_load(h, o->auth_file, why);
	if (rc == 0) {
		rc = http_thread_start(h);
		if (rc != 0)
			snprintf(why, LAYER_WHY, "%s", strerror(-rc));
	}
	if (rc != 0)
		release(h);
	else
		*out = h;
	return rc;
}

void
http_close(struct http *h)
{
	if (h == NULL)
		return;
	http_thread_stop(h);
	release(h);
}

/* Objects */

/*
 * Returns the host of this origin, added if it is new; NULL if out of memory.
 */
static struct http_host *
find_host(struct http *h, const char *origin)
{
	struct http_host *i;

	pthread_mutex_lock(&h->lock);
	for (i = h->hosts; i != NULL && strcmp(i->origin, origin) != 0; )
		i = i->next;
	if (i == NULL && (i = sys_calloc(1, sizeof(*i))) != NULL) {
		if (copy(&i->origin, origin) == 0) {
			i->next = h->hosts;
			h->hosts = i;
		} else {
			sys_free(i);
			i = NULL;
		}
	}
	pthread_mutex_unlock(&h->lock);
	return i;
}

int
http_object_open(struct http_object **out, struct http *h, const char *url)
{
	char origin[HTTP_URL];
	struct http_object *o;

	if (strlen(url) >= HTTP_URL || !http_origin(url, origin))
		return -EINVAL;
	o = sys_calloc(1, sizeof(*o));
	if (o == NULL)
		return -ENOMEM;
	o->h = h;
	o->host = find_host(h, origin);
	if (o->host == NULL || copy(&o->url, url) != 0) {
		http_object_close(o);
		return -ENOMEM;
	}
	*out = o;
	return 0;
}

void
http_object_close(struct http_object *o)
{
	if (o == NULL)
		return;
	sys_free(o->url);
	sys_free(o);
}

const char *
http_object_url(const struct http_object *o)
{
	return o->url;
}

void
http_object_why(struct http_object *o, char why[LAYER_WHY])
{
	pthread_mutex_lock(&o->h->lock);
	strcpy(why, o->why);
	pthread_mutex_unlock(&o->h->lock);
}

void
http_validator(struct http_object *o, char *text, size_t size)
{
	pthread_mutex_lock(&o->h->lock);
	snprintf(text, size, "%s", o->validator);
	pthread_mutex_unlock(&o->h->lock);
}

void
http_counted(struct http *h, struct http_counts c[HTTP_PHASES])
{
	pthread_mutex_lock(&h->lock);
	memcpy(c, h->counts, sizeof(h->counts));
	pthread_mutex_unlock(&h->lock);
}
