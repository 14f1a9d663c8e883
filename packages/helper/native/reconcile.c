#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "helper.h"

#define STRAY_TRIES 200
#define STRAY_PAUSE_MS 10

static void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Ends what lives in a sandbox nobody knows, and removes its groups. Bounded: what does not go now goes at the next start. */
static void end_stray(struct helper *h, uid_t uid, const char *id)
{
	struct error err;

	group_kill(&h->cgroups, uid, id, PART_SANDBOX, &err);
	for (int i = 0; i < STRAY_TRIES; i++) {
		int rc = groups_remove(&h->cgroups, uid, id, &err);

		if (rc == 0)
			return;
		if (rc < 0)
			break;
		sleep_ms(STRAY_PAUSE_MS);
	}
	say("the stray group u%u/%s cannot be removed yet", uid, id);
}

static bool user_number(const char *name, uid_t *uid)
{
	uint64_t number;

	if (name[0] != 'u' || parse_u64(name + 1, 0, UINT32_MAX - 1, &number) < 0)
		return false;
	*uid = (uid_t)number;
	return true;
}

static DIR *open_directory(int dir, const char *path)
{
	int fd = open_beneath(dir, path, O_RDONLY | O_DIRECTORY);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);

	if (!stream)
		close_fd(&fd);
	return stream;
}

/* Names of our own form only: another name below our group is not ours to judge. */
static void end_strays_of_user(struct helper *h, const struct hierarchy *in, const char *name, uid_t uid)
{
	DIR *stream = open_directory(in->base, name);

	if (!stream)
		return;
	for (struct dirent *e; (e = readdir(stream));)
		if (valid_id(e->d_name) && !registry_find(&h->registry, uid, e->d_name))
			end_stray(h, uid, e->d_name);
	closedir(stream);
}

static void end_strays(struct helper *h, const struct hierarchy *in)
{
	DIR *stream = open_directory(in->base, ".");
	uid_t uid;

	if (!stream)
		return;
	for (struct dirent *e; (e = readdir(stream));) {
		if (!user_number(e->d_name, &uid))
			continue;
		end_strays_of_user(h, in, e->d_name, uid);
		unlinkat(in->base, e->d_name, AT_REMOVEDIR); /* only when nothing is left in it */
	}
	closedir(stream);
}

void reconcile(struct helper *h)
{
	registry_load(&h->registry);
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &h->registry.at[i];

		if (s->state == SANDBOX_FREE)
			continue;
		if (s->state == SANDBOX_LIVE && groups_complete(&h->cgroups, s->uid, s->id))
			continue;
		/* Half made, half removed, or gone with a reboot. */
		end_stray(h, s->uid, s->id);
		registry_drop(&h->registry, s);
	}
	for (size_t i = 0; i < h->cgroups.count; i++)
		end_strays(h, &h->cgroups.at[i]);
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &h->registry.at[i];

		if (s->state == SANDBOX_FREE)
			continue;
		watch_add(h, s);
		/* A kill that nobody saw: the check finds the count risen, or nothing. */
		s->oom_rechecks = 1;
		s->oom_recheck_at = now_ms();
	}
}
