import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { logRenderer } from '../render.ts';

it('tells a run as people would', () => {
  const renderer = logRenderer('claude-stream-json');
  const bytes = readFileSync(new URL('./fixtures/ok-commit.jsonl', import.meta.url));
  const lines = [...renderer.push(bytes.subarray(0, 3000)), ...renderer.push(bytes.subarray(3000)), ...renderer.end()];
  expect(lines.map(({ kind, text }) => `${kind}: ${text}`).slice(0, -1)).toEqual([
    'note: session 00000000-0000-4000-8000-000000000001, claude-opus-5-5, claude 2.1.332',
    'text: I will write the file.',
    'tool: Write /home/me/worktree/hello.txt',
    expect.stringMatching(/^result: File created successfully/),
    'tool: Bash: git add hello.txt && git commit -qm "Add hello" && git log --oneline | wc -l',
    'result: 1',
    'text: Added hello.txt and committed it.',
  ]);
  expect(lines.at(-1)).toMatchObject({
    kind: 'end',
    text: expect.stringMatching(/^finished \(3 turns, \d+ s, \$0\.\d\d\)$/),
  });
});
