/*
 * One file for each sandbox below <state-dir>/registry, "key=value" a line, replaced atomically.
 * It is written before the effect it speaks of: `state=creating` before the groups, `live` when they are complete, `removing` before they go.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "helper.h"

static const char *const state_names[] = {
	[SANDBOX_CREATING] = "creating", [SANDBOX_LIVE] = "live", [SANDBOX_REMOVING] = "removing",
};

int registry_open(struct registry *r, const char *state_dir, struct error *err)
{
	fd_auto int state = -1;

	if (own_directory(state_dir, err) < 0)
		return -1;
	state = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (state < 0)
		return fail_errno(err, "internal", "%s", state_dir);
	if (mkdirat(state, "registry", 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "internal", "%s/registry", state_dir);
	r->dir = openat(state, "registry", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return r->dir < 0 ? fail_errno(err, "internal", "%s/registry", state_dir) : 0;
}

bool valid_id(const char *text)
{
	return strlen(text) == ID_LENGTH && text[0] == 's' && strspn(text + 1, "0123456789abcdef") == ID_LENGTH - 1;
}

static struct sandbox *free_slot(struct registry *r)
{
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &r->at[i];

		if (s->state != SANDBOX_FREE)
			continue;
		*s = (struct sandbox){ .oom_event = -1, .watch = { -1, -1, -1, -1 } };
		return s;
	}
	return NULL;
}

struct sandbox *registry_add(struct registry *r, uid_t uid, const char *tag)
{
	struct sandbox *s = free_slot(r);
	uint64_t random;

	if (!s || getrandom(&random, sizeof random, 0) != sizeof random)
		return NULL;
	s->state = SANDBOX_CREATING;
	s->uid = uid;
	s->created_ms = wall_ms();
	snprintf(s->id, sizeof s->id, "s%016llx", (unsigned long long)random);
	snprintf(s->tag, sizeof s->tag, "%s", tag);
	return s;
}

struct sandbox *registry_find(struct registry *r, uid_t uid, const char *id)
{
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &r->at[i];

		if (s->state != SANDBOX_FREE && s->uid == uid && strcmp(s->id, id) == 0)
			return s;
	}
	return NULL;
}

struct sandbox *registry_find_tag(struct registry *r, uid_t uid, const char *tag)
{
	for (size_t i = 0; i < MAX_SANDBOXES; i++) {
		struct sandbox *s = &r->at[i];

		if (s->state != SANDBOX_FREE && s->uid == uid && strcmp(s->tag, tag) == 0)
			return s;
	}
	return NULL;
}

size_t registry_count(const struct registry *r, uid_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_SANDBOXES; i++)
		n += r->at[i].state != SANDBOX_FREE && r->at[i].uid == uid;
	return n;
}

size_t registry_total(const struct registry *r)
{
	size_t n = 0;

	for (size_t i = 0; i < MAX_SANDBOXES; i++)
		n += r->at[i].state != SANDBOX_FREE;
	return n;
}

static bool uid_taken(const struct registry *r, uid_t uid)
{
	for (size_t i = 0; i < MAX_SANDBOXES; i++)
		if (r->at[i].state != SANDBOX_FREE && r->at[i].agent_uid == uid)
			return true;
	return false;
}

/* Goes round the range, so that a released uid, whose files may still lie about, is used again as late as can be. */
int registry_allot(struct registry *r, uid_t first, uid_t last, uid_t *out)
{
	for (uint64_t i = 0; i <= (uint64_t)last - first; i++) {
		uid_t uid = r->next_agent_uid;

		if (uid < first || uid > last)
			uid = first;
		r->next_agent_uid = uid + 1;
		if (!uid_taken(r, uid)) {
			*out = uid;
			return 0;
		}
	}
	return -1;
}

static void put_entry(struct record_writer *w, const struct sandbox *s)
{
	put_str(w, "state", state_names[s->state]);
	put_str(w, "tag", s->tag);
	put_u64(w, "uid", s->uid);
	put_u64(w, "agent_uid", s->agent_uid);
	put_u64(w, "agent_gid", s->agent_gid);
	put_u64(w, "created_ms", (uint64_t)s->created_ms);
	put_u64(w, "tolerate_oom", s->tolerate_oom);
	put_u64(w, "device_major", major(s->device));
	put_u64(w, "device_minor", minor(s->device));
	put_u64(w, "oom_seen", s->oom_seen);
	limits_put(w, &s->limits);
}

int registry_save(struct registry *r, const struct sandbox *s, struct error *err)
{
	char text[2048], temporary[ID_LENGTH + 8];
	struct record_writer w = { .buf = text, .cap = sizeof text };
	fd_auto int fd = -1;

	put_entry(&w, s);
	for (size_t i = 0; i < w.len; i++)
		if (text[i] == '\0')
			text[i] = '\n';
	snprintf(temporary, sizeof temporary, ".%s", s->id);
	fd = openat(r->dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (w.full || fd < 0 || write(fd, text, w.len) != (ssize_t)w.len || fsync(fd) < 0 ||
	    renameat(r->dir, temporary, r->dir, s->id) < 0)
		return fail_errno(err, "internal", "the registry entry of %s cannot be written", s->id);
	return 0;
}

void registry_drop(struct registry *r, struct sandbox *s)
{
	unlinkat(r->dir, s->id, 0);
	s->state = SANDBOX_FREE;
}

static bool get_number(const struct records *list, const char *key, uint64_t max, uint64_t *out)
{
	const char *text = records_get(list, key);

	return text && parse_u64(text, 0, max, out) == 0;
}

static bool get_state(const struct records *list, struct sandbox *s)
{
	const char *text = records_get(list, "state");

	for (enum sandbox_state state = SANDBOX_CREATING; text && state <= SANDBOX_REMOVING; state++)
		if (strcmp(text, state_names[state]) == 0)
			s->state = state;
	return s->state != SANDBOX_FREE;
}

/* Reads one entry into a free slot; leaves it free when the entry is not whole. */
static bool read_entry(const struct records *list, const char *id, struct sandbox *s)
{
	static const struct config no_ceiling;
	uint64_t uid, agent_uid, agent_gid, created, tolerate, device_major, device_minor, seen;
	const char *tag = records_get(list, "tag");
	struct error err;

	if (!tag || strlen(tag) > TAG_MAX || !get_number(list, "uid", UINT32_MAX, &uid) ||
	    !get_number(list, "agent_uid", UINT32_MAX, &agent_uid) || !get_number(list, "agent_gid", UINT32_MAX, &agent_gid) ||
	    !get_number(list, "created_ms", INT64_MAX, &created) || !get_number(list, "tolerate_oom", 1, &tolerate) ||
	    !get_number(list, "device_major", UINT32_MAX, &device_major) || !get_number(list, "device_minor", UINT32_MAX, &device_minor) ||
	    !get_number(list, "oom_seen", UINT64_MAX, &seen) || limits_parse(list, &no_ceiling, &s->limits, &err) < 0 || agent_uid == 0)
		return false;
	s->uid = (uid_t)uid;
	s->agent_uid = (uid_t)agent_uid;
	s->agent_gid = (gid_t)agent_gid;
	s->created_ms = (int64_t)created;
	s->tolerate_oom = tolerate;
	s->device = makedev((unsigned)device_major, (unsigned)device_minor);
	s->oom_seen = seen;
	snprintf(s->id, sizeof s->id, "%s", id);
	snprintf(s->tag, sizeof s->tag, "%s", tag);
	return get_state(list, s);
}

static void load_one(struct registry *r, const char *id)
{
	static struct records list;
	struct sandbox *s = free_slot(r);
	char text[2048];
	ssize_t n = read_beneath(r->dir, id, text, sizeof text);

	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = '\0';
	if (n <= 0 || !s || records_parse(text, (size_t)n, &list) < 0 || !read_entry(&list, id, s)) {
		say("registry: the entry '%s' is broken and is dropped", id);
		unlinkat(r->dir, id, 0);
		if (s)
			s->state = SANDBOX_FREE;
	}
}

void registry_load(struct registry *r)
{
	DIR *dir = fdopendir(dup(r->dir));

	if (!dir)
		return;
	rewinddir(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		if (valid_id(e->d_name))
			load_one(r, e->d_name);
		else if (e->d_name[0] == '.' && valid_id(e->d_name + 1))
			unlinkat(r->dir, e->d_name, 0);
	}
	closedir(dir);
}
