import { deepStrictEqual as equal, ok } from 'node:assert'
import type { VolumeParts } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { ask, type BoundParts, bound, expands, GI, getVolume, grown, resized, scene } from './scene.ts'

const test = testsOf('resizer', 'resize')

const SIZES: readonly (readonly [asked: string, bytes: string, allocated: string, stored: string])[] = [
  ['2Gi', String(2 * GI), '2Gi', '2Gi'],
  ['1536Mi', String(1.5 * GI), '1536Mi', '1536Mi'],
  ['1.5Gi', String(1.5 * GI), '1536Mi', '1536Mi'],
  ['2G', '2000000000', '2G', '1953125Ki'],
  ['2000000001', '2000000001', '2000000001', '2000000001'],
  ['2e9', '2000000000', '2e9', '1953125Ki'],
  ['1Ti', String(1024 * GI), '1Ti', '1Ti'],
]

test('sizes: bytes to the driver, canonical forms in the objects', async (t) => {
  const at = await scene(t)
  for (const [index] of SIZES.entries()) await bound(t, { suffix: `-${index}` })
  for (const [index, [asked]] of SIZES.entries()) await ask(t, asked, t.name(`pvc-${index}`))
  for (const [index, [, bytes, allocated, stored]] of SIZES.entries()) {
    const claim = await resized(t, stored, t.name(`pvc-${index}`))
    equal(claim.status?.allocatedResources, { storage: allocated })
    equal((await getVolume(t, t.name(`pv-${index}`))).spec?.capacity, { storage: stored })
    const call = expands(at).find(({ request }) => request['volume_id'] === `${t.name(`pv-${index}`)}-handle`)
    equal(call?.request['capacity_range'], { required_bytes: bytes })
  }
})

interface RequestRow {
  readonly what: string
  readonly pv: VolumeParts
  readonly claim?: BoundParts['claim']
  readonly capable?: boolean
  readonly capability: object
}

const REQUESTS: readonly RequestRow[] = [
  {
    what: 'file system type and mount options',
    pv: { mountOptions: ['z', 'a'], csi: { fsType: 'xfs' } },
    capability: { mount: { fs_type: 'xfs', mount_flags: ['z', 'a'] }, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  },
  {
    what: 'a block volume',
    pv: { volumeMode: 'Block', mountOptions: ['ro'], csi: { fsType: 'xfs' } },
    claim: { volumeMode: 'Block' },
    capability: { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } },
  },
  {
    what: 'ReadWriteMany',
    pv: { accessModes: ['ReadWriteMany'] },
    claim: { accessModes: ['ReadWriteMany'] },
    capability: { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' } },
  },
  {
    what: 'ReadWriteOnce with SINGLE_NODE_MULTI_WRITER',
    pv: {},
    capable: true,
    capability: { mount: {}, access_mode: { mode: 'SINGLE_NODE_MULTI_WRITER' } },
  },
  {
    what: 'ReadWriteOncePod with SINGLE_NODE_MULTI_WRITER',
    pv: { accessModes: ['ReadWriteOncePod'] },
    claim: { accessModes: ['ReadWriteOncePod'] },
    capable: true,
    capability: { mount: {}, access_mode: { mode: 'SINGLE_NODE_SINGLE_WRITER' } },
  },
]

for (const { what, pv, claim = {}, capable = false, capability } of REQUESTS) {
  test(`the request carries ${what}`, async (t) => {
    const at = await scene(t, {
      controller: ['EXPAND_VOLUME', ...(capable ? ['SINGLE_NODE_MULTI_WRITER' as const] : [])],
    })
    await grown(t, { pv, claim })
    equal(expands(at)[0]?.request['volume_capability'], capability)
  })
}

test('the secret is read live and sent', async (t) => {
  const secretRef = await t.createSecret({ a: 'b' })
  const at = await scene(t)
  await grown(t, { pv: { csi: { controllerExpandSecretRef: secretRef } } })
  equal(expands(at)[0]?.request['secrets'], { a: 'b' })
  equal(at.resizer.gate.requestsOf('secrets').length, 1)
})

for (const [args, seconds] of [
  [[], 10],
  [['--resize-timeout=33s'], 33],
  [['--timeout=44s'], 44],
  [['--timeout=44s', '--resize-timeout=33s'], 44],
  [['--timeout=10s', '--resize-timeout=33s'], 10],
] as const) {
  test(`the deadline with ${args.join(' ') || 'no flag'} is ${seconds} s`, async (t) => {
    const at = await scene(t, { args })
    await grown(t)
    const { timeoutMs = 0 } = expands(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}
