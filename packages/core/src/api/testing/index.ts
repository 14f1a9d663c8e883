export { FakeEngine } from './fake-engine.ts';
export { fakeDetail, fakeTask } from './fake-views.ts';
