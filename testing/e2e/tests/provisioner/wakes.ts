import { PERSISTENT_VOLUME_CLAIMS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { TestContext } from '../../harness/context.ts'
import { createdVolume } from '../../harness/driver/driver.ts'
import { testsOf } from '../../harness/test.ts'
import { pause } from '../../harness/waiting.ts'
import { createTier } from '../resizer/scene.ts'
import {
  type ClaimParts,
  claimEvent,
  claimRef,
  createClaim,
  createClass,
  deleted,
  eventOf,
  provision,
  provisioned,
  released,
  type SceneSetup,
  scene,
  secretParameters,
  setPhase,
} from './scene.ts'

// The Go original does not wake claims early: it waits for the end of the back-off.
const test = testsOf('provisioner', 'wakes', { only: 'ours' })

const ARGS = ['--retry-interval-start=1m']
/** The promised second, and some more time for a busy machine. */
const SOON_MS = 2_500

interface Cause {
  readonly setup?: SceneSetup | ((t: TestContext) => SceneSetup)
  readonly spec?: (t: TestContext) => NonNullable<ClaimParts['spec']>
  /** The text of the event of the waiting claim. */
  readonly event?: string
  readonly come: (t: TestContext) => Promise<unknown>
}

const CAUSES: Readonly<Record<string, Cause>> = {
  'the class': { spec: (t) => ({ storageClassName: t.name('late') }), come: (t) => createClass(t, {}, 'late') },
  'the Secret': {
    setup: (t) => ({
      class: { parameters: secretParameters('provisioner-', { name: t.name('late'), namespace: t.namespace }) },
    }),
    event: 'error getting secret',
    come: (t) => t.createSecret({ a: 'b' }, 'late'),
  },
  'the VolumeAttributesClass': {
    setup: { controller: ['MODIFY_VOLUME'] },
    spec: (t) => ({ volumeAttributesClassName: t.name('gold') }),
    event: 'not found',
    come: (t) => createTier(t, 'gold'),
  },
  'the source claim': {
    setup: { controller: ['CLONE_VOLUME'] },
    spec: (t) => ({ dataSource: { kind: 'PersistentVolumeClaim', name: claimRef(t, '-source').name } }),
    event: 'error getting PVC',
    come: bindSource,
  },
}

async function bindSource(t: TestContext): Promise<void> {
  const { metadata } = await provision(t, { suffix: '-source' })
  const name = metadata?.name ?? ''
  await setPhase(t, name, 'Bound')
  const ref = claimRef(t, '-source')
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, ref, { spec: { volumeName: name } })
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { ...ref, subresource: 'status' }, { status: { phase: 'Bound' } })
}

for (const [what, { setup = {}, spec = () => ({}), event, come }] of Object.entries(CAUSES)) {
  test(`${what} wakes the claims that wait for it`, async (t) => {
    const given = typeof setup === 'function' ? setup(t) : setup
    const { driver } = await scene(t, { ...given, args: ARGS })
    const contentSource = { type: { $case: 'volume', value: { volumeId: 'source' } } }
    driver.on('CreateVolume', ({ request }) => ({
      reply: { volume: createdVolume(request, request['volume_content_source'] ? { contentSource } : {}) },
    }))
    const uid = await createClaim(t, { spec: spec(t) })
    if (event === undefined) await pause(300)
    else await claimEvent(t, event)
    await come(t)
    await provisioned(t, uid, SOON_MS)
  })
}

test('the end of the last VolumeAttachment wakes the deletion of the volume', async (t) => {
  const { sidecar } = await scene(t, { controller: ['PUBLISH_UNPUBLISH_VOLUME'], args: ARGS })
  await t.watching(sidecar, 'volumeattachments')
  const name = t.name('pv')
  for (const what of ['one', 'two']) await t.createAttachment(what, { pv: name, node: what })
  await pause(200)
  await released(t)
  await eventOf(t, name, 'is still attached to node')
  for (const what of ['one', 'two']) await t.api.delete(VOLUME_ATTACHMENTS, { name: t.name(what) })
  await deleted(t, name, SOON_MS)
})
