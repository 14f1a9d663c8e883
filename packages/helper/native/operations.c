/* Handlers. Each reads the same: whose, what, allowed, recorded, done, undone on failure. */
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "helper.h"

static enum outcome done(struct helper *h, const struct request *rq)
{
	answer_begin(h, &rq->to);
	answer_finish(h, &rq->to);
	return ANSWERED;
}

/* The caller's sandbox that a request names. One of somebody else is as unknown as one that never was. */
static struct sandbox *named(struct helper *h, const struct request *rq, struct error *err)
{
	const char *id = records_get(rq->list, "sandbox");
	struct sandbox *s = registry_find(&h->registry, rq->from->peer.uid, id);

	if (!s || s->state == SANDBOX_CREATING) {
		fail(err, "no_such_sandbox", "there is no sandbox '%s'", id);
		return NULL;
	}
	if (s->state == SANDBOX_REMOVING) {
		fail(err, "busy", "the sandbox is being removed");
		return NULL;
	}
	return s;
}

/* ---- hello ---- */

static void put_missing(struct record_writer *w, const char *what, const char *reason)
{
	char text[256];

	snprintf(text, sizeof text, "%s:%s", what, reason);
	put_str(w, "missing", text);
}

static void put_capability(struct record_writer *w, const char *what, const char *reason)
{
	if (reason)
		put_missing(w, what, reason);
	else
		put_str(w, "cap", what);
}

/* Something that a sandbox can do without: where it is absent it is not called missing. */
static void put_optional(struct record_writer *w, const char *what, const char *reason)
{
	if (!reason)
		put_str(w, "cap", what);
}

enum outcome op_hello(struct helper *h, const struct request *rq, struct error *err)
{
	struct connection *c = rq->from;
	struct record_writer *w;

	if (strcmp(records_get(rq->list, "version"), "1") != 0)
		return fail(err, "version", "this helper speaks version %d of the protocol", PROTOCOL_VERSION);
	c->greeted = true;
	w = answer_begin(h, &rq->to);
	put_u64(w, "version", PROTOCOL_VERSION);
	put_str(w, "server", SERVER_NAME);
	put_str(w, "mode", h->cgroups.mode);
	put_u64(w, "uid", c->peer.uid);
	put_str(w, "agent_uid", c->peer.uid == 0 ? "allotted" : "same");
	put_capability(w, "spawn", h->spawn_missing);
	put_capability(w, "kill", h->cgroups.can_kill ? NULL : "it needs cgroup2 mounted and Linux 5.14");
	put_capability(w, "freeze", h->cgroups.can_freeze ? NULL : "it needs cgroup2 mounted and Linux 5.2");
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
		char name[48];

		snprintf(name, sizeof name, "limit.%s", limit_name(limit));
		put_capability(w, name, cgroup_limit_missing(&h->cgroups, limit));
	}
	put_optional(w, "abstract_sockets", landlock_missing());
	put_u64(w, "max_sandboxes", h->config.max_sandboxes);
	answer_finish(h, &rq->to);
	return ANSWERED;
}

/* ---- create and update ---- */

static int check_supported(const struct helper *h, const struct limits *limits, struct error *err)
{
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
		const char *reason = cgroup_limit_missing(&h->cgroups, limit);

		if ((limits->given & LIMIT_BIT(limit)) && reason)
			return fail(err, "limit_unsupported", "%s: %s", limit_name(limit), reason);
	}
	return 0;
}

static void put_enforced(struct record_writer *w, const struct limits *limits)
{
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++)
		if (limit_value(limits, limit) != LIMIT_LIFTED)
			put_str(w, "enforced", limit_name(limit));
}

void answer_created(struct helper *h, const struct reply_to *to, const struct sandbox *s)
{
	struct record_writer *w = answer_begin(h, to);

	put_str(w, "sandbox", s->id);
	put_u64(w, "agent_uid", s->agent_uid);
	put_u64(w, "agent_gid", s->agent_gid);
	put_enforced(w, &s->limits);
	answer_finish(h, to);
}

/* The agent is the owner without his supplementary groups; root's agents get a number of their own. Never 0. */
static int choose_agent(struct helper *h, const struct peer *peer, struct sandbox *s, struct error *err)
{
	if (peer->uid != 0) {
		s->agent_uid = peer->uid;
		/* The account's primary group, and not the one the peer happens to run with: `sg docker` would hand an agent the host. */
		if (!account_primary_gid(peer->uid, &s->agent_gid))
			s->agent_gid = peer->gid;
		return s->agent_gid == 0 ? fail(err, "not_permitted", "an agent may not have the group of root") : 0;
	}
	if (registry_allot(&h->registry, h->config.agent_first, h->config.agent_last, &s->agent_uid) < 0)
		return fail(err, "too_many", "every uid of the range for agents is in use");
	s->agent_gid = (gid_t)s->agent_uid;
	return 0;
}

void create_finish(struct helper *h, const struct reply_to *to, struct sandbox *s)
{
	struct error err, ignored;

	if (registry_save(&h->registry, s, &err) == 0 &&
	    groups_make(&h->cgroups, &h->config, s->uid, s->id, s->tolerate_oom, &err) == 0 &&
	    groups_limit(&h->cgroups, s->uid, s->id, &s->limits, s->limits.given, s->device, &err) == 0) {
		s->state = SANDBOX_LIVE;
		if (registry_save(&h->registry, s, &err) == 0) {
			watch_add(h, s);
			answer_created(h, to, s);
			return;
		}
	}
	groups_remove(&h->cgroups, s->uid, s->id, &ignored);
	registry_drop(&h->registry, s);
	answer_error(h, to, &err);
}

/* In a child, as the client: which device holds the path? */
static int find_device(struct helper *h, struct child *c, int report)
{
	const char *path = records_get(c->request->list, "io_path");
	char text[128];
	struct record_writer w = { .buf = text, .cap = sizeof text };
	struct error err;
	struct stat st;

	(void)h;
	if (become(c->peer.uid, c->peer.gid, c->peer.groups, c->peer.group_count) < 0 || stat(path, &st) < 0) {
		fail_errno(&err, "bad_path", "io_path");
		report_error(report, &err);
		return -1;
	}
	put_u64(&w, "device", st.st_dev);
	return write(report, text, w.len) < 0 ? -1 : 0;
}

static void found_device(struct helper *h, struct child *c, const struct records *report, struct error *err)
{
	const char *device = report ? records_get(report, "device") : NULL;
	struct sandbox *s = c->sandbox;
	uint64_t number;
	bool found = device && parse_u64(device, 0, UINT64_MAX, &number) == 0;

	if (report && !device)
		fail(err, "bad_path", "%s", records_get(report, "message") ? records_get(report, "message") : "io_path");

	/* A path that is on no disk (overlay, tmpfs) matters only to I/O limits. */
	if (!found || (disk_of((dev_t)number, &s->device, err) < 0 && (s->limits.given & LIMITS_IO))) {
		registry_drop(&h->registry, s);
		answer_error(h, &c->to, err);
		return;
	}
	create_finish(h, &c->to, s);
}

static enum outcome create_with_device(struct helper *h, const struct request *rq, struct sandbox *s, struct error *err)
{
	struct child *c = child_new(h);

	if (!c)
		return fail(err, "too_many", "too many operations are running");
	c->to = rq->to;
	c->sandbox = s;
	c->peer = rq->from->peer;
	c->request = rq;
	return child_start(h, c, find_device, found_device, err) < 0 ? FAILED : DEFERRED;
}

static enum outcome create_new(struct helper *h, const struct request *rq, const struct limits *limits, struct error *err)
{
	const struct peer *peer = &rq->from->peer;
	const char *oom = records_get(rq->list, "oom");
	struct sandbox *s;

	if (registry_count(&h->registry, peer->uid) >= h->config.max_sandboxes)
		return fail(err, "too_many", "this user has %llu sandboxes, which is the most", (unsigned long long)h->config.max_sandboxes);
	s = registry_add(&h->registry, peer->uid, records_get(rq->list, "tag"));
	if (!s)
		return fail(err, "too_many", "there are %d sandboxes, which is the most", MAX_SANDBOXES);
	s->limits = *limits;
	s->tolerate_oom = oom && strcmp(oom, "tolerate") == 0;
	if (choose_agent(h, peer, s, err) < 0) {
		s->state = SANDBOX_FREE;
		return FAILED;
	}
	if (!(limits->given & LIMITS_IO) && !records_get(rq->list, "io_path")) {
		create_finish(h, &rq->to, s);
		return ANSWERED;
	}
	if (create_with_device(h, rq, s, err) == FAILED) {
		s->state = SANDBOX_FREE;
		return FAILED;
	}
	return DEFERRED;
}

enum outcome op_create(struct helper *h, const struct request *rq, struct error *err)
{
	struct sandbox *s = registry_find_tag(&h->registry, rq->from->peer.uid, records_get(rq->list, "tag"));
	struct limits limits;

	if (s && s->state != SANDBOX_LIVE)
		return fail(err, "busy", "the sandbox of this tag is being made or removed");
	if (s) {
		answer_created(h, &rq->to, s);
		return ANSWERED;
	}
	if (strcmp(records_get(rq->list, "level"), "enhanced") != 0)
		return fail(err, "unsupported", "level: this helper makes `enhanced` sandboxes only");
	if (!h->cgroups.can_kill)
		return fail(err, "unsupported", "a sandbox needs cgroup.kill: cgroup2 mounted and Linux 5.14");
	if (limits_parse(rq->list, &h->config, &limits, err) < 0 || check_supported(h, &limits, err) < 0)
		return FAILED;
	if ((limits.given & LIMITS_IO) && !records_get(rq->list, "io_path"))
		return fail(err, "bad_request", "create: I/O limits need `io_path`, which says for which device");
	return create_new(h, rq, &limits, err);
}

/* In a child: lowering a memory limit makes its writer wait for reclaim. */
static int apply_update(struct helper *h, struct child *c, int report)
{
	struct sandbox *s = c->sandbox;
	struct limits all = s->limits;
	struct error err, ignored;

	limits_merge(&all, &c->limits);
	if (groups_limit(&h->cgroups, s->uid, s->id, &all, c->limits.given, s->device, &err) == 0)
		return write(report, "ok=1", 5) < 0 ? -1 : 0;
	groups_limit(&h->cgroups, s->uid, s->id, &s->limits, c->limits.given, s->device, &ignored);
	report_error(report, &err);
	return -1;
}

static void applied_update(struct helper *h, struct child *c, const struct records *report, struct error *err)
{
	struct sandbox *s = registry_find(&h->registry, c->peer.uid, c->sandbox_id);
	struct record_writer *w;

	if (report && records_get(report, "error"))
		fail(err, records_get(report, "error"), "%s", records_get(report, "message"));
	if (s)
		s->updating = false;
	if (!s || !report || records_get(report, "error")) {
		answer_error(h, &c->to, err);
		return;
	}
	limits_merge(&s->limits, &c->limits);
	if (registry_save(&h->registry, s, err) < 0) {
		answer_error(h, &c->to, err);
		return;
	}
	w = answer_begin(h, &c->to);
	put_enforced(w, &s->limits);
	answer_finish(h, &c->to);
}

enum outcome op_update(struct helper *h, const struct request *rq, struct error *err)
{
	struct sandbox *s = named(h, rq, err);
	struct child *c;

	if (!s)
		return FAILED;
	if (s->updating)
		return fail(err, "busy", "another update of this sandbox is running");
	c = child_new(h);
	if (!c)
		return fail(err, "too_many", "too many operations are running");
	if (limits_parse(rq->list, &h->config, &c->limits, err) < 0 || check_supported(h, &c->limits, err) < 0)
		return FAILED;
	if ((c->limits.given & LIMITS_IO) && s->device == 0)
		return fail(err, "bad_request", "update: the sandbox was created without an `io_path` on a disk");
	c->to = rq->to;
	c->peer = rq->from->peer;
	c->sandbox = s;
	memcpy(c->sandbox_id, s->id, sizeof c->sandbox_id);
	if (child_start(h, c, apply_update, applied_update, err) < 0)
		return FAILED;
	s->updating = true;
	return DEFERRED;
}

/* ---- freeze, kill, remove ---- */

static enum outcome freeze(struct helper *h, const struct request *rq, bool on, struct error *err)
{
	struct sandbox *s = named(h, rq, err);

	if (!s)
		return FAILED;
	if (!h->cgroups.can_freeze)
		return fail(err, "unsupported", "freezing needs cgroup2 mounted and Linux 5.2");
	if (group_freeze(&h->cgroups, s->uid, s->id, on, err) < 0)
		return FAILED;
	return wait_for(h, rq, s, on ? WAIT_FROZEN : WAIT_THAWED, err);
}

enum outcome op_freeze(struct helper *h, const struct request *rq, struct error *err)
{
	return freeze(h, rq, true, err);
}

enum outcome op_thaw(struct helper *h, const struct request *rq, struct error *err)
{
	return freeze(h, rq, false, err);
}

enum outcome op_kill(struct helper *h, const struct request *rq, struct error *err)
{
	struct sandbox *s = named(h, rq, err);
	bool all = strcmp(records_get(rq->list, "group"), "all") == 0;

	if (!s || group_kill(&h->cgroups, s->uid, s->id, all ? PART_SANDBOX : PART_AGENT, err) < 0)
		return FAILED;
	return wait_for(h, rq, s, all ? WAIT_ALL_EMPTY : WAIT_AGENT_EMPTY, err);
}

enum outcome op_remove(struct helper *h, const struct request *rq, struct error *err)
{
	struct sandbox *s = named(h, rq, err);

	if (!s)
		return FAILED;
	if (s->spawning || s->updating || group_populated(&h->cgroups, s->uid, s->id, PART_SANDBOX) != 0)
		return fail(err, "busy", "processes live in the sandbox; kill them first");
	s->state = SANDBOX_REMOVING;
	if (registry_save(&h->registry, s, err) < 0) {
		s->state = SANDBOX_LIVE;
		return FAILED;
	}
	return wait_for(h, rq, s, WAIT_REMOVED, err);
}

/* ---- looking ---- */

static const char *const figure_names[FIG_COUNT] = {
	"cpu_us", "mem", "mem_anon", "mem_peak", "pids", "pids_peak", "oom_kills", "pids_max_hits", "rbytes", "wbytes", "throttled_us",
};

/* Whether a group is frozen shows in its own file, not in that of the group above: the agent's decides. */
static void put_state(struct record_writer *w, const struct cgroups *cg, const struct sandbox *s, enum part part)
{
	struct group_state agent, state;

	if (group_state(cg, s->uid, s->id, PART_AGENT, &agent) < 0)
		return;
	state = agent;
	if (part != PART_AGENT && group_state(cg, s->uid, s->id, part, &state) < 0)
		return;
	put_u64(w, "populated", state.populated);
	put_u64(w, "frozen", agent.frozen);
}

static void put_stats(struct helper *h, struct record_writer *w, const struct sandbox *s)
{
	struct figures figures;

	group_figures(&h->cgroups, s->uid, s->id, &figures);
	put_str(w, "sandbox", s->id);
	put_str(w, "tag", s->tag);
	for (enum figure f = 0; f < FIG_COUNT; f++)
		if (figures.have & (1u << f))
			put_u64(w, figure_names[f], figures.value[f]);
	put_state(w, &h->cgroups, s, PART_AGENT);
}

static bool shown(const struct sandbox *s, uid_t uid)
{
	return (s->state == SANDBOX_LIVE || s->state == SANDBOX_REMOVING) && s->uid == uid;
}

enum outcome op_stats(struct helper *h, const struct request *rq, struct error *err)
{
	struct sandbox *one = NULL;
	struct record_writer *w;

	if (records_get(rq->list, "sandbox") && !(one = named(h, rq, err)))
		return FAILED;
	w = answer_begin(h, &rq->to);
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		const struct sandbox *s = &h->registry.at[i];

		if (one ? s == one : shown(s, rq->from->peer.uid))
			put_stats(h, w, s);
	}
	answer_finish(h, &rq->to);
	return ANSWERED;
}

enum outcome op_list(struct helper *h, const struct request *rq, struct error *err)
{
	struct record_writer *w = answer_begin(h, &rq->to);

	(void)err;
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		const struct sandbox *s = &h->registry.at[i];

		if (!shown(s, rq->from->peer.uid))
			continue;
		put_str(w, "sandbox", s->id);
		put_str(w, "tag", s->tag);
		put_str(w, "level", "enhanced");
		put_u64(w, "agent_uid", s->agent_uid);
		put_u64(w, "agent_gid", s->agent_gid);
		put_state(w, &h->cgroups, s, PART_SANDBOX);
		put_u64(w, "created_ms", (uint64_t)s->created_ms);
	}
	answer_finish(h, &rq->to);
	return ANSWERED;
}

enum outcome op_subscribe(struct helper *h, const struct request *rq, struct error *err)
{
	(void)err;
	rq->from->subscribed = true;
	return done(h, rq);
}

enum outcome op_shutdown(struct helper *h, const struct request *rq, struct error *err)
{
	if (rq->from->peer.uid != 0)
		return fail(err, "not_permitted", "only root may shut the helper down");
	if (registry_total(&h->registry) > 0)
		return fail(err, "busy", "there are sandboxes; remove them first");
	h->stop = true;
	return done(h, rq);
}
