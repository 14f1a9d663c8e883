/*
 * The mounts of a spawn request. A source is opened with the peer's rights and used by descriptor from then on: no swap of a path component
 * can make it another. A destination is resolved inside the new root with the agent's rights: no link can lead out of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "helper.h"

#define TMPFS_SIZE (UINT64_C(64) << 20)
#define PATH_LENGTH 4096

bool plain_path(const char *path)
{
	if (path[0] != '/')
		return false;
	if (path[1] == '\0')
		return true;
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		size_t n = strcspn(++p, "/");

		if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
	}
	return true;
}

/* ---- parsing ---- */

static const char *const kind_names[] = { [MOUNT_KIND_RO] = "ro", [MOUNT_KIND_RW] = "rw", [MOUNT_KIND_TMPFS] = "tmpfs" };

static int set_once(const char **field, const char *value, const char *name, struct error *err)
{
	if (*field)
		return fail(err, "bad_request", "a mount has two `%s`", name);
	if (!plain_path(value))
		return fail(err, "bad_path", "%s: '%.200s' is not an absolute path without empty, '.' and '..' components", name, value);
	*field = value;
	return 0;
}

static int add_record(struct client_mount *m, const struct record *r, struct error *err)
{
	if (record_is(r, "src"))
		return set_once(&m->src, r->value, "src", err);
	if (record_is(r, "dst"))
		return set_once(&m->dst, r->value, "dst", err);
	if (m->size)
		return fail(err, "bad_request", "a mount has two `size`");
	return parse_u64(r->value, 4096, UINT64_MAX, &m->size);
}

static int check_mount(const struct client_mount *m, struct error *err)
{
	bool tmpfs = m->kind == MOUNT_KIND_TMPFS;

	if (!m->dst || (tmpfs ? m->src != NULL : m->src == NULL) || (!tmpfs && m->size))
		return fail(err, "bad_request", "a mount has `dst`, and `src` unless it is a tmpfs; only a tmpfs has `size`");
	if (strcmp(m->dst, "/") == 0)
		return fail(err, "bad_path", "dst: nothing is mounted over /");
	return 0;
}

static enum mount_kind kind_of(const char *word)
{
	enum mount_kind kind = MOUNT_KIND_RO;

	while (kind < MOUNT_KIND_TMPFS && strcmp(word, kind_names[kind]) != 0)
		kind++;
	return kind;
}

int client_mounts_parse(const struct records *spec, struct client_mounts *out, struct error *err)
{
	out->count = 0;
	for (size_t i = 0; i < spec->count; i++) {
		const struct record *r = &spec->at[i];

		if (record_is(r, "mount")) {
			if (out->count == MAX_MOUNTS)
				return fail(err, "too_many", "%d mounts are the most", MAX_MOUNTS);
			out->at[out->count++] = (struct client_mount){ .kind = kind_of(r->value), .source = -1 };
		} else if (record_is(r, "src") || record_is(r, "dst") || record_is(r, "size")) {
			if (out->count == 0)
				return fail(err, "bad_request", "`src`, `dst` and `size` follow a `mount`");
			if (add_record(&out->at[out->count - 1], r, err) < 0)
				return -1;
		}
	}
	for (size_t i = 0; i < out->count; i++)
		if (check_mount(&out->at[i], err) < 0)
			return -1;
	return 0;
}

/* ---- sources ---- */

/* File systems that are windows on the kernel: a sandbox has its own, or none. */
static bool is_kernel_window(int fd)
{
	static const long magics[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,
				       DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC, BPF_FS_MAGIC, NSFS_MAGIC, PSTOREFS_MAGIC,
				       EFIVARFS_MAGIC, SELINUX_MAGIC, BINFMTFS_MAGIC, HUGETLBFS_MAGIC };
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return true;
	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if ((long)st.f_type == magics[i])
			return true;
	return false;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* True when a bind of `source` would show the helper's socket: it is the socket, or its directory, or one above on the same mount. */
static bool shows_socket(int source, const char *socket_path, const char *socket_dir)
{
	fd_auto int at = open(socket_path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	if (at >= 0 && same_file(source, at))
		return true;
	close_fd(&at);
	at = open(socket_dir, O_PATH | O_CLOEXEC | O_DIRECTORY);
	while (at >= 0) {
		fd_auto int parent = openat(at, "..", O_PATH | O_CLOEXEC | O_DIRECTORY);

		if (same_file(source, at))
			return true;
		if (parent < 0 || mount_id(parent) != mount_id(at) || same_file(parent, at))
			return false;
		close_fd(&at);
		at = take_fd(&parent);
	}
	return false;
}

static int open_as_peer(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

static int check_source(const struct client_mount *m, const struct config *config, const char *socket_dir, struct error *err)
{
	struct stat st;

	if (fstat(m->source, &st) < 0)
		return fail_errno(err, "bad_path", "src: %.200s", m->src);
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode) && !S_ISSOCK(st.st_mode))
		return fail(err, "bad_path", "src: %.200s is neither a directory nor a file nor a socket", m->src);
	if (is_kernel_window(m->source))
		return fail(err, "bad_path", "src: %.200s is on a file system of the kernel's own", m->src);
	if (shows_socket(m->source, config->socket, socket_dir))
		return fail(err, "bad_path", "src: %.200s would show the helper's socket", m->src);
	return 0;
}

static int open_all(struct client_mounts *list, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct client_mount *m = &list->at[i];

		if (m->kind == MOUNT_KIND_TMPFS)
			continue;
		m->source = open_as_peer(m->src);
		if (m->source < 0)
			return fail_errno(err, "bad_path", "src: %.200s", m->src);
	}
	return 0;
}

int client_mounts_open(struct client_mounts *list, const struct peer *peer, const struct config *config, const char *socket_dir,
		       struct error *err)
{
	int rc;

	if (become(peer->uid, peer->gid, peer->groups, peer->group_count) < 0)
		return fail_errno(err, "internal", "the peer's rights cannot be taken on");
	rc = open_all(list, err);
	if (become_root() < 0)
		return fail_errno(err, "internal", "root's rights cannot be taken back");
	for (size_t i = 0; rc == 0 && i < list->count; i++)
		if (list->at[i].source >= 0)
			rc = check_source(&list->at[i], config, socket_dir, err);
	return rc;
}

/* ---- destinations ---- */

struct place {
	const struct client_mounts *made;
	int root;
	const char *staging;
	const struct client_mount *mount;
	struct error *err;
};

/* The sandbox's own /tmp and /var/tmp: empty, private, writable by the agent. */
static bool is_scratch(int root, uint64_t id)
{
	static const char *const places[] = { "/tmp", "/var/tmp" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		fd_auto int fd = open_in_root(root, places[i]);

		if (fd >= 0 && mount_id(fd) == id)
			return true;
	}
	return false;
}

/* Something may be created only where the agent may write anyway: in a mount of this list, or in the sandbox's own /tmp. */
static bool may_create(const struct client_mounts *made, int root, int dir)
{
	uint64_t id = mount_id(dir);

	if (id == 0)
		return false;
	for (size_t i = 0; i < made->count; i++)
		if (made->at[i].id == id && made->at[i].kind != MOUNT_KIND_RO)
			return true;
	return is_scratch(root, id);
}

static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static int create(int dir, const char *name, bool directory)
{
	int fd;

	if (directory)
		return mkdirat(dir, name, 0755);
	fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* Walks down `dst` and makes what is missing. Returns a descriptor of the last component or -1. */
static int walk(const struct place *p)
{
	const char *dst = p->mount->dst;
	bool file = p->mount->source >= 0 && !is_directory(p->mount->source);
	fd_auto int at = open_in_root(p->root, "/");
	char part[PATH_LENGTH];

	for (size_t i = 1; at >= 0 && i <= strlen(dst); i++) {
		bool last = dst[i] == '\0';
		fd_auto int next = -1;

		if (dst[i] != '/' && !last)
			continue;
		snprintf(part, sizeof part, "%.*s", (int)i, dst);
		next = open_in_root(p->root, part);
		if (next < 0 && errno == ENOENT) {
			if (!may_create(p->made, p->root, at))
				return fail(p->err, "bad_path", "dst: %.200s does not exist, and only in a tmpfs or rw mount of this list "
					    "would it be made", part);
			if (create(at, strrchr(part, '/') + 1, !last || !file) < 0)
				return fail_errno(p->err, "bad_path", "dst: %.200s cannot be made", part);
			next = open_in_root(p->root, part);
		}
		if (next < 0)
			return fail_errno(p->err, "bad_path", "dst: %.200s", part);
		close_fd(&at);
		at = take_fd(&next);
	}
	return take_fd(&at);
}

/* /proc, /sys and /dev are the base's: a mount over them could make the checks believe anything. The resolved path counts, not the words. */
static bool in_reserved(int fd, const char *staging)
{
	static const char *const reserved[] = { "/proc", "/sys", "/dev" };
	char link[32], path[PATH_LENGTH];
	size_t n = strlen(staging);
	ssize_t len;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof path - 1);
	if (len < 0)
		return true;
	path[len] = '\0';
	if (strncmp(path, staging, n) != 0)
		return true;
	for (size_t i = 0; i < 3; i++) {
		size_t k = strlen(reserved[i]);

		if (strncmp(path + n, reserved[i], k) == 0 && (path[n + k] == '/' || path[n + k] == '\0'))
			return true;
	}
	return path[n] == '\0';
}

static int make_mount(const struct client_mount *m, uid_t uid, gid_t gid)
{
	uint64_t safe = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	char size[24], user[16], group[16];
	const struct mount_option options[] = { { "mode", "0755" }, { "size", size }, { "uid", user }, { "gid", group },
						{ "nr_inodes", "1048576" }, { NULL, NULL } };

	if (m->kind != MOUNT_KIND_TMPFS)
		return mount_clone(m->source, "", m->kind == MOUNT_KIND_RO ? safe | MOUNT_ATTR_RDONLY : safe);
	snprintf(size, sizeof size, "%llu", (unsigned long long)(m->size ? m->size : TMPFS_SIZE));
	snprintf(user, sizeof user, "%u", uid);
	snprintf(group, sizeof group, "%u", gid);
	return mount_new("tmpfs", options, safe);
}

static int make_one(struct client_mounts *list, size_t i, const struct place *p, uid_t uid, gid_t gid)
{
	struct client_mount *m = &list->at[i];
	fd_auto int target = -1;
	fd_auto int mount = -1;

	if (become(uid, gid, NULL, 0) < 0)
		return fail_errno(p->err, "internal", "the agent's rights cannot be taken on");
	target = walk(p);
	if (become_root() < 0)
		return fail_errno(p->err, "internal", "root's rights cannot be taken back");
	if (target < 0)
		return -1;
	if (in_reserved(target, p->staging))
		return fail(p->err, "bad_path", "dst: %.200s: /proc, /sys and /dev are not the client's", m->dst);
	if ((m->source < 0 || is_directory(m->source)) != is_directory(target))
		return fail(p->err, "bad_path", "dst: %.200s: a directory needs a directory, a file a file", m->dst);
	mount = make_mount(m, uid, gid);
	if (mount < 0 || mount_put(mount, target) < 0)
		return mount_failed(m->dst, p->err);
	m->id = mount_id(mount);
	return 0;
}

int client_mounts_make(struct client_mounts *list, int root, const char *staging, uid_t agent_uid, gid_t agent_gid,
		       struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		struct place place = { .made = list, .root = root, .staging = staging, .mount = &list->at[i], .err = err };

		if (make_one(list, i, &place, agent_uid, agent_gid) < 0)
			return -1;
	}
	return 0;
}
