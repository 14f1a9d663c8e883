/*
 * drover-keeper: holds one attempt's output, deadline and exit record, outside every limit and below no other process of Drover.
 *
 *   keeper.c          start, event loop, clocks
 *   keeper-spec.c     what it was asked to run
 *   keeper-log.c      output to disk, before anybody reads it
 *   keeper-exit.c     the exit record
 *   keeper-init.c     the channel to init, job 0's life
 *   keeper-serve.c    its socket: frames, requests
 *   keeper-exec.c     one more command in the sandbox
 *   supervise.c       the other mode: starts a program again after a crash
 *
 * One thread, one epoll set, fixed buffers. A viewer is served from the log file by offset, so a slow one holds nothing up.
 */
#ifndef DROVER_KEEPER_H
#define DROVER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "records.h"

#define CLIENTS_MAX 32
#define CHUNK 16384u
#define NEVER UINT64_MAX
/* The source of an epoll event: kind in the upper half, client index in the lower. */
enum source { SRC_CTL = 1, SRC_SIGNALS, SRC_LISTEN, SRC_OUT, SRC_ERR, SRC_CLIENT, SRC_JOB_IN, SRC_JOB_OUT, SRC_JOB_ERR };

struct output {
	int source; /* pipe or pty master; -1 when closed */
	int log;    /* opened for reading too: viewers are served from it */
	uint64_t bytes;
	uint64_t dropped; /* past log_max */
	size_t pending;   /* bytes in buf that the disk would not take yet */
	size_t pending_at;
	uint64_t retry_at; /* NEVER, or when to try the disk again */
	char buf[65536];
};

enum client_kind { CLIENT_NEW, CLIENT_PLAIN, CLIENT_WATCH, CLIENT_ATTACH, CLIENT_EXEC, CLIENT_END };

/* One more command in the sandbox, run for one client. */
struct exec {
	uint64_t job;
	int in, out, err; /* the keeper's ends; -1 when closed */
	int theirs[3];    /* the job's ends, until it has started */
	bool started, ended, queued_end;
	uint64_t deadline;   /* NEVER, or when it is killed */
	uint64_t drain_until; /* after its end: how long a left-over process may hold its output open */
	char end_record[256];
	size_t end_len;
};

struct client {
	int fd; /* -1: free */
	enum client_kind kind;
	bool closing;   /* nothing more to say once its output is sent */
	uint64_t linger_until; /* NEVER, or when it goes although the peer has not left */
	bool tell_exit; /* wants V event=exit once */
	bool writable;  /* attach rw */
	bool from_log;  /* attach: reads the log from `offset` on */
	uint64_t offset;
	uint32_t interest;
	size_t in_len, in_done; /* bytes of a frame so far; of an I frame's payload already written on */
	size_t out_len, out_at;
	struct exec exec;
	char in[4 + 1 + FRAME_MAX];
	char out[5 + CHUNK];
};

enum state { STARTING, RUNNING, STOPPING, DRAINING, SETTLING };

struct spec {
	const char *dir, *cwd, *stdin_path;
	bool tty, merge;
	unsigned rows, cols;
	uint64_t deadline_ms, grace_ms, settle_ms, log_max;
};

struct keeper {
	enum state state;
	int epoll, signals, ctl, listener, report, oom, dir;
	pid_t init, job0;
	bool init_gone, told_ready;
	struct spec spec;
	struct output out, err;
	/* monotonic milliseconds */
	uint64_t started, run_since, ran, kill_at, settle_at, drain_until;
	bool paused, expired, stop_asked, killing;
	uint64_t started_wall_ms, ended_wall_ms;
	/* job 0's end, as init told it */
	bool ended;
	int64_t code, signal;
	uint64_t utime_us, stime_us, maxrss_kb;
	uint64_t next_job;
	struct client clients[CLIENTS_MAX];
};

extern struct keeper keeper;

/* keeper.c */
uint64_t now_ms(void);
uint64_t wall_ms(void);
/* Milliseconds that job 0 ran, pauses left out. */
uint64_t run_time(void);
int watch_fd(int fd, uint32_t events, enum source source, size_t index);
int change_fd(int fd, uint32_t events, enum source source, size_t index);
void unwatch_fd(int fd);
/* Tells the starter that it did not work, and ends this process with 1. */
_Noreturn void fail_start(const char *code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_started(void);
/* Removes the socket and ends this process. */
_Noreturn void leave(int status);

/* keeper-spec.c: reads and checks the spec from `fd`; fails the start when it is wrong. */
void read_spec(int fd);
extern struct records spec_records;

/* keeper-log.c */
void open_logs(void);
void output_ready(struct output *out);
void output_retry(struct output *out, uint64_t now);
bool output_drained(const struct output *out);
void output_close(struct output *out);

/* keeper-exit.c: writes the record; returns 0, or -1 with errno. */
int write_exit_record(void);
/* The same fields as records, for events. */
void put_exit(struct record_writer *w);
const char *exit_cause(void);

/* keeper-init.c */
void start_basic_init(void);
void init_message(void);
void init_reaped(void);
void stop_job0(uint64_t grace_ms);
void job0_timers(uint64_t now);
uint64_t job0_deadline(void);
/* Asks init for a job; descriptors are the job's 0, 1, 2. Returns 0, or -1 with errno. */
int ask_run(uint64_t job, const struct records *request, const char *cwd, const char *group, const int fds[3]);
void ask_signal(uint64_t job, int number);
/* After all output is on disk: the record, the state, the news. */
void finish_job0_if_drained(uint64_t now);

/* keeper-serve.c */
void open_socket(void);
void accept_client(void);
void client_event(size_t index, uint32_t events);
void client_drop(struct client *c);
uint64_t linger_deadline(void);
void linger_timers(uint64_t now);
void client_update(struct client *c);
void client_resume_input(struct client *c);
/* New bytes in stdout.log, or job 0's end: whoever waits for it is served. */
void serve_viewers(void);
void tell_exit(void);
void answer_error(struct client *c, const char *code, const char *message);
bool queue_frame(struct client *c, char type, const char *payload, size_t len);
size_t client_index(const struct client *c);

/* keeper-exec.c */
void exec_begin(struct client *c, const struct records *request);
void exec_event(size_t index, enum source source);
void exec_started(uint64_t job);
void exec_not_started(uint64_t job, const char *message);
void exec_ended(uint64_t job, const struct records *facts);
void exec_timers(uint64_t now);
uint64_t exec_deadline(void);
void exec_pump(struct client *c);
/* Takes bytes of an I frame; returns how many (0: its pipe is full), -1 when it does not read any more. */
ssize_t exec_input(struct client *c, const char *bytes, size_t len);
void exec_close(struct client *c);

/* supervise.c */
int supervise(int argc, char **argv);

#endif
