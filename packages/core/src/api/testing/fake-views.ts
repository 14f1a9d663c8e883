import type { TaskDetail, TaskView } from '../contract.ts';

/** A queued task without figures. `ref` is `plan/task`. */
export function fakeTask(ref: string): TaskView {
  const [plan = 'solo', task = ref] = ref.split('/');
  return {
    ref,
    plan,
    task,
    repository: '/repo',
    type: 'default',
    class: 'batch',
    priority: 50,
    agent: 'command',
    model: null,
    level: 'enhanced',
    state: 'queued',
    attemptState: null,
    outcome: null,
    reason: 'Waits for a free slot.',
    dependsOn: [],
    attempts: 0,
    submittedMs: 1_700_000_000_000,
    startedMs: null,
    endedMs: null,
    elapsedMs: 0,
    cpuMs: null,
    memoryBytes: null,
    memoryPeakBytes: null,
    memoryLimitBytes: null,
    pids: null,
    commits: null,
    branch: null,
    result: null,
    usage: {},
    activity: null,
  };
}

/** The same with the fields of a detail, empty. */
export function fakeDetail(view: TaskView): TaskDetail {
  return { ...view, prompt: null, command: ['true'], verify: null, limits: {}, history: [] };
}
