#include <string.h>

#include "helper.h"

#define RETRY_MS 20

static void finish(struct helper *h, struct wait *w, const struct error *err)
{
	w->used = false;
	if (w->failure.code[0])
		err = &w->failure;
	if (err) {
		answer_error(h, &w->to, err);
		return;
	}
	answer_begin(h, &w->to);
	answer_finish(h, &w->to);
}

/* Nobody may wait for a sandbox that is gone: its slot will hold another. */
static void end_others(struct helper *h, const struct sandbox *s)
{
	struct error err;

	fail(&err, "no_such_sandbox", "the sandbox has been removed");
	for (size_t i = 0; i < MAX_WAITS; i++)
		if (h->waits[i].used && h->waits[i].sandbox == s && h->waits[i].kind != WAIT_REMOVED)
			finish(h, &h->waits[i], &err);
}

/* 1 it is so, 0 not yet, -1 error. */
static int check_removed(struct helper *h, struct sandbox *s, struct error *err)
{
	int rc = groups_remove(&h->cgroups, s->uid, s->id, err);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	end_others(h, s);
	watch_remove(h, s);
	registry_drop(&h->registry, s);
	return 1;
}

static int check(struct helper *h, enum wait_kind kind, struct sandbox *s, struct error *err)
{
	const struct cgroups *cg = &h->cgroups;

	switch (kind) {
	case WAIT_FROZEN:
		return group_frozen(cg, s->uid, s->id) == 1;
	case WAIT_THAWED:
		return group_frozen(cg, s->uid, s->id) == 0;
	case WAIT_AGENT_EMPTY:
		return group_populated(cg, s->uid, s->id, PART_AGENT) == 0;
	case WAIT_ALL_EMPTY:
		return group_populated(cg, s->uid, s->id, PART_SANDBOX) == 0;
	case WAIT_REMOVED:
		return check_removed(h, s, err);
	}
	return -1;
}

static const char *const overdue[] = {
	[WAIT_FROZEN] = "a process does not stop (it may be waiting for a device); the group has been thawed",
	[WAIT_THAWED] = "the group does not thaw",
	[WAIT_AGENT_EMPTY] = "a killed process has not ended yet (it may be waiting for a device)",
	[WAIT_ALL_EMPTY] = "a killed process has not ended yet (it may be waiting for a device)",
	[WAIT_REMOVED] = "the groups are still in use; remove again",
};

static void give_up(struct helper *h, struct wait *w)
{
	struct error err, ignored;

	if (w->kind == WAIT_FROZEN)
		group_freeze(&h->cgroups, w->sandbox->uid, w->sandbox->id, false, &ignored);
	if (w->kind == WAIT_REMOVED)
		w->sandbox->state = SANDBOX_LIVE;
	fail(&err, w->kind == WAIT_REMOVED ? "busy" : "timeout", "%s", overdue[w->kind]);
	finish(h, w, &err);
}

static struct wait *new_wait(struct helper *h, const struct reply_to *to, struct sandbox *s, enum wait_kind kind)
{
	int64_t now = now_ms();

	for (size_t i = 0; i < MAX_WAITS; i++) {
		struct wait *w = &h->waits[i];

		if (w->used)
			continue;
		*w = (struct wait){ .used = true, .kind = kind, .to = *to, .sandbox = s, .deadline = now + WAIT_TIMEOUT_MS,
				    .retry_at = now + RETRY_MS };
		return w;
	}
	return NULL;
}

void wait_and_fail(struct helper *h, const struct reply_to *to, struct sandbox *s, const struct error *failure)
{
	struct wait *w = new_wait(h, to, s, WAIT_ALL_EMPTY);

	if (!w) {
		answer_error(h, to, failure);
		return;
	}
	w->failure = *failure;
	waits_check(h, s, now_ms());
}

enum outcome wait_for(struct helper *h, const struct request *rq, struct sandbox *s, enum wait_kind kind, struct error *err)
{
	int rc = check(h, kind, s, err);

	if (rc < 0)
		return FAILED;
	if (rc == 0)
		return new_wait(h, &rq->to, s, kind) ? DEFERRED : fail(err, "too_many", "too many operations are waiting");
	answer_begin(h, &rq->to);
	answer_finish(h, &rq->to);
	return ANSWERED;
}

int64_t waits_check(struct helper *h, struct sandbox *s, int64_t now)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < MAX_WAITS; i++) {
		struct wait *w = &h->waits[i];
		struct error err;
		int rc;

		if (!w->used || (s && w->sandbox != s))
			continue;
		if (s || now >= w->retry_at) {
			rc = check(h, w->kind, w->sandbox, &err);
			if (rc != 0)
				finish(h, w, rc < 0 ? &err : NULL);
			else if (now >= w->deadline)
				give_up(h, w);
			/* Events are the rule; the retry is for what has none, such as a group that is still busy for a moment. */
			w->retry_at = now + RETRY_MS;
		}
		if (w->used && w->retry_at < next)
			next = w->retry_at;
	}
	return next;
}
