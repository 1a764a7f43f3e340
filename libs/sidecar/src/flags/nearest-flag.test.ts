import { expect, test } from '@jest/globals'
import { nearestFlag } from './nearest-flag.ts'
import { STANDARD_FLAGS } from './standard-flags.ts'

const NAMES = [...STANDARD_FLAGS.map(({ name }) => name), 'workers', 'resync', 'resync-period']

test.each([
  ['csi-addr', 'csi-address'],
  ['csi_address', 'csi-address'],
  ['csi-adress', 'csi-address'],
  ['leader-elect', 'leader-election'],
  ['leaderelection', 'leader-election'],
  ['Timeout', undefined],
  ['kube-api-QPS', 'kube-api-qps'],
  ['worker', 'workers'],
  ['wrokers', 'workers'],
  ['resyncs', 'resync'],
  ['v5', 'v'],
  ['verbosity', undefined],
  ['x', undefined],
  ['nope', undefined],
  ['logtostderr', undefined],
  ['', undefined],
])('the known flag that is nearest to the unknown flag %s is %s', (name, nearest) => {
  expect(nearestFlag(name, NAMES)).toBe(nearest)
})

test('a very long unknown flag gets no suggestion of a similar flag', () => {
  expect(nearestFlag('x'.repeat(100_000), NAMES)).toBeUndefined()
})
