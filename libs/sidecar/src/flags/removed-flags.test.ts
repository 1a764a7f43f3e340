import { expect, it } from '@jest/globals'
import { replaceRemovedFlags } from './removed-flags.ts'

const read = (line: string): string => replaceRemovedFlags(line.split(' ')).args.join(' ')
const warned = (line: string) => replaceRemovedFlags(line.split(' ')).notices.map(({ pairs }) => pairs)

it.each([
  ['--v=5 --csiTimeout=2m5s --leader-election', '--v=5 --timeout=2m5s --leader-election'],
  ['-csiTimeout 2m5s -v 5', '--timeout 2m5s -v 5'],
  ['--enable-leader-election --v=5', '--leader-election --v=5'],
  ['--enable-leader-election=false', '--leader-election=false'],
  ['--leader-election-type=leases --v=5', '--v=5'],
  ['--leader-election-type leases --v=5', '--v=5'],
  ['--enable-volume-group-snapshots=false --v=5', '--v=5'],
  ['--enable-volume-group-snapshots --v=5', '--v=5'],
  ['--snapshotter csi.example.com --connection-timeout=15s --v=5', '--v=5'],
  ['--provisioner=csi.example.com --provisioning-retry-count 3 --deletion-retry-count=3 --v=5', '--v=5'],
  ['--timeout=1m --constructor=x -- --v', '--timeout=1m --constructor=x -- --v'],
])('the command line %s with a removed flag is read as %s', (commandLine, present) => {
  expect(read(commandLine)).toBe(present)
})

it('each removed flag on the command line causes a warning, and other flags cause none', () => {
  expect(warned('--csiTimeout=1m --leader-election-type=leases --v=5')).toEqual([
    { flag: 'csiTimeout', readAs: 'timeout' },
    { flag: 'leader-election-type' },
  ])
})
