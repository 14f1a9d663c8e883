/*
 * Groups of sandboxes: <hierarchy>/<NAME>/u<uid>/<sandbox>/{agent,side}.
 * Every file is opened beneath the descriptor of <NAME>, without following links; no client ever names one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "helper.h"

static const char *const controller_names[CTL_COUNT] = { "cpu", "cpuset", "memory", "pids", "io" };
static const char *const v1_names[CTL_COUNT] = { "cpu", "cpuset", "memory", "pids", "blkio" };

static const struct cgroup_driver *driver(const struct hierarchy *h)
{
	return h->v2 ? &cgroup_v2 : &cgroup_v1;
}

/* ---- finding the hierarchies ---- */

static bool has_word(const char *list, const char *word, const char *separators)
{
	size_t n = strlen(word);

	for (const char *p = list; *p;) {
		size_t len = strcspn(p, separators);

		if (len == n && memcmp(p, word, n) == 0)
			return true;
		p += len;
		p += strspn(p, separators);
	}
	return false;
}

/* On v2 a controller reaches a group only when every group above passes it on. Ones that are missing are simply not passed. */
static void pass_controllers_on(int dir, const char *path)
{
	char file[GROUP_PATH_MAX + 300];

	snprintf(file, sizeof file, "%s%scgroup.subtree_control", path, *path ? "/" : "");
	for (size_t i = 0; i < CTL_COUNT; i++) {
		char word[16];

		snprintf(word, sizeof word, "+%s", controller_names[i]);
		write_beneath(dir, file, word);
	}
}

/* A v1 cpuset group starts without CPUs and memory nodes, and nothing can join it: both are copied from its parent. */
static int inherit_cpuset(int dir, const char *path)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };
	char parent[512], file[600], text[1024];
	const char *slash = strrchr(path, '/');

	snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 0, path);
	for (size_t i = 0; i < 2; i++) {
		snprintf(file, sizeof file, "%s/%s", path, files[i]);
		if (read_beneath(dir, file, text, sizeof text) < 0)
			return -1;
		if (text[0] != '\n' && text[0] != '\0')
			continue;
		snprintf(file, sizeof file, "%s%s%s", parent, parent[0] ? "/" : "", files[i]);
		if (read_beneath(dir, file, text, sizeof text) < 0)
			return -1;
		snprintf(file, sizeof file, "%s/%s", path, files[i]);
		if (write_beneath(dir, file, text) < 0)
			return -1;
	}
	return 0;
}

/* Makes one directory and what a group in it needs before anything can join. */
static int make_level(int dir, const struct hierarchy *h, const char *path)
{
	if (mkdirat(dir, path, 0755) < 0 && errno != EEXIST)
		return -1;
	if (!h->v2 && (h->controllers & (1u << CTL_CPUSET)))
		return inherit_cpuset(dir, path);
	return 0;
}

/* The helper's own v2 group, relative to the mount; false when it cannot be told. */
static bool own_group(char *out, size_t cap)
{
	fd_auto int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	char text[8192], *line;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (!line)
		return false;
	line += *line == '\n' ? 5 : 4;
	line[strcspn(line, "\n")] = '\0';
	return (size_t)snprintf(out, cap, "%s", line) < cap;
}

/* A v2 group with processes cannot pass controllers on. When the helper was started inside its own group, it moves to a leaf. */
static void leave_inner_group(int root, const char *name)
{
	char own[300], leaf[300], file[320];

	if (!own_group(own, sizeof own) || strcmp(own, name) != 0)
		return;
	snprintf(leaf, sizeof leaf, "%s/helper", name);
	if (mkdirat(root, leaf, 0755) < 0 && errno != EEXIST)
		return;
	snprintf(file, sizeof file, "%s/cgroup.procs", leaf);
	write_beneath(root, file, "0");
}

static int open_base(struct hierarchy *h, int root, const char *name, struct error *err)
{
	char part[256];

	for (size_t i = 1; i <= strlen(name); i++) {
		if (name[i] != '/' && name[i] != '\0')
			continue;
		snprintf(part, sizeof part, "%.*s", (int)i, name);
		if (make_level(root, h, part) < 0)
			return fail_errno(err, "internal", "the group '%s' cannot be made", part);
		if (h->v2 && name[i] == '/')
			pass_controllers_on(root, part);
	}
	if (h->v2) {
		leave_inner_group(root, name);
		pass_controllers_on(root, name);
	}
	h->root = fcntl(root, F_DUPFD_CLOEXEC, 3);
	h->base = open_beneath(root, name, O_RDONLY | O_DIRECTORY);
	return h->base < 0 ? fail_errno(err, "internal", "the group '%s' cannot be opened", name) : 0;
}

static unsigned v1_controllers(const char *options)
{
	unsigned found = 0;

	for (size_t i = 0; i < CTL_COUNT; i++)
		if (has_word(options, v1_names[i], ","))
			found |= 1u << i;
	return found;
}

static unsigned v2_controllers(int root)
{
	char text[512];
	unsigned found = 0;

	if (read_beneath(root, "cgroup.controllers", text, sizeof text) < 0)
		return 0;
	for (size_t i = 0; i < CTL_COUNT; i++)
		if (has_word(text, controller_names[i], " \n"))
			found |= 1u << i;
	return found;
}

/* Takes one mounted hierarchy into the table, unless it brings nothing new (it may be mounted twice). */
static int add_hierarchy(struct cgroups *cg, const char *mountpoint, bool v2, const char *options, const char *name, struct error *err)
{
	fd_auto int root = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct hierarchy h = { .root = -1, .base = -1, .v2 = v2 };

	if (root < 0)
		return 0;
	if (v2)
		pass_controllers_on(root, "");
	h.controllers = v2 ? v2_controllers(root) : v1_controllers(options);
	for (size_t i = 0; i < CTL_COUNT; i++)
		if (cg->home[i])
			h.controllers &= ~(1u << i);
	if ((v2 && cg->unified) || (!v2 && !h.controllers) || cg->count == CTL_COUNT + 1)
		return 0;
	if (open_base(&h, root, name, err) < 0)
		return fail_context(err, "%s", mountpoint);
	cg->at[cg->count] = h;
	for (size_t i = 0; i < CTL_COUNT; i++)
		if (h.controllers & (1u << i))
			cg->home[i] = &cg->at[cg->count];
	if (v2)
		cg->unified = &cg->at[cg->count];
	cg->count++;
	return 0;
}

struct search {
	struct cgroups *cg;
	const char *name;
	struct error *err;
};

static int consider_mount(void *context, const struct mount_line *line)
{
	struct search *search = context;

	if (strcmp(line->type, "cgroup") != 0 && strcmp(line->type, "cgroup2") != 0)
		return 0;
	return add_hierarchy(search->cg, line->mountpoint, line->type[6] == '2', line->options, search->name, search->err);
}

static const char *mode_of(const struct cgroups *cg)
{
	bool v1 = false;

	for (size_t i = 0; i < cg->count; i++)
		v1 |= !cg->at[i].v2;
	return !v1 ? "v2" : cg->unified ? "hybrid" : "v1";
}

int cgroups_open(struct cgroups *cg, const char *name, struct error *err)
{
	struct search search = { cg, name, err };

	fail(err, "internal", "/proc/self/mountinfo cannot be read");
	if (mountinfo_each(consider_mount, &search) != 0)
		return -1;
	snprintf(cg->name, sizeof cg->name, "%s", name);
	cg->mode = mode_of(cg);
	cg->can_kill = cg->unified && exists_beneath(cg->unified->base, "cgroup.kill");
	cg->can_freeze = cg->unified && exists_beneath(cg->unified->base, "cgroup.freeze");
	return 0;
}

void cgroups_close(const struct cgroups *cg)
{
	for (size_t i = 0; i < cg->count; i++)
		unlinkat(cg->at[i].root, cg->name, AT_REMOVEDIR);
}

const char *cgroup_limit_missing(const struct cgroups *cg, enum limit limit)
{
	const struct hierarchy *h = cg->home[limit_controller(limit)];

	if (!h)
		return "the controller is not available on this machine";
	return driver(h)->missing(h->base, limit);
}

/* ---- groups ---- */

void group_path(char out[GROUP_PATH_MAX], uid_t uid, const char *id, enum part part)
{
	static const char *const names[] = { [PART_SANDBOX] = "", [PART_AGENT] = "/agent", [PART_SIDE] = "/side" };

	snprintf(out, GROUP_PATH_MAX, "u%u/%s%s", uid, id, names[part]);
}

int group_open(const struct hierarchy *h, uid_t uid, const char *id, enum part part, const char *file, int flags)
{
	char path[GROUP_PATH_MAX], full[GROUP_PATH_MAX + 64];

	group_path(path, uid, id, part);
	snprintf(full, sizeof full, "%s%s%s", path, *file ? "/" : "", file);
	return open_beneath(h->base, full, flags);
}

/* memory and pids of a whole group, for the ceilings of a user and the allowance of `side`; 0 means none. */
static int bound(const struct hierarchy *h, const char *path, uint64_t memory, uint64_t pids, struct error *err)
{
	struct limits limits = { .given = LIMIT_BIT(LIMIT_MEMORY) | LIMIT_BIT(LIMIT_PIDS) };
	fd_auto int dir = open_beneath(h->base, path, O_RDONLY | O_DIRECTORY);

	if (dir < 0)
		return fail_errno(err, "internal", "group %s", path);
	limits.value[LIMIT_MEMORY] = memory ? memory : LIMIT_LIFTED;
	limits.value[LIMIT_PIDS] = pids ? pids : LIMIT_LIFTED;
	for (enum limit limit = LIMIT_MEMORY; limit <= LIMIT_PIDS; limit++) {
		if (!(limits.given & LIMIT_BIT(limit)) || !(h->controllers & (1u << limit_controller(limit))))
			continue;
		if (driver(h)->missing(h->base, limit))
			continue;
		if (driver(h)->set(dir, limit, &limits, 0, err) < 0)
			return fail_context(err, "group %s", path);
	}
	return 0;
}

static int make_in(const struct hierarchy *h, const struct config *config, uid_t uid, const char *id, struct error *err)
{
	char user[GROUP_PATH_MAX], sandbox[GROUP_PATH_MAX], agent[GROUP_PATH_MAX], side[GROUP_PATH_MAX];
	const char *levels[] = { user, sandbox, agent, side };

	snprintf(user, sizeof user, "u%u", uid);
	group_path(sandbox, uid, id, PART_SANDBOX);
	group_path(agent, uid, id, PART_AGENT);
	group_path(side, uid, id, PART_SIDE);
	for (size_t i = 0; i < 4; i++) {
		if (make_level(h->base, h, levels[i]) < 0)
			return fail_errno(err, "internal", "the group %s cannot be made", levels[i]);
		if (h->v2 && i < 2)
			pass_controllers_on(h->base, levels[i]);
	}
	if ((config->max_memory || config->max_pids) && bound(h, user, config->max_memory, config->max_pids, err) < 0)
		return -1;
	return bound(h, side, SIDE_MEMORY_MAX, SIDE_PIDS_MAX, err);
}

int groups_make(const struct cgroups *cg, const struct config *config, uid_t uid, const char *id, bool tolerate_oom, struct error *err)
{
	char agent[GROUP_PATH_MAX], file[GROUP_PATH_MAX + 32];
	const struct hierarchy *memory = cg->home[CTL_MEMORY];

	for (size_t i = 0; i < cg->count; i++)
		if (make_in(&cg->at[i], config, uid, id, err) < 0)
			return -1;
	if (!memory || !memory->v2)
		return 0;
	group_path(agent, uid, id, PART_AGENT);
	snprintf(file, sizeof file, "%s/memory.oom.group", agent);
	if (write_beneath(memory->base, file, tolerate_oom ? "0" : "1") < 0)
		return fail_errno(err, "internal", "memory.oom.group");
	return 0;
}

/* 0 gone, 1 busy, -1 error. */
static int remove_group(const struct hierarchy *h, const char *path)
{
	if (unlinkat(h->base, path, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	return errno == EBUSY || errno == ENOTEMPTY ? 1 : -1;
}

int groups_remove(const struct cgroups *cg, uid_t uid, const char *id, struct error *err)
{
	static const enum part order[] = { PART_AGENT, PART_SIDE, PART_SANDBOX };
	char path[GROUP_PATH_MAX];
	int busy = 0;

	for (size_t i = 0; i < cg->count; i++) {
		for (size_t k = 0; k < 3; k++) {
			int rc;

			group_path(path, uid, id, order[k]);
			rc = remove_group(&cg->at[i], path);
			if (rc < 0)
				return fail_errno(err, "internal", "the group %s cannot be removed", path);
			busy |= rc;
		}
		/* The user's own level goes with the last sandbox; until then this fails, as it should. */
		snprintf(path, sizeof path, "u%u", uid);
		unlinkat(cg->at[i].base, path, AT_REMOVEDIR);
	}
	return busy;
}

bool groups_complete(const struct cgroups *cg, uid_t uid, const char *id)
{
	for (size_t i = 0; i < cg->count; i++) {
		fd_auto int agent = group_open(&cg->at[i], uid, id, PART_AGENT, "", O_PATH);
		fd_auto int side = group_open(&cg->at[i], uid, id, PART_SIDE, "", O_PATH);

		if (agent < 0 || side < 0)
			return false;
	}
	return true;
}

/* ---- limits ---- */

int control_mismatch(enum limit limit, const char *file, const char *wanted, const char *got, struct error *err)
{
	return fail(err, "internal", "%s: %s was set to '%.64s' and reads '%.64s'", limit_name(limit), file, wanted, got);
}

int set_control(int dir, const char *file, const char *text, enum limit limit, struct error *err)
{
	if (write_beneath(dir, file, text) == 0)
		return 0;
	/* The kernel's own bounds (a CPU that does not exist, a value over the parent's) are the client's error. */
	return fail_errno(err, errno == EINVAL || errno == ERANGE || errno == EACCES ? "limit_range" : "internal",
			  "%s: the kernel refuses '%.64s' for %s", limit_name(limit), text, file);
}

int set_cpuset(int dir, const struct limits *all, const char *lifted, struct error *err)
{
	const char *text = limit_value(all, LIMIT_CPUSET) == LIMIT_LIFTED ? lifted : all->cpuset;
	uint64_t wanted[CPU_WORDS], got[CPU_WORDS];
	char now[1024];

	if (set_control(dir, "cpuset.cpus", text, LIMIT_CPUSET, err) < 0)
		return -1;
	if (text[0] == '\n')
		return 0;
	if (read_beneath(dir, "cpuset.cpus", now, sizeof now) < 0)
		return fail_errno(err, "internal", "cpuset.cpus");
	if (cpu_list_parse(text, wanted) < 0 || cpu_list_parse(now, got) < 0 || memcmp(wanted, got, sizeof got) != 0)
		return control_mismatch(LIMIT_CPUSET, "cpuset.cpus", text, now, err);
	return 0;
}

int groups_limit(const struct cgroups *cg, uid_t uid, const char *id, const struct limits *all, unsigned changed, dev_t device,
		 struct error *err)
{
	for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
		const struct hierarchy *h = cg->home[limit_controller(limit)];
		fd_auto int dir = -1;

		if (!(changed & LIMIT_BIT(limit)))
			continue;
		dir = h ? group_open(h, uid, id, PART_AGENT, "", O_RDONLY | O_DIRECTORY) : -1;
		if (dir < 0)
			return fail(err, "internal", "%s: the group is gone", limit_name(limit));
		if (driver(h)->set(dir, limit, all, device, err) < 0)
			return -1;
	}
	return 0;
}

/* "M:m" of a directory of /sys/dev/block as a number. */
static int read_device(int dir, const char *path, dev_t *out)
{
	char text[32];
	unsigned major_no, minor_no;
	fd_auto int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	if (sscanf(text, "%u:%u", &major_no, &minor_no) != 2)
		return -1;
	*out = makedev(major_no, minor_no);
	return 0;
}

int disk_of(dev_t device, dev_t *disk, struct error *err)
{
	char path[64];
	fd_auto int dir = -1;

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(device), minor(device));
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fail(err, "limit_unsupported", "I/O limits: io_path is not on a file system of one block device (its device is %u:%u)",
			    major(device), minor(device));
	/* The throttle counts at the whole disk; a partition is a directory inside its disk's. */
	if (faccessat(dir, "partition", F_OK, 0) != 0) {
		*disk = device;
		return 0;
	}
	if (read_device(dir, "../dev", disk) < 0)
		return fail(err, "limit_unsupported", "I/O limits: the disk of partition %u:%u cannot be found", major(device), minor(device));
	return 0;
}

/* ---- kill, freeze, events ---- */

static int write_unified(const struct cgroups *cg, uid_t uid, const char *id, enum part part, const char *file, const char *text,
			 struct error *err)
{
	fd_auto int fd = cg->unified ? group_open(cg->unified, uid, id, part, file, O_WRONLY) : -1;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return fail_errno(err, "internal", "%s", file);
	return 0;
}

int group_kill(const struct cgroups *cg, uid_t uid, const char *id, enum part part, struct error *err)
{
	return write_unified(cg, uid, id, part, "cgroup.kill", "1", err);
}

int group_freeze(const struct cgroups *cg, uid_t uid, const char *id, bool freeze, struct error *err)
{
	return write_unified(cg, uid, id, PART_AGENT, "cgroup.freeze", freeze ? "1" : "0", err);
}

int group_state(const struct cgroups *cg, uid_t uid, const char *id, enum part part, struct group_state *out)
{
	char path[GROUP_PATH_MAX], file[GROUP_PATH_MAX + 32], text[256];
	uint64_t populated, frozen = 0;

	group_path(path, uid, id, part);
	snprintf(file, sizeof file, "%s/cgroup.events", path);
	if (!cg->unified || read_beneath(cg->unified->base, file, text, sizeof text) < 0 || !text_field(text, "populated", &populated))
		return -1;
	text_field(text, "frozen", &frozen);
	*out = (struct group_state){ .populated = populated != 0, .frozen = frozen != 0 };
	return 0;
}

int group_populated(const struct cgroups *cg, uid_t uid, const char *id, enum part part)
{
	struct group_state state;

	return group_state(cg, uid, id, part, &state) < 0 ? -1 : state.populated;
}

int group_frozen(const struct cgroups *cg, uid_t uid, const char *id)
{
	struct group_state state;

	return group_state(cg, uid, id, PART_AGENT, &state) < 0 ? -1 : state.frozen;
}

/* ---- figures ---- */

void put_figure(struct figures *out, enum figure figure, uint64_t value)
{
	out->value[figure] = value;
	out->have |= 1u << figure;
}

void read_figure(int dir, const char *file, const char *field, enum figure figure, uint64_t divide, struct figures *out)
{
	char text[8192];
	uint64_t value;

	if (read_beneath(dir, file, text, sizeof text) < 0)
		return;
	if (field ? text_field(text, field, &value) : text_number(text, &value))
		put_figure(out, figure, value / divide);
}

void group_figures(const struct cgroups *cg, uid_t uid, const char *id, struct figures *out)
{
	*out = (struct figures){ 0 };
	for (size_t i = 0; i < cg->count; i++) {
		const struct hierarchy *h = &cg->at[i];
		fd_auto int dir = group_open(h, uid, id, PART_AGENT, "", O_RDONLY | O_DIRECTORY);

		/* The unified tree counts CPU time with or without its cpu controller. */
		if (h->v2)
			read_figure(dir, "cpu.stat", "usage_usec", FIG_CPU_US, 1, out);
		for (enum controller c = 0; dir >= 0 && c < CTL_COUNT; c++)
			if (h->controllers & (1u << c))
				driver(h)->figures(dir, c, out);
	}
}

const char *oom_file(const struct cgroups *cg)
{
	return cg->home[CTL_MEMORY]->v2 ? "memory.events" : "memory.oom_control";
}

bool group_oom_kills(const struct cgroups *cg, uid_t uid, const char *id, uint64_t *out)
{
	char path[GROUP_PATH_MAX], file[GROUP_PATH_MAX + 32], text[512];

	if (!cg->home[CTL_MEMORY])
		return false;
	group_path(path, uid, id, PART_AGENT);
	snprintf(file, sizeof file, "%s/%s", path, oom_file(cg));
	return read_beneath(cg->home[CTL_MEMORY]->base, file, text, sizeof text) >= 0 && text_field(text, "oom_kill", out);
}
