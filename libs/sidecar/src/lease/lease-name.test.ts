import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { leaseIdentity, leaseName, leaseNamespace } from './lease-name.ts'

test.each([
  ['external-attacher-leader-', 'hostpath.csi.k8s.io', 'external-attacher-leader-hostpath-csi-k8s-io'],
  ['external-resizer-', 'ebs.csi.aws.com', 'external-resizer-ebs-csi-aws-com'],
  ['external-resizer-', 'a_B/9', 'external-resizer-a-B-9'],
  ['external-resizer-', 'driver.', 'external-resizer-driver-X'],
  ['external-resizer-', '\u{1f600}', 'external-resizer--X'],
])('%s for %s is %s', (prefix, driver, name) => {
  expect(leaseName(prefix, driver)).toBe(name)
})

test('the identity is the sanitised host name', () => {
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
  ])('equals the namespace of %s', async (_source, flag, env, there, expected) => {
    expect(await leaseNamespace({ flag, env, file: there ? file : join(folder, 'none') })).toBe(expected)
  })
})
