import { deepStrictEqual as equal } from 'node:assert'
import type { VolumeParts } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { attach, attachAndWait, attached, scene, volumeCalls } from './scene.ts'

const test = testsOf('attacher', 'attach')

interface RequestRow {
  readonly what: string
  readonly pv: VolumeParts
  readonly args?: readonly string[]
  readonly capabilities?: readonly ('PUBLISH_READONLY' | 'SINGLE_NODE_MULTI_WRITER')[]
  /** The differences from the simplest request. */
  readonly request: Readonly<Record<string, unknown>>
}

const WRITER = { mode: 'SINGLE_NODE_WRITER' }
const REQUESTS: readonly RequestRow[] = [
  {
    what: 'file system type, mount options in order, and volume attributes',
    pv: { mountOptions: ['z', 'a'], csi: { fsType: 'xfs', volumeAttributes: { k: 'v', l: 'w' } } },
    request: {
      volume_capability: { mount: { fs_type: 'xfs', mount_flags: ['z', 'a'] }, access_mode: WRITER },
      volume_context: { k: 'v', l: 'w' },
    },
  },
  {
    what: '--default-fstype where the PV names none',
    pv: {},
    args: ['--default-fstype=ext4'],
    request: { volume_capability: { mount: { fs_type: 'ext4' }, access_mode: WRITER } },
  },
  {
    what: 'the file system type of the PV rather than --default-fstype',
    pv: { csi: { fsType: 'btrfs' } },
    args: ['--default-fstype=ext4'],
    request: { volume_capability: { mount: { fs_type: 'btrfs' }, access_mode: WRITER } },
  },
  {
    what: 'a block volume without file system type and mount options',
    pv: { volumeMode: 'Block', mountOptions: ['ro'], csi: { fsType: 'xfs' } },
    args: ['--default-fstype=ext4'],
    request: { volume_capability: { block: {}, access_mode: WRITER } },
  },
  { what: 'readOnly, not passed on without PUBLISH_READONLY', pv: { csi: { readOnly: true } }, request: {} },
  {
    what: 'readOnly with PUBLISH_READONLY',
    pv: { csi: { readOnly: true } },
    capabilities: ['PUBLISH_READONLY'],
    request: { readonly: true },
  },
  {
    what: 'a read-only access mode, which does not make the publish read-only',
    pv: { accessModes: ['ReadOnlyMany'], mountOptions: ['ro'] },
    capabilities: ['PUBLISH_READONLY'],
    request: { volume_capability: { mount: { mount_flags: ['ro'] }, access_mode: { mode: 'MULTI_NODE_READER_ONLY' } } },
  },
]

for (const { what, pv, args = [], capabilities = [], request } of REQUESTS) {
  test(`the request carries ${what}`, async (t) => {
    const { driver, node } = await scene(t, { args, controller: ['PUBLISH_UNPUBLISH_VOLUME', ...capabilities] })
    const names = await attachAndWait(t, { node }, { pv })
    equal(volumeCalls(driver)[0]?.request, {
      volume_id: `${names.pv}-handle`,
      node_id: `${node}-id`,
      volume_capability: { mount: {}, access_mode: WRITER },
      ...request,
    })
  })
}

const MODES: readonly (readonly [modes: readonly string[], without: string, with_: string])[] = [
  [['ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [['ReadOnlyMany', 'ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [['ReadWriteOnce', 'ReadWriteMany'], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [['ReadOnlyMany'], 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
  [['ReadWriteOnce'], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  [['ReadWriteOncePod'], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
]

for (const capable of [false, true]) {
  test(`access modes ${capable ? 'with' : 'without'} SINGLE_NODE_MULTI_WRITER`, async (t) => {
    const controller = ['PUBLISH_UNPUBLISH_VOLUME', ...(capable ? ['SINGLE_NODE_MULTI_WRITER' as const] : [])] as const
    const { driver, node } = await scene(t, { controller: [...controller] })
    for (const [index, [accessModes]] of MODES.entries()) {
      await attach(t, { node }, { pv: { accessModes }, suffix: `-${index}` })
    }
    for (const [index, [, without, with_]] of MODES.entries()) {
      await attached(t, t.name(`va-${index}`))
      const call = volumeCalls(driver).find(({ request }) => request['volume_id'] === `${t.name(`pv-${index}`)}-handle`)
      equal(call?.request['volume_capability'], { mount: {}, access_mode: { mode: capable ? with_ : without } })
    }
  })
}

test('a secret is read for each call and all of its keys are sent', async (t) => {
  const { driver, attacher, node } = await scene(t, { args: ['--retry-interval-start=200ms'] })
  driver.on('ControllerPublishVolume', (_, nth) => (nth < 2 ? { code: 13, message: 'no' } : { reply: {} }))
  const secretRef = await t.createSecret({ user: 'me', password: 'pässword\n' })
  await attachAndWait(t, { node }, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  const publishes = driver.callsOf('ControllerPublishVolume')
  for (const { request } of publishes) equal(request['secrets'], { user: 'me', password: 'pässword\n' })
  const reads = attacher.gate.requestsOf('secrets')
  equal(new Set(reads.map(({ method, name }) => `${method} ${name}`)), new Set([`GET ${secretRef.name}`]))
  equal(reads.length, publishes.length)
})

test('a secret without data sends an empty map', async (t) => {
  const { driver, node } = await scene(t)
  const secretRef = await t.createSecret({})
  await attachAndWait(t, { node }, { pv: { csi: { controllerPublishSecretRef: secretRef } } })
  equal(volumeCalls(driver)[0]?.request['secrets'], undefined)
})
