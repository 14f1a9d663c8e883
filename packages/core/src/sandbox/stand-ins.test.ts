import { expect, test } from 'vitest';
import { standIns } from './stand-ins.ts';
import type { Mount } from './types.ts';

const points = [
  '/',
  '/usr',
  '/var',
  '/proc',
  '/run',
  '/tmp',
  '/home',
  '/home/sam/disk',
  '/var/lib',
  '/opt/big',
  '/data',
];
const rw = (dst: string): Mount => ({ kind: 'rw', src: '/src', dst });
const places = (...mounts: Mount[]) => standIns(mounts, points).map(({ dst }) => dst);

test('a file system of the host that a sandbox does not show gets a stand-in, the outermost one', () => {
  expect(places(rw('/home/sam'), rw('/home/sam/disk/repo'), rw('/var/lib/drover'))).toEqual(['/home', '/var/lib']);
});

test('none is needed for what is shown, at a mount point itself, or where the list makes the way', () => {
  expect(places(rw('/opt/big/x'), rw('/root/x'), rw('/tmp/x'), rw('/data'))).toEqual([]);
  expect(places({ kind: 'tmpfs', dst: '/data' }, rw('/data/repo'))).toEqual([]);
});
