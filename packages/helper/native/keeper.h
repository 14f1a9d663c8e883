/*
 * drover-keeper: holds one attempt's output, deadline and exit record, outside every limit and below no other process of Drover.
 *
 *   keeper.c          start, event loop, clocks
 *   keeper-spec.c     what it was asked to run
 *   keeper-port.c     descriptors in the epoll set
 *   keeper-log.c      output to disk, before anybody reads it
 *   keeper-exit.c     the exit record
 *   keeper-init.c     the channel to init
 *   keeper-job0.c     the agent's life, from its start to the end of settling
 *   keeper-client.c   its socket: connections, frames
 *   keeper-ops.c      its socket: requests
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
/* The slots that lasting connections (watch, attach, exec) may not take: a status is always answered. */
#define CLIENTS_RESERVED 6
#define FRAME_HEADER 5u
#define CHUNK 16384u
#define NEVER UINT64_MAX

enum source { SRC_CTL, SRC_SIGNALS, SRC_LISTEN, SRC_OUT, SRC_ERR, SRC_CLIENT, SRC_JOB_IN, SRC_JOB_OUT, SRC_JOB_ERR };

/* A descriptor that can wait in the epoll set. */
struct port {
	int fd; /* -1: closed */
	bool in_set;
	uint32_t events;
	uint32_t serial; /* tells an event of an earlier descriptor in the same place from one of this */
	uint8_t source, index;
};

/* One stream of job 0, on its way to disk. */
struct output {
	struct port port; /* pipe, or the terminal's master */
	int log;          /* opened for reading too: viewers are served from it; -1: no such stream */
	uint64_t bytes;
	uint64_t dropped; /* past log_max */
	size_t pending;   /* bytes in buf that the disk would not take yet */
	size_t pending_at;
	uint64_t retry_at; /* NEVER, or when to try the disk again: the stream stands still till then */
	uint64_t retry_ms;
	uint64_t stalled_since;
	int error; /* why the disk took nothing */
	char buf[65536];
};

enum client_kind { CLIENT_NEW, CLIENT_PLAIN, CLIENT_WATCH, CLIENT_ATTACH, CLIENT_EXEC, CLIENT_END };

/* One more command in the sandbox, run for one client. */
struct exec {
	uint64_t job;
	struct port in, out, err;
	bool started, ended;
	bool err_next;        /* whose turn it is: neither stream starves the other */
	bool kill_unsent;     /* its client is gone and init did not listen; keeps the slot */
	size_t owed[2];       /* bytes that stood in its pipes when it ended: its own, sent whatever time that takes */
	uint64_t deadline;    /* NEVER, or when it is killed */
	uint64_t drain_until; /* NEVER, or how long a left-over process may still hold its output open */
	char end_record[256];
	size_t end_len;
};

struct client {
	struct port port; /* fd -1: free */
	enum client_kind kind;
	bool closing;     /* its last frame stands in `out` */
	bool lingering;   /* all is said; it has the time till `until` to read it and go */
	bool tell_exit;   /* wants V event=exit once */
	bool tell_resize; /* wants V event=resize */
	bool writable;    /* attach rw */
	bool from_log;    /* attach: reads the log from `offset` on */
	bool in_waits;    /* an I frame waits for room in a pipe or the terminal */
	uint64_t until;   /* NEVER, or when it is dropped */
	uint64_t offset;
	size_t in_at, in_len; /* frames in `in` that were not handled yet */
	size_t in_done;       /* bytes of the first frame's payload already passed on */
	size_t out_at, out_len;
	struct exec exec;
	char in[4 + 1 + FRAME_MAX];
	char out[FRAME_HEADER + CHUNK];
};

/*
 * STARTING  init gets ready, job 0 is asked for
 * RUNNING   job 0 runs, perhaps asked to stop
 * KILLING   job 0 has ended, what it left behind is ended
 * DRAINING  no process is left; the rest of the output goes to disk, then the record
 * SETTLING  the record stands; commands may still be run
 * LEAVING   init is told to end; this process follows it
 */
enum state { STARTING, RUNNING, KILLING, DRAINING, SETTLING, LEAVING };

struct spec {
	const char *dir, *cwd, *stdin_path;
	bool tty, merge;
	unsigned rows, cols;
	uint64_t deadline_ms, grace_ms, settle_ms, log_max;
};

struct keeper {
	enum state state;
	int epoll, report, oom, dir;
	struct port ctl, signals, listener;
	pid_t init, job0;
	bool init_gone; /* its channel is closed: what is left of it and below it has to be ended here */
	struct spec spec;
	struct output out, err;
	/* monotonic milliseconds; NEVER where there is none */
	uint64_t run_since, ran, start_by, kill_at, reap_at, killing_since, drain_until, drain_end, record_at, settle_at;
	bool paused, stopping, expired, stop_asked, leave_after;
	uint64_t started_wall_ms, ended_wall_ms, stalled_ms;
	/* job 0's end, as init told it */
	bool ended;
	int64_t code, signal; /* -1: not so */
	uint64_t utime_us, stime_us, maxrss_kb;
	uint64_t next_job;
	char exit_fields[1024]; /* the record as it stands on disk, as records */
	size_t exit_len;
	struct client clients[CLIENTS_MAX];
};

extern struct keeper keeper;

/* keeper.c */
uint64_t now_ms(void);
uint64_t wall_ms(void);
/* Tells the starter that it did not work, and ends this process with 1. */
_Noreturn void fail_start(const char *code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void report_started(void);
/* Answers who asked for the end, removes the socket and ends this process. */
_Noreturn void leave(int status);

/* keeper-spec.c: reads and checks the spec from `fd`; fails the start when it is wrong. */
void read_spec(int fd);
extern struct records spec_records;

/* keeper-port.c */
void port_set(struct port *p, int fd, enum source source, size_t index);
/* Waits for `events`; 0: for a hang-up only. Returns 0, or -1 with errno. */
int port_arm(struct port *p, uint32_t events);
/* Takes it out of the set: a member reports its hang-up for ever, whatever it waits for. */
void port_rest(struct port *p);
void port_close(struct port *p);
/* The port an event belongs to; NULL when that one was closed meanwhile. */
struct port *port_of(uint64_t key);

/* keeper-log.c */
void open_logs(void);
void output_open(struct output *out, int fd);
/* Waits for what can be done now: reading it, and, for a terminal, writing to it. */
void output_arm(struct output *out);
void output_ready(struct output *out, uint32_t events);
void output_retry(struct output *out, uint64_t now);
bool output_stalled(const struct output *out);
/* Gives up what the disk would not take and what was not read; both are counted. */
void output_give_up(struct output *out);
bool output_drained(const struct output *out);
void output_close(struct output *out);

/* keeper-exit.c: makes the record's fields, then writes it; returns 0, or -1 with errno. */
int write_exit_record(void);

/* keeper-init.c */
void start_basic_init(void);
void init_message(void);
/* Asks init for a job; descriptors are the job's 0, 1, 2 (a terminal's: 0 alone, or none). Returns 0, or -1 with errno. */
int ask_run(uint64_t job, const struct records *request, const char *cwd, const char *group, const int *fds, size_t nfds);
/* Both return -1 with EAGAIN when init does not listen now. */
int ask_signal(uint64_t job, int number);
int ask_killall(void);

/* keeper-job0.c */
/* From now on the start may take its time, and no longer. */
void job0_expect(void);
void job0_start(void);
void job0_started(pid_t inner, int *fds, size_t *nfds);
void job0_ended(const struct records *facts);
void job0_all_killed(void);
/* Bytes came: the end of its output is waited for anew. */
void job0_output_came(void);
void job0_stop(uint64_t grace_ms);
void job0_pause(bool paused);
/* Milliseconds that it ran, pauses left out. */
uint64_t job0_run_time(void);
uint64_t job0_deadline(void);
void job0_timers(uint64_t now);
void init_lost(void);
void child_ended(void);
/* Init is told to end what is left; this process follows it. */
void begin_leaving(void);

/* keeper-client.c */
void open_socket(void);
void accept_clients(void);
void client_event(struct client *c, uint32_t events);
void client_drop(struct client *c);
/* Moves a client as far as it goes, then waits for the right events. */
void client_update(struct client *c);
/* A pipe has room again: goes on with the frame that waits. */
void client_resume_input(struct client *c);
/* Every client whose input waits for the terminal. */
void resume_terminal_input(void);
bool terminal_input_waits(void);
/* New bytes in stdout.log, a new size, or the record: whoever waits for it is served. */
void serve_viewers(void);
uint64_t clients_deadline(void);
void clients_timers(uint64_t now);
/* Puts a frame into the client's buffer (payload NULL: it lies there already); false when the one before it was not sent yet. */
bool queue_frame(struct client *c, char type, const char *payload, size_t len);
void queue_records(struct client *c, char type, const struct record_writer *w);
void answer_ok(struct client *c);
void answer_error(struct client *c, const char *code, const char *text);
size_t client_index(const struct client *c);

/* keeper-ops.c */
void handle_request(struct client *c, const char *payload, size_t len);

/* keeper-exec.c */
void exec_begin(struct client *c, const struct records *request);
void exec_event(struct client *c, enum source source);
void exec_started(uint64_t job);
void exec_not_started(uint64_t job, const char *message);
void exec_ended(uint64_t job, const struct records *facts);
uint64_t exec_deadline(const struct client *c);
void exec_timers(struct client *c, uint64_t now);
/* The next piece of output, or the end, into the client's empty buffer. */
void exec_pump(struct client *c);
void exec_arm(struct client *c);
/* Takes bytes of an I frame, none: the end. Returns how many (0: its pipe is full), -1 when it does not read any more. */
ssize_t exec_input(struct client *c, const char *bytes, size_t len);
void exec_close(struct client *c);

/* supervise.c */
int supervise(int argc, char **argv);

#endif
