import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type FlaggedApp, parseCombined } from '../flags/combined-flags.ts'
import { leaseIdentity, leaseName, leaseNamespace, singleLeaseError } from './lease-name.ts'

test.each([
  ['external-attacher-leader-', 'hostpath.csi.k8s.io', 'external-attacher-leader-hostpath-csi-k8s-io'],
  ['external-resizer-', 'ebs.csi.aws.com', 'external-resizer-ebs-csi-aws-com'],
  ['external-resizer-', 'a_B/9', 'external-resizer-a-B-9'],
  ['external-resizer-', 'driver.', 'external-resizer-driver-X'],
  ['external-resizer-', '\u{1f600}', 'external-resizer--X'],
])('the Lease with the prefix %s for the driver %s has the name %s', (prefix, driver, name) => {
  expect(leaseName(prefix, driver)).toBe(name)
})

test('the holder identity of the Lease is the sanitised host name', () => {
  expect(leaseIdentity('csi-attacher-0.local')).toBe('csi-attacher-0-local')
})

describe('the namespace', () => {
  let folder = ''
  let file = ''
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lease-'))
    file = join(folder, 'namespace')
    await writeFile(file, ' of-file\n')
  })
  afterAll(() => rm(folder, { recursive: true }))

  test.each([
    ['the flag', 'of-flag', { POD_NAMESPACE: 'of-pod' }, true, 'of-flag'],
    ['the pod', '', { POD_NAMESPACE: 'of-pod' }, true, 'of-pod'],
    ['the service account', '', { POD_NAMESPACE: '' }, true, 'of-file'],
    ['default', '', {}, false, 'default'],
  ])('the namespace of the Lease comes from %s', async (_source, flag, env, there, expected) => {
    expect(await leaseNamespace({ flag, env, file: there ? file : join(folder, 'none') })).toBe(expected)
  })
})

const APPS: readonly FlaggedApp[] = ['left', 'right'].map((prefix) => ({
  prefix,
  flags: [],
}))

function errorOf(line: string): string | undefined {
  const parsed = parseCombined({ byDefault: APPS }, line.split(' '))
  if (parsed.kind !== 'flags') throw new Error(JSON.stringify(parsed))
  return singleLeaseError(parsed.running, parsed.standard)
}

const NAME_RULE = 'a lowercase RFC 1123 subdomain, of at most 253 characters, is needed'
const SEPARATE_LEASE = 'is for a lease of its own, and -single-lease is one lease for all'

test.each([
  ['--leader-election --left-leader-election=false', undefined],
  ['--single-lease= --left-leader-election', undefined],
  ['--single-lease=both.of-1 --leader-election', undefined],
  ['--single-lease=both --leader-election --left-retry-interval-max=1m', undefined],
  ['--single-lease=both', 'flag -single-lease needs -leader-election'],
  ['--single-lease=A_b --leader-election', `invalid value "A_b" for flag -single-lease: ${NAME_RULE}`],
  [
    `--single-lease=${'a'.repeat(254)} --leader-election`,
    `invalid value "${'a'.repeat(254)}" for flag -single-lease: ${NAME_RULE}`,
  ],
  [
    '--single-lease=both --leader-election --right-leader-election=false',
    `flag -right-leader-election ${SEPARATE_LEASE}`,
  ],
  [
    '--single-lease=both --leader-election --left-leader-election-lease-duration=20s',
    `flag -left-leader-election-lease-duration ${SEPARATE_LEASE}`,
  ],
])('the flags %s for a single Lease cause the error: %j', (line, error) => {
  expect(errorOf(line)).toBe(error)
})
