import { afterEach, beforeEach, expect, it } from 'vitest';
import { makePlace, type Place } from '../../../../test/support/agent-place.ts';
import { agentEnvironment, keepVariables } from './environment.ts';

let place: Place;
beforeEach(() => {
  place = makePlace();
});
afterEach(() => place.remove());

it('keeps what is allowed by name or prefix, and nothing else', () => {
  const env = { PATH: '/bin', LC_ALL: 'C', AWS_SECRET_ACCESS_KEY: 'x', LCX: 'no', ANTHROPIC_API_KEY: 'k' };
  expect(keepVariables(env, ['PATH', 'LC_*'])).toEqual({ PATH: '/bin', LC_ALL: 'C' });
});

it('gives an agent no key of another', () => {
  const env = { PATH: '/bin', ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o', GITHUB_TOKEN: 'g', SSH_AUTH_SOCK: '/s' };
  const context = place.context({ env });
  expect(Object.keys(agentEnvironment(context, ['ANTHROPIC_*']))).toContain('ANTHROPIC_API_KEY');
  for (const name of ['OPENAI_API_KEY', 'GITHUB_TOKEN', 'SSH_AUTH_SOCK']) {
    expect(agentEnvironment(context, ['ANTHROPIC_*'])).not.toHaveProperty(name);
  }
  expect(agentEnvironment(context, [])).not.toHaveProperty('ANTHROPIC_API_KEY');
});

it('says where it is, whatever the task says', () => {
  const env = agentEnvironment(place.context({}, { env: { HOME: '/root', EXTRA: '1' } }), []);
  expect(env).toMatchObject({
    EXTRA: '1',
    HOME: place.userHome,
    TMPDIR: '/tmp',
    XDG_CONFIG_HOME: `${place.userHome}/.config`,
    DROVER_TASK: 'one',
    DROVER_PLAN: 'demo',
    DROVER_ATTEMPT: '2',
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'gc.auto',
    GIT_CONFIG_VALUE_1: 'false',
  });
});

it('has a temporary directory of its own where nothing is mounted', () => {
  const env = agentEnvironment(place.context({ homePath: place.homeDir }), []);
  expect(env.TMPDIR).toBe(`${place.homeDir}/tmp`);
});
