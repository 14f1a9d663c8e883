#include <string.h>

#include "helper.h"

/* Ends what a spawn left behind when it failed half-way; nothing else lives in the sandbox then. */
static void fail_spawn(struct helper *h, const struct reply_to *to, struct sandbox *s, const struct error *err)
{
	struct error ignored;

	group_kill(&h->cgroups, s->uid, s->id, PART_SANDBOX, &ignored);
	wait_and_fail(h, to, s, err);
}

static void launched(struct helper *h, struct child *c, const struct records *report, struct error *err)
{
	const char *init = report ? records_get(report, "init_pid") : NULL, *code = report ? records_get(report, "error") : NULL;
	const char *message = report ? records_get(report, "message") : NULL;
	struct record_writer *w;
	uint64_t pid;

	c->sandbox->spawning = false;
	/* The keeper runs as the user, so its report is the user's word: it is passed on to him and decides nothing here. */
	if (report && (!records_get(report, "ok") || !init || parse_u64(init, 1, INT32_MAX, &pid) < 0)) {
		fail(err, code ? code : "spawn_failed", "%s", message ? message : "the keeper gave no reason");
		report = NULL;
	}
	if (!report) {
		fail_spawn(h, &c->to, c->sandbox, err);
		return;
	}
	w = answer_begin(h, &c->to);
	put_u64(w, "keeper_pid", (uint64_t)c->pid);
	put_u64(w, "init_pid", pid);
	answer_finish(h, &c->to);
}

static int check_ready(struct helper *h, const struct sandbox *s, struct error *err)
{
	if (h->spawn_missing)
		return fail(err, "unsupported", "spawn: %s", h->spawn_missing);
	if (s->spawning || group_populated(&h->cgroups, s->uid, s->id, PART_SANDBOX) != 0)
		return fail(err, "busy", "an init or its processes live in the sandbox already");
	if (group_frozen(&h->cgroups, s->uid, s->id) == 1)
		return fail(err, "busy", "the sandbox is frozen; thaw it first");
	return 0;
}

enum outcome op_spawn(struct helper *h, const struct request *rq, struct error *err)
{
	static struct client_mounts mounts;
	struct sandbox *s = registry_find(&h->registry, rq->from->peer.uid, records_get(rq->list, "sandbox"));
	struct child *c;

	if (!s || s->state != SANDBOX_LIVE)
		return fail(err, "no_such_sandbox", "there is no sandbox '%s'", records_get(rq->list, "sandbox"));
	if (check_ready(h, s, err) < 0 || client_mounts_parse(rq->list, &mounts, err) < 0)
		return FAILED;
	c = child_new(h);
	if (!c)
		return fail(err, "too_many", "too many operations are running");
	c->to = rq->to;
	c->sandbox = s;
	c->peer = rq->from->peer;
	c->request = rq;
	if (child_start(h, c, launch, launched, err) < 0)
		return FAILED;
	s->spawning = true;
	return DEFERRED;
}
