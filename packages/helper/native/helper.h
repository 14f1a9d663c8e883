/*
 * drover-helper: what each file of the daemon offers to the others.
 *
 * Processes. One daemon as root: a single thread around epoll, static tables, no memory of a size that a client names.
 * Whatever may hang on a client's path or in the kernel runs in a short-lived child with a deadline (child.c). A spawn is such a child
 * that becomes two lasting processes: the launcher drops to the peer and becomes drover-keeper; its own child, pid 1 of new namespaces,
 * builds the sandbox, drops to the agent and becomes drover-init. The daemon never waits for either.
 */
#ifndef DROVER_HELPER_H
#define DROVER_HELPER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"
#include "files.h"
#include "records.h"

#define PROTOCOL_VERSION 1
#define SERVER_NAME "drover-helper/0.1.0"

#define MAX_CONNECTIONS 64
#define MAX_CONNECTIONS_PER_UID 16
#define MAX_REFUSED 8
#define MAX_PENDING_PER_CONNECTION 32
#define MAX_SANDBOXES 512
#define MAX_SANDBOXES_PER_UID 128 /* so that one answer to `stats` fits a frame */
#define MAX_CHILDREN 64
#define MAX_WAITS 256
#define MAX_PEER_GROUPS 256
#define MAX_ALLOWED_UIDS 64
#define MAX_MOUNTS 128
#define OUTPUT_MAX (4 * FRAME_MAX)

#define HELLO_TIMEOUT_MS 5000
#define CHILD_TIMEOUT_MS 20000
#define WAIT_TIMEOUT_MS 10000

/* What the `side` group may use: pid 1 and the commands of settling. */
#define SIDE_MEMORY_MAX (UINT64_C(1) << 30)
#define SIDE_PIDS_MAX 256

#define ID_LENGTH 17 /* "s" and 16 hexadecimal digits */
#define TAG_MAX 64
#define CPUSET_MAX 256
#define GROUP_PATH_MAX 96

struct helper;

/* ---- config.c: flags and configuration file ---- */

struct config {
	char socket[108];
	char state_dir[256];
	char cgroup[256];
	char libexec[1024];
	char group[64];
	char file[256];
	uid_t allowed[MAX_ALLOWED_UIDS];
	size_t allowed_count;
	uint64_t idle_exit_s;
	uid_t agent_first, agent_last;
	uint64_t max_sandboxes;
	uint64_t max_memory, max_pids; /* 0: no ceiling */
	bool print_protocol, help;
};

/* Reads argv and the configuration file; flags win. Returns 0 or -1. */
int config_read(struct config *config, int argc, char **argv, struct error *err);

/* ---- accounts.c: /etc/passwd and /etc/group without the C library's plug-ins ---- */

/* Primary group of a uid. False when /etc/passwd does not know it. */
bool account_primary_gid(uid_t uid, gid_t *gid);

/* True when `uid` is a member of the group `gid`, by /etc/group or as its primary group. */
bool account_in_group(uid_t uid, gid_t gid);

/* Number of the group `name`. False when /etc/group does not know it. */
bool account_group(const char *name, gid_t *gid);

/* ---- limits.c: the limits of docs/helper-protocol.md, parsed and bounded ---- */

enum limit {
	LIMIT_CPU_QUOTA, LIMIT_CPU_WEIGHT, LIMIT_CPUSET, LIMIT_MEMORY, LIMIT_SWAP, LIMIT_SWAPPINESS, LIMIT_PIDS,
	LIMIT_IO_RBPS, LIMIT_IO_WBPS, LIMIT_IO_RIOPS, LIMIT_IO_WIOPS, LIMIT_COUNT,
};

#define LIMIT_BIT(limit) (1u << (limit))
#define LIMITS_IO (LIMIT_BIT(LIMIT_IO_RBPS) | LIMIT_BIT(LIMIT_IO_WBPS) | LIMIT_BIT(LIMIT_IO_RIOPS) | LIMIT_BIT(LIMIT_IO_WIOPS))
#define LIMIT_LIFTED UINT64_MAX /* the word `max` */

struct limits {
	unsigned given; /* LIMIT_BITs whose value means something */
	uint64_t value[LIMIT_COUNT];
	char cpuset[CPUSET_MAX];
};

/* Name of a limit in the protocol. */
const char *limit_name(enum limit limit);

/* Reads the limits in a request, checks ranges and the ceilings of the configuration. Returns 0 or -1. */
int limits_parse(const struct records *list, const struct config *config, struct limits *out, struct error *err);

/* Writes each limit as key=value, in the words of the protocol (for the registry). */
void limits_put(struct record_writer *w, const struct limits *limits);

/* Lays `change` over `limits`. */
void limits_merge(struct limits *limits, const struct limits *change);

/* The value in force, LIMIT_LIFTED when it is lifted or was never given. */
uint64_t limit_value(const struct limits *limits, enum limit limit);

/* Reads a list such as "0-1,3" into a bit per CPU (1024). Returns 0, or -1 when it is none. */
#define CPU_WORDS 16
int cpu_list_parse(const char *text, uint64_t bits[CPU_WORDS]);

/* ---- cgroup.c: hierarchies, groups, kill and freeze; cgroup-v1.c and cgroup-v2.c: limits and figures ---- */

enum controller { CTL_CPU, CTL_CPUSET, CTL_MEMORY, CTL_PIDS, CTL_IO, CTL_COUNT };

struct hierarchy {
	int root, base; /* directories: the hierarchy's, and of the helper's own group */
	bool v2;
	unsigned controllers; /* bit per enum controller */
};

struct cgroups {
	struct hierarchy at[CTL_COUNT + 1];
	size_t count;
	const struct hierarchy *unified;         /* kill, freeze and events; NULL when cgroup2 is not mounted */
	const struct hierarchy *home[CTL_COUNT]; /* where a controller is; NULL: nowhere */
	const char *mode;
	char name[256]; /* of the helper's own group */
	bool can_kill, can_freeze;
};

enum figure {
	FIG_CPU_US, FIG_MEM, FIG_MEM_ANON, FIG_MEM_PEAK, FIG_PIDS, FIG_PIDS_PEAK, FIG_OOM_KILLS, FIG_PIDS_MAX_HITS,
	FIG_RBYTES, FIG_WBYTES, FIG_THROTTLED_US, FIG_COUNT,
};

struct figures {
	unsigned have;
	uint64_t value[FIG_COUNT];
};

enum part { PART_SANDBOX, PART_AGENT, PART_SIDE };

/* Finds the hierarchies in /proc/self/mountinfo and makes the helper's own group in each. Returns 0 or -1. */
int cgroups_open(struct cgroups *cg, const char *name, struct error *err);

/* Removes the helper's own groups where nothing is left in them. */
void cgroups_close(const struct cgroups *cg);

/* NULL when the limit can be enforced here, else the reason why not. */
const char *cgroup_limit_missing(const struct cgroups *cg, enum limit limit);

/* Path of a sandbox's group below the helper's own: u<uid>/<id>, u<uid>/<id>/agent, u<uid>/<id>/side. */
void group_path(char out[GROUP_PATH_MAX], uid_t uid, const char *id, enum part part);

/* Makes the groups of a sandbox in every hierarchy, with the user's ceilings and the allowance of `side`. Returns 0 or -1. */
int groups_make(const struct cgroups *cg, const struct config *config, uid_t uid, const char *id, bool tolerate_oom, struct error *err);

/* Removes them, empty ones only. Returns 0 when none is left, 1 when one is still busy, -1 when it cannot be. */
int groups_remove(const struct cgroups *cg, uid_t uid, const char *id, struct error *err);

/* True when the sandbox's groups exist in every hierarchy. */
bool groups_complete(const struct cgroups *cg, uid_t uid, const char *id);

/* Writes the limits in `changed` to the agent's group and reads each back. `all` holds every limit in force. Returns 0 or -1. */
int groups_limit(const struct cgroups *cg, uid_t uid, const char *id, const struct limits *all, unsigned changed, dev_t device,
		 struct error *err);

/* SIGKILL to every process of a part, at once (cgroup.kill). Returns 0 or -1. */
int group_kill(const struct cgroups *cg, uid_t uid, const char *id, enum part part, struct error *err);

/* Asks for the agent's group to be frozen or thawed; it takes effect later. Returns 0 or -1. */
int group_freeze(const struct cgroups *cg, uid_t uid, const char *id, bool freeze, struct error *err);

/* What cgroup.events says of a part. Returns 0 or -1. */
struct group_state {
	bool populated, frozen;
};
int group_state(const struct cgroups *cg, uid_t uid, const char *id, enum part part, struct group_state *out);

/* One of the two; 0, 1, or -1 when it cannot be read. Freezing is the agent's group's alone. */
int group_populated(const struct cgroups *cg, uid_t uid, const char *id, enum part part);
int group_frozen(const struct cgroups *cg, uid_t uid, const char *id);

/* Figures of the agent's group. */
void group_figures(const struct cgroups *cg, uid_t uid, const char *id, struct figures *out);

/* The OOM kills of the agent's group so far. False when there is no such count here. */
bool group_oom_kills(const struct cgroups *cg, uid_t uid, const char *id, uint64_t *out);

/* Opens a file of the part's group in the hierarchy of a controller. Returns a descriptor or -1. */
int group_open(const struct hierarchy *h, uid_t uid, const char *id, enum part part, const char *file, int flags);

/* Whole disk that holds the device of a file system, as the block layer's limits want it. Returns 0 or -1. */
int disk_of(dev_t device, dev_t *disk, struct error *err);

/* The file that counts OOM kills. */
const char *oom_file(const struct cgroups *cg);

/* One implementation for each version; `dir` is the agent's group in the controller's hierarchy. */
struct cgroup_driver {
	const char *(*missing)(int base, enum limit limit);
	int (*set)(int dir, enum limit limit, const struct limits *all, dev_t device, struct error *err);
	void (*figures)(int dir, enum controller controller, struct figures *out);
};
extern const struct cgroup_driver cgroup_v1, cgroup_v2;

/* Controller that enforces a limit. */
enum controller limit_controller(enum limit limit);

/* Sets a figure. */
void put_figure(struct figures *out, enum figure figure, uint64_t value);

/* Reads one number of a file below `dir` into a figure, when it is there. */
void read_figure(int dir, const char *file, const char *field, enum figure figure, uint64_t divide, struct figures *out);

/* Writes a control file and names the limit when that fails. Returns 0 or -1. */
int set_control(int dir, const char *file, const char *text, enum limit limit, struct error *err);

/* Fails unless the text of a control file reads as wanted; how is the driver's business. */
int control_mismatch(enum limit limit, const char *file, const char *wanted, const char *got, struct error *err);

/* Writes and verifies a CPU list. Both versions have the same file. */
int set_cpuset(int dir, const struct limits *all, const char *lifted, struct error *err);

/* ---- registry.c: the sandboxes that exist, in memory and on disk ---- */

enum sandbox_state { SANDBOX_FREE, SANDBOX_CREATING, SANDBOX_LIVE, SANDBOX_REMOVING };

struct sandbox {
	enum sandbox_state state;
	char id[ID_LENGTH + 1];
	char tag[TAG_MAX + 1];
	uid_t uid; /* the owner */
	uid_t agent_uid;
	gid_t agent_gid;
	int64_t created_ms;
	bool tolerate_oom;
	struct limits limits;
	dev_t device; /* for I/O limits; 0: none */
	uint64_t oom_seen;
	/* Not on disk: */
	uint64_t pids_seen;
	bool populated, spawning, updating;
	int watch[4]; /* inotify descriptors: enum watch_kind */
	int oom_event;
	int oom_rechecks;
	int64_t oom_recheck_at;
};

struct registry {
	int dir;
	struct sandbox at[MAX_SANDBOXES];
	uid_t next_agent_uid;
};

/* Opens (and makes) the directory of entries below the state directory. Returns 0 or -1. */
int registry_open(struct registry *r, const char *state_dir, struct error *err);

/* Reads all entries from disk. Broken ones are removed. */
void registry_load(struct registry *r);

/* A free slot with a fresh id, owned by `uid`, in state CREATING; NULL when the table is full. */
struct sandbox *registry_add(struct registry *r, uid_t uid, const char *tag);

/* The owner's sandbox by id; NULL also when it exists and belongs to somebody else. */
struct sandbox *registry_find(struct registry *r, uid_t uid, const char *id);

/* The owner's sandbox by tag. */
struct sandbox *registry_find_tag(struct registry *r, uid_t uid, const char *tag);

/* How many sandboxes a uid has. */
size_t registry_count(const struct registry *r, uid_t uid);

/* How many there are. */
size_t registry_total(const struct registry *r);

/* Allots a uid from [first, last] that no sandbox has. Returns 0 or -1. */
int registry_allot(struct registry *r, uid_t first, uid_t last, uid_t *out);

/* Writes the entry to disk, atomically. Returns 0 or -1. */
int registry_save(struct registry *r, const struct sandbox *s, struct error *err);

/* Removes the entry from disk and frees the slot. */
void registry_drop(struct registry *r, struct sandbox *s);

/* True for text that has the form of a sandbox id. */
bool valid_id(const char *text);

/* ---- connection.c: clients ---- */

struct peer {
	uid_t uid;
	gid_t gid;
	gid_t groups[MAX_PEER_GROUPS];
	size_t group_count;
};

struct connection {
	int fd; /* -1: free */
	uint32_t generation;
	struct peer peer;
	bool greeted, subscribed, closing;
	const char *refusal; /* error code that hello is answered with; NULL: none */
	unsigned pending; /* requests taken whose answer is still due */
	int64_t opened_ms;
	size_t in_len, out_len, out_sent;
	char in[4 + FRAME_MAX];
	char out[OUTPUT_MAX];
};

/* Where the answer to a request goes. The connection may be gone by then: the generation tells. */
struct reply_to {
	int connection;
	uint32_t generation;
	uint32_t id;
};

/* Makes a directory unless it is there, and makes sure that only root can write it. Returns 0 or -1. */
int own_directory(const char *path, struct error *err);

/* Opens the listening socket, or takes the one systemd passed. Returns 0 or -1. */
int connections_listen(struct helper *h, struct error *err);

/* Takes one client, or refuses it. */
void connection_accept(struct helper *h);

/* Reads, serves and writes for one connection. */
void connection_serve(struct helper *h, int index, uint32_t events);

/* Serves requests that had to wait until fewer answers were due. */
void connections_resume(struct helper *h);

/* Closes connections that have not said hello in time; returns when to look again (INT64_MAX: never). */
int64_t connections_expire(struct helper *h, int64_t now);

/* True when somebody receives events. */
bool connections_subscribed(const struct helper *h);

/* Number of open connections. */
size_t connections_count(const struct helper *h);

/* An answer under construction; `finish` sends it. There is one buffer: an answer is begun and finished without a pause. */
struct record_writer *answer_begin(struct helper *h, const struct reply_to *to);
void answer_finish(struct helper *h, const struct reply_to *to);
void answer_error(struct helper *h, const struct reply_to *to, const struct error *err);

/* Sends an event to the owner's subscribed connections. */
void event_send(struct helper *h, const struct sandbox *s, const char *name);

/* ---- protocol.c: the table of operations ---- */

struct request {
	struct connection *from;
	struct reply_to to;
	const struct records *list;
	const char *bytes; /* the record list as it was received */
	size_t len;
};

/* A handler answers with answer_*, or leaves the answer to later (DEFERRED), or fills the error. */
enum outcome { FAILED = -1, ANSWERED = 0, DEFERRED = 1 };
typedef enum outcome handler(struct helper *h, const struct request *rq, struct error *err);

/* Checks a request against the table and runs its handler. */
void protocol_serve(struct helper *h, struct connection *from, int index, const char *bytes, size_t len);

/* Prints the table as JSON lines. */
void protocol_print(void);

handler op_hello, op_create, op_spawn, op_update, op_freeze, op_thaw, op_kill, op_stats, op_list, op_remove, op_subscribe, op_shutdown;

/* ---- child.c: short-lived children with a deadline ---- */

struct child;
typedef int child_run(struct helper *h, struct child *c, int report);
/* `report` is NULL when the child gave none; `err` then says why. */
typedef void child_done(struct helper *h, struct child *c, const struct records *report, struct error *err);

struct child {
	bool used;
	pid_t pid;
	int pidfd;
	int report;
	int64_t deadline;
	child_done *done;
	struct reply_to to;
	struct sandbox *sandbox;
	char sandbox_id[ID_LENGTH + 1];
	struct peer peer;
	/* What the run functions need; the parent's memory is copied by fork. */
	const struct request *request;
	struct limits limits;
	unsigned changed;
};

/* A free slot, NULL when there are too many. */
struct child *child_new(struct helper *h);

/* Forks it. `run` gets a pipe for one record list. Returns 0 or -1 (the slot is free again). */
int child_start(struct helper *h, struct child *c, child_run *run, child_done *done, struct error *err);

/* Its report pipe is readable. */
void child_serve(struct helper *h, int index);

/* Kills those past their deadline; returns the next deadline. */
int64_t children_expire(struct helper *h, int64_t now);

/* Collects exit statuses. */
void children_reap(void);

/* In a child: everything that a program should not get from the daemon (signal mask, oom score, umask, session). */
void child_detach(struct helper *h);

/* In a child: writes an error as its report. */
void report_error(int report, const struct error *err);

/* ---- spawn.c: limits and launchers in children ---- */

/* Finishes a create whose io_path is known or not wanted: groups, limits, registry. Answers. */
void create_finish(struct helper *h, const struct reply_to *to, struct sandbox *s);

/* Answers a create. */
void answer_created(struct helper *h, const struct reply_to *to, const struct sandbox *s);

/* ---- waits.c: answers that wait for a group to become empty, frozen or gone ---- */

enum wait_kind { WAIT_FROZEN, WAIT_THAWED, WAIT_AGENT_EMPTY, WAIT_ALL_EMPTY, WAIT_REMOVED };

struct wait {
	bool used;
	enum wait_kind kind;
	struct reply_to to;
	struct sandbox *sandbox;
	int64_t deadline, retry_at;
	struct error failure; /* what is answered in the end, when it is known to be one */
};

/* Answers at once if it is so already, else later. */
enum outcome wait_for(struct helper *h, const struct request *rq, struct sandbox *s, enum wait_kind kind, struct error *err);

/* Answers the failure when the sandbox is empty again, so that the client can try anew at once. */
void wait_and_fail(struct helper *h, const struct reply_to *to, struct sandbox *s, const struct error *failure);

/* Looks at the waits of a sandbox again (NULL: at those that are due); returns when the next is due. */
int64_t waits_check(struct helper *h, struct sandbox *s, int64_t now);

/* ---- watch.c: what the kernel tells about groups ---- */

enum watch_kind { WATCH_SANDBOX, WATCH_AGENT, WATCH_PIDS, WATCH_MEMORY };

/* Opens the inotify instance. Returns 0 or -1. */
int watch_open(struct helper *h, struct error *err);

/* Starts and ends watching a sandbox's groups. */
void watch_add(struct helper *h, struct sandbox *s);
void watch_remove(struct helper *h, struct sandbox *s);

/* inotify has something; the OOM eventfd of sandbox `index` has something. */
void watch_serve(struct helper *h);
void watch_oom(struct helper *h, int index);

/* Rechecks after an OOM notice: it comes before the kill. Returns when to look again. */
int64_t watch_expire(struct helper *h, int64_t now);

/* ---- reconcile.c: what is recorded against what is there ---- */

/* At start: adopts, finishes removals, kills and removes strays below the helper's own group. */
void reconcile(struct helper *h);

/* ---- seccomp.c ---- */

/* Builds the agents' filter once. Returns 0 or -1. */
int seccomp_build(struct sock_fprog *out, struct error *err);

/* Loads it into the calling process. Returns 0 or -1. */
int seccomp_enter(const struct sock_fprog *filter, struct error *err);

/* NULL when Landlock can keep an agent from the abstract sockets outside its sandbox, else the reason why not. */
const char *landlock_missing(void);

/* Does so, where it can be. Returns 0 or -1. */
int landlock_enter(struct error *err);

/* ---- launcher.c: the child of a spawn, until it is the keeper ---- */

child_run launch;

/* ---- namespaces.c: the init child, from clone to exec ---- */

struct launch {
	struct helper *h;
	const struct records *spec;
	const struct sandbox *sandbox;
	const struct peer *peer;
	int agent_procs[CTL_COUNT + 1]; /* cgroup.procs of `agent` and `side`, one for each hierarchy */
	int side_procs[CTL_COUNT + 1];
	size_t procs_count;
	int init_program;
	int ctl;    /* the init's end */
	int failed; /* pipe for the error of the set-up; closed by a successful exec */
};

/* Runs in the new namespaces; returns only when something failed. */
int namespaces_enter(struct launch *l, struct error *err);

/* ---- mounts.c: mounts by descriptor, and what is mounted ---- */

/* Calls `seen` for each line of /proc/self/mountinfo until it returns non-zero; returns that, or -1 when the file cannot be read. */
struct mount_line {
	char *mountpoint, *type, *options;
};
int mountinfo_each(int (*seen)(void *context, const struct mount_line *line), void *context);

struct mount_option {
	const char *key, *value;
};

/* Clones the one mount that holds `path` (no submounts) with the attributes added. Returns a descriptor or -1. */
int mount_clone(int dir, const char *path, uint64_t attributes);

/* A new file system instance. `options` ends with a NULL key. Returns a descriptor or -1. */
int mount_new(const char *type, const struct mount_option *options, uint64_t attributes);

/* Puts a detached mount on a directory or file. Returns 0 or -1. */
int mount_put(int mount, int target);

/* Opens a path of a root under construction: links are resolved inside it, magic links not at all. Returns O_PATH or -1. */
int open_in_root(int root, const char *path);

/* As a function of the error: names the file system and the place. */
int mount_failed(const char *where, struct error *err);

/* Identity of the mount that a descriptor is in; 0 when unknown. */
uint64_t mount_id(int fd);

/* ---- base.c: the part of a sandbox's file tree that is the same for all ---- */

struct base_options {
	uint64_t tmp_size, shm_size;
	gid_t tty_gid;
	bool cgroup2; /* which kind is shown, read-only, at /sys/fs/cgroup */
	const char *staging;    /* an empty directory of the helper's */
	const char *socket_dir; /* hidden */
};

/* Builds it on the staging directory. Returns a descriptor of the new root or -1. */
int base_build(const struct base_options *options, struct error *err);

/* Makes the new root the root, and lets the old one go. Returns 0 or -1. */
int base_enter(int root, struct error *err);

/* ---- client-mounts.c: the mounts a client asked for ---- */

enum mount_kind { MOUNT_KIND_RO, MOUNT_KIND_RW, MOUNT_KIND_TMPFS };

struct client_mount {
	enum mount_kind kind;
	const char *src, *dst;
	uint64_t size;
	int source;  /* the opened src */
	uint64_t id; /* of the mount once it is made */
};

struct client_mounts {
	size_t count;
	struct client_mount at[MAX_MOUNTS];
};

/* Reads the list of a spawn request. Returns 0 or -1. */
int client_mounts_parse(const struct records *spec, struct client_mounts *out, struct error *err);

/* Opens every `src` with the peer's rights. `socket_dir` may not be reached through any. Returns 0 or -1. */
int client_mounts_open(struct client_mounts *list, const struct peer *peer, const struct config *config, const char *socket_dir,
		       struct error *err);

/* Makes them in the new root, in order. Returns 0 or -1. */
int client_mounts_make(struct client_mounts *list, int root, const char *staging, uid_t agent_uid, gid_t agent_gid,
		       struct error *err);

/* True for an absolute path without empty, "." and ".." components. */
bool plain_path(const char *path);

/* ---- drop.c: identities ---- */

/* Effective identity of somebody else, all effective capabilities gone; and back. Returns 0 or -1. */
int become(uid_t uid, gid_t gid, const gid_t *groups, size_t count);
int become_root(void);

/* For good: the peer. For good: the agent, without capabilities, keyrings, core dumps. Return 0 or -1. */
int drop_to_peer(const struct peer *peer, struct error *err);
int drop_to_agent(uid_t uid, gid_t gid, struct error *err);

/* ---- check.c: is it so? ---- */

/* In the init child, just before exec. Returns 0, or -1 with the item's name. */
int check_sandbox(const struct launch *l, const struct config *config, const int *kept, size_t kept_count, struct error *err);

/* Membership in the `side` groups, looked up before the cgroup namespace hides it. */
int check_groups(const struct launch *l, struct error *err);

/* ---- helper.c ---- */

enum epoll_kind { EPOLL_LISTEN, EPOLL_SIGNAL, EPOLL_INOTIFY, EPOLL_CONNECTION, EPOLL_CHILD, EPOLL_OOM };

struct helper {
	struct config config;
	struct cgroups cgroups;
	struct registry registry;
	struct sock_fprog filter;
	int epoll, listener, signals, inotify;
	bool own_socket; /* made here, not by systemd */
	bool stop;
	bool oom_lowered;
	unsigned long files_limit, files_limit_max; /* as they were; children get them back */
	char socket_dir[108];
	char staging[300];
	const char *spawn_missing; /* NULL: sandboxes can be spawned */
	struct record_writer writer;
	struct records parsed;
	char answer[4 + FRAME_MAX];
	struct connection connections[MAX_CONNECTIONS];
	struct child children[MAX_CHILDREN];
	struct wait waits[MAX_WAITS];
};

/* Adds a descriptor to the loop. Returns 0 or -1. */
int loop_add(struct helper *h, int fd, enum epoll_kind kind, int index, uint32_t events);

/* Changes what the loop waits for on it. */
void loop_change(struct helper *h, int fd, enum epoll_kind kind, int index, uint32_t events);

/* One line on stderr (the journal). */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
