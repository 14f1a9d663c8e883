/*
 * What the kernel tells: cgroup.events, pids.events and (v2) memory.events by inotify, OOM on v1 by an eventfd.
 * Notices are hints: each leads to reading the file, and the file decides.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "helper.h"

#define OOM_RECHECKS 12
#define PIDS_POLL_MS 500

int watch_open(struct helper *h, struct error *err)
{
	h->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (h->inotify < 0)
		return fail_errno(err, "internal", "inotify");
	return loop_add(h, h->inotify, EPOLL_INOTIFY, 0, EPOLLIN);
}

static int watch_file(struct helper *h, const struct hierarchy *in, const struct sandbox *s, enum part part, const char *file)
{
	fd_auto int fd = in ? group_open(in, s->uid, s->id, part, file, O_PATH) : -1;
	char path[32];

	if (fd < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return inotify_add_watch(h->inotify, path, IN_MODIFY);
}

/* v1: the kernel writes to an eventfd when the group is about to be OOM. */
static void watch_v1_oom(struct helper *h, struct sandbox *s)
{
	const struct hierarchy *memory = h->cgroups.home[CTL_MEMORY];
	fd_auto int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd_auto int control = group_open(memory, s->uid, s->id, PART_AGENT, "memory.oom_control", O_RDONLY);
	fd_auto int registrar = group_open(memory, s->uid, s->id, PART_AGENT, "cgroup.event_control", O_WRONLY);
	char text[48];
	int n = snprintf(text, sizeof text, "%d %d", event, control);

	if (event < 0 || control < 0 || registrar < 0 || write(registrar, text, (size_t)n) != n)
		return;
	if (loop_add(h, event, EPOLL_OOM, (int)(s - h->registry.at), EPOLLIN) == 0)
		s->oom_event = take_fd(&event);
}

static uint64_t pids_hits(struct helper *h, const struct sandbox *s)
{
	char path[GROUP_PATH_MAX], file[GROUP_PATH_MAX + 16], text[256];
	uint64_t hits = 0;

	if (!h->cgroups.home[CTL_PIDS])
		return 0;
	group_path(path, s->uid, s->id, PART_AGENT);
	snprintf(file, sizeof file, "%s/pids.events", path);
	if (read_beneath(h->cgroups.home[CTL_PIDS]->base, file, text, sizeof text) >= 0)
		text_field(text, "max", &hits);
	return hits;
}

void watch_add(struct helper *h, struct sandbox *s)
{
	const struct cgroups *cg = &h->cgroups;
	const struct hierarchy *memory = cg->home[CTL_MEMORY];

	s->watch[WATCH_SANDBOX] = watch_file(h, cg->unified, s, PART_SANDBOX, "cgroup.events");
	s->watch[WATCH_AGENT] = watch_file(h, cg->unified, s, PART_AGENT, "cgroup.events");
	s->watch[WATCH_PIDS] = watch_file(h, cg->home[CTL_PIDS], s, PART_AGENT, "pids.events");
	if (memory && memory->v2)
		s->watch[WATCH_MEMORY] = watch_file(h, memory, s, PART_AGENT, "memory.events");
	else if (memory)
		watch_v1_oom(h, s);
	s->populated = group_populated(cg, s->uid, s->id, PART_AGENT) == 1;
	s->pids_seen = pids_hits(h, s);
}

void watch_remove(struct helper *h, struct sandbox *s)
{
	for (size_t i = 0; i < 4; i++) {
		if (s->watch[i] >= 0)
			inotify_rm_watch(h->inotify, s->watch[i]);
		s->watch[i] = -1;
	}
	close_fd(&s->oom_event);
	s->oom_recheck_at = 0;
}

static void saw_population(struct helper *h, struct sandbox *s)
{
	bool now = group_populated(&h->cgroups, s->uid, s->id, PART_AGENT) == 1;

	if (s->populated && !now)
		event_send(h, s, "empty");
	s->populated = now;
}

/* True when the count of kills has risen. By the policy `kill` one kill ends the whole group; v2 does so itself, v1 is ended here. */
static bool saw_oom(struct helper *h, struct sandbox *s)
{
	struct error err;
	uint64_t kills;

	if (!group_oom_kills(&h->cgroups, s->uid, s->id, &kills) || kills <= s->oom_seen)
		return false;
	if (!s->tolerate_oom)
		group_kill(&h->cgroups, s->uid, s->id, PART_AGENT, &err);
	s->oom_seen = kills;
	registry_save(&h->registry, s, &err);
	event_send(h, s, "oom");
	return true;
}

static void saw_pids(struct helper *h, struct sandbox *s)
{
	uint64_t hits = pids_hits(h, s);

	if (hits > s->pids_seen)
		event_send(h, s, "pids_max");
	s->pids_seen = hits;
}

static void saw(struct helper *h, int descriptor)
{
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &h->registry.at[i];

		if (s->state == SANDBOX_FREE)
			continue;
		if (s->watch[WATCH_AGENT] == descriptor)
			saw_population(h, s);
		if (s->watch[WATCH_PIDS] == descriptor)
			saw_pids(h, s);
		if (s->watch[WATCH_MEMORY] == descriptor)
			saw_oom(h, s);
		if (s->watch[WATCH_AGENT] == descriptor || s->watch[WATCH_SANDBOX] == descriptor)
			waits_check(h, s, now_ms());
	}
}

void watch_serve(struct helper *h)
{
	union {
		struct inotify_event event;
		char bytes[4096];
	} buffer;
	ssize_t n;

	while ((n = read(h->inotify, &buffer, sizeof buffer)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(const void *)(buffer.bytes + at);

			if (!(e->mask & IN_IGNORED))
				saw(h, e->wd);
			at += (ssize_t)(sizeof *e + e->len);
		}
	}
}

void watch_oom(struct helper *h, int index)
{
	struct sandbox *s = &h->registry.at[index];
	uint64_t count;

	if (s->state == SANDBOX_FREE || s->oom_event < 0 || read(s->oom_event, &count, sizeof count) < 0)
		return;
	/* The notice comes when the kernel looks for a victim, the count rises when it has found one. */
	s->oom_rechecks = saw_oom(h, s) ? 0 : OOM_RECHECKS;
	s->oom_recheck_at = s->oom_rechecks ? now_ms() + 1 : 0;
}

/* Some kernels tell nobody when pids.events of a v1 group changes (seen on 6.18): there it is looked at, while somebody wants to know. */
static int64_t poll_pids(struct helper *h, int64_t now)
{
	static int64_t due;
	bool wanted = false;

	if (!h->cgroups.home[CTL_PIDS] || h->cgroups.home[CTL_PIDS]->v2 || !connections_subscribed(h))
		return INT64_MAX;
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &h->registry.at[i];

		if (s->state != SANDBOX_LIVE || !s->populated || limit_value(&s->limits, LIMIT_PIDS) == LIMIT_LIFTED)
			continue;
		wanted = true;
		if (now >= due)
			saw_pids(h, s);
	}
	if (now >= due)
		due = now + PIDS_POLL_MS;
	return wanted ? due : INT64_MAX;
}

int64_t watch_expire(struct helper *h, int64_t now)
{
	int64_t next = poll_pids(h, now);

	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &h->registry.at[i];

		if (s->state == SANDBOX_FREE || s->oom_recheck_at == 0)
			continue;
		if (now >= s->oom_recheck_at) {
			s->oom_rechecks--;
			/* 1, 2, 4, ... ms: about four seconds in all. */
			s->oom_recheck_at = saw_oom(h, s) || s->oom_rechecks <= 0 ? 0 : now + (1 << (OOM_RECHECKS - s->oom_rechecks));
		}
		if (s->oom_recheck_at && s->oom_recheck_at < next)
			next = s->oom_recheck_at;
	}
	return next;
}
