import { sql } from 'kysely';
import type { EVENT_KINDS, FleetEvent } from '../api/contract.ts';
import { Database } from './database.ts';
import type { AttemptRow, PlanRow, RepositoryRow, TaskRow } from './schema.ts';

export type Plan = Omit<PlanRow, 'id'> & { id: number };
export type Task = Omit<TaskRow, 'id'> & { id: number };
export type Attempt = AttemptRow;
export type EventKind = (typeof EVENT_KINDS)[number];

/** A task with what names it. */
export type TaskWithPlan = Task & { plan_name: string; repository: string };

/** Typed reading and writing of the engine's records. Every method is one synchronous step. */
export class Store {
  readonly #db: Database;

  constructor(path: string) {
    this.#db = new Database(path);
  }

  close(): void {
    this.#db.close();
  }

  transaction<T>(work: () => T): T {
    return this.#db.transaction(work);
  }

  // -- repositories and plans

  saveRepository(row: RepositoryRow): void {
    this.#db.run(
      this.#db.query
        .insertInto('repositories')
        .values(row)
        .onConflict((on) => on.column('key').doUpdateSet(row)),
    );
  }

  repository(key: string): RepositoryRow | undefined {
    return this.#db.first(this.#db.query.selectFrom('repositories').selectAll().where('key', '=', key));
  }

  repositories(): RepositoryRow[] {
    return this.#db.all(this.#db.query.selectFrom('repositories').selectAll());
  }

  plan(id: number): Plan | undefined {
    return this.#db.first(this.#db.query.selectFrom('plans').selectAll().where('id', '=', id));
  }

  planNamed(repository: string, name: string): Plan | undefined {
    return this.#db.first(
      this.#db.query.selectFrom('plans').selectAll().where('repository', '=', repository).where('name', '=', name),
    );
  }

  plans(): Plan[] {
    return this.#db.all(this.#db.query.selectFrom('plans').selectAll().orderBy('id'));
  }

  insertPlan(row: Omit<Plan, 'id'>): number {
    return this.#db.run(this.#db.query.insertInto('plans').values(row)).id;
  }

  updatePlan(id: number, change: Partial<Omit<Plan, 'id'>>): void {
    this.#db.run(this.#db.query.updateTable('plans').set(change).where('id', '=', id));
  }

  deletePlan(id: number): void {
    this.#db.run(this.#db.query.deleteFrom('plans').where('id', '=', id));
  }

  // -- tasks

  insertTask(row: Omit<Task, 'id'>): number {
    return this.#db.run(this.#db.query.insertInto('tasks').values(row)).id;
  }

  updateTask(id: number, change: Partial<Omit<Task, 'id'>>): void {
    this.#db.run(this.#db.query.updateTable('tasks').set(change).where('id', '=', id));
  }

  deleteTask(id: number): void {
    this.#db.run(this.#db.query.deleteFrom('tasks').where('id', '=', id));
  }

  task(id: number): TaskWithPlan | undefined {
    return this.#db.first(this.#tasks().where('tasks.id', '=', id)) as TaskWithPlan | undefined;
  }

  tasksOfPlan(planId: number): TaskWithPlan[] {
    return this.#db.all(this.#tasks().where('plan_id', '=', planId).orderBy('position')) as TaskWithPlan[];
  }

  /** Tasks of plans that have not ended, and with `all` of the others too, oldest plan first. */
  tasks(filter: { plan?: string | undefined; all?: boolean | undefined } = {}): TaskWithPlan[] {
    let query = this.#tasks().orderBy('plan_id').orderBy('position');
    if (filter.plan !== undefined) query = query.where('plans.name', '=', filter.plan);
    else if (!filter.all) query = query.where('plans.ended_ms', 'is', null);
    return this.#db.all(query) as TaskWithPlan[];
  }

  /** How many tasks are not ended. */
  openTaskCount(): number {
    const row = this.#db.first(
      this.#db.query
        .selectFrom('tasks')
        .select(sql<number>`count(*)`.as('n'))
        .where('state', 'in', ['queued', 'active']),
    );
    return row?.n ?? 0;
  }

  #tasks() {
    return this.#db.query
      .selectFrom('tasks')
      .innerJoin('plans', 'plans.id', 'tasks.plan_id')
      .selectAll('tasks')
      .select(['plans.name as plan_name', 'plans.repository as repository']);
  }

  // -- attempts

  insertAttempt(row: Attempt): void {
    this.#db.run(this.#db.query.insertInto('attempts').values(row));
  }

  updateAttempt(id: string, change: Partial<Attempt>): void {
    this.#db.run(this.#db.query.updateTable('attempts').set(change).where('id', '=', id));
  }

  attempt(id: string): Attempt | undefined {
    return this.#db.first(this.#db.query.selectFrom('attempts').selectAll().where('id', '=', id));
  }

  /** Attempts of a task, first one first. */
  attemptsOf(taskId: number): Attempt[] {
    return this.#db.all(
      this.#db.query.selectFrom('attempts').selectAll().where('task_id', '=', taskId).orderBy('number'),
    );
  }

  openAttempts(): Attempt[] {
    return this.#db.all(this.#db.query.selectFrom('attempts').selectAll().where('state', '<>', 'ended').orderBy('id'));
  }

  // -- events

  addEvent(event: Omit<FleetEvent, 'seq'>): number {
    return this.#db.run(
      this.#db.query.insertInto('events').values({
        at_ms: event.atMs,
        kind: event.kind,
        ref: event.ref,
        plan: event.plan,
        text: event.text,
        data_json: JSON.stringify(event.data),
      }),
    ).id;
  }

  /** At most `limit` events after `seq`, oldest first. */
  eventsAfter(seq: number, limit: number, plan?: string): FleetEvent[] {
    let query = this.#db.query.selectFrom('events').selectAll().where('seq', '>', seq).orderBy('seq').limit(limit);
    if (plan !== undefined) query = query.where((q) => q.or([q('plan', '=', plan), q('plan', 'is', null)]));
    return this.#db.all(query).map((row) => ({
      seq: row.seq,
      atMs: row.at_ms,
      kind: row.kind as EventKind,
      ref: row.ref,
      plan: row.plan,
      text: row.text,
      data: JSON.parse(row.data_json) as Record<string, unknown>,
    }));
  }

  lastEventSeq(): number {
    const row = this.#db.first(this.#db.query.selectFrom('events').select(sql<number>`max(seq)`.as('seq')));
    return row?.seq ?? 0;
  }

  /** Forgets all but the newest `keep` events. */
  trimEvents(keep: number): void {
    this.#db.run(this.#db.query.deleteFrom('events').where('seq', '<=', this.lastEventSeq() - keep));
  }
}
