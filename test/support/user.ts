import { execa } from 'execa';

/** An ordinary user, made for one test and removed after it. */
export interface TestUser {
  name: string;
  uid: number;
  gid: number;
  remove(): Promise<void>;
}

export async function createUser(name: string, home: string): Promise<TestUser> {
  await execa('useradd', ['--no-create-home', '--home-dir', home, '--shell', '/bin/bash', '--user-group', name]);
  const uid = Number((await execa('id', ['-u', name])).stdout);
  const gid = Number((await execa('id', ['-g', name])).stdout);
  return { name, uid, gid, remove: () => execa('userdel', [name]).then(() => undefined) };
}
