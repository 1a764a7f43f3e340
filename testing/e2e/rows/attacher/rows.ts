import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import type { VolumeParts } from '../../harness/api/objects.ts'
import type { TestContext } from '../../harness/context.ts'
import type { Capabilities, DriverOptions, DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { eventually } from '../../harness/waiting.ts'
import { type Answers, answer, deleted, made, merged, type Of } from '../actions.ts'
import { type Action, rowsOf } from '../row.ts'
import { ATTACH, untilAttachment } from './scene.ts'

interface AttacherSetup {
  readonly args?: Of<readonly string[]>
  readonly controller?: Capabilities['controller']
  readonly answers?: Of<Answers>
  /** The ID of the node for the driver. */
  readonly nodeId?: string
  /** More parts of the driver. */
  readonly driver?: Of<Partial<DriverOptions>>
  /** True if a step of the row starts the attacher. */
  readonly startsLater?: boolean
}

/** The driver and the node of one row about the attacher. Each action of the row receives them. */
export interface RowScene {
  readonly driver: FakeDriver
  readonly node: string
  readonly setup: AttacherSetup
}

/** Returns a function that adds a row about the attacher. */
export function attacherRows(group: string, file: string) {
  return rowsOf<RowScene, AttacherSetup>({ app: 'attacher', scene: begin, laterWork }, { group, file })
}

async function begin(t: TestContext, setup: AttacherSetup): Promise<RowScene> {
  const { answers, startsLater, nodeId, controller = ATTACH } = setup
  const driver = await t.driver({ controller, ...made(t, setup.driver ?? {}) })
  answer(driver, made(t, answers ?? {}))
  const at = { driver, node: await t.createNode('node', { driver: driver.name, ...(nodeId && { id: nodeId }) }), setup }
  if (startsLater !== true) await started.run(t, at)
  return at
}

/** Attaches another volume, and waits until the attacher has stored the result, also an error. */
async function laterWork(t: TestContext, { driver, node }: RowScene, suffix: string): Promise<void> {
  const pv = await t.createVolume(suffix)
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: pv }))
  await t.createAttachment(suffix, { pv, node, driver: driver.name })
  await untilAttachment(t, ({ status }) => status?.attached === true || status?.attachError !== undefined, pv)
}

interface AttachParts {
  readonly pv?: Of<VolumeParts>
  readonly va?: Of<object>
  readonly node?: string
  readonly suffix?: string
}

/** Creates the volume `pv`, and its VolumeAttachment `va` to the node. */
export function attach({ pv = {}, va = {}, node = 'node', suffix = '' }: AttachParts = {}): Action<RowScene> {
  const volume = volumeCreated(pv, suffix)
  const attachment = attachmentCreated({ va, node, suffix })
  return {
    name: `attach pv${suffix}`,
    run: async (t, at) => {
      await volume.run(t, at)
      await attachment.run(t, at)
    },
  }
}

export function volumeCreated(fields: Of<VolumeParts> = {}, suffix = ''): Action<unknown> {
  return {
    name: `create PersistentVolume pv${suffix}`,
    run: async (t) => {
      const name = await t.createVolume(`pv${suffix}`, made(t, fields))
      await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name }))
    },
  }
}

/** Creates the VolumeAttachment `va` of the volume `pv`, which may be missing. */
export function attachmentCreated({
  va = {},
  node = 'node',
  suffix = '',
}: Omit<AttachParts, 'pv'> = {}): Action<unknown> {
  return {
    name: `create VolumeAttachment va${suffix}`,
    run: (t) => t.createAttachment(`va${suffix}`, { pv: t.name(`pv${suffix}`), node: t.name(node), ...made(t, va) }),
  }
}

export const detach = deleted(VOLUME_ATTACHMENTS, 'va')

/** Changes the labels of the VolumeAttachment, which ends the back-off of its attach. */
export const touched = merged(VOLUME_ATTACHMENTS, 'va', { metadata: { labels: { touched: 'yes' } } })

/** Starts an attacher, and waits until it watches. The attacher of a driver without attach calls may watch no more. */
export const started: Action<RowScene> = {
  name: 'start the attacher',
  run: (t, { driver, setup: { args = [], controller = ATTACH } }) => {
    const watched = ['volumeattachments', ...(controller.length > 0 ? ['persistentvolumes', 'csinodes'] : [])]
    return t.running({ driver, args: made(t, args) }, ...watched)
  },
}

/** One page of ListVolumes, with the IDs of the nodes to which each volume is published. */
export function page(volumes: Readonly<Record<string, readonly string[]>>, nextToken = ''): DriverReply {
  const entries = Object.entries(volumes).map(([volumeId, publishedNodeIds]) => ({
    volume: { volumeId, capacityBytes: 0n, volumeContext: {}, accessibleTopology: [] },
    status: { publishedNodeIds },
  }))
  return { reply: { entries, nextToken } }
}

/** Flags for short pauses between listings, a single one of which is trusted, as the Go sidecar does. */
export function comparing(...more: readonly string[]) {
  return (t: TestContext): readonly string[] => [
    '--reconcile-sync=700ms',
    ...(t.ours ? ['--reconcile-confirmations=1'] : []),
    ...more,
  ]
}

/** Waits until the attacher has compared its attachments with two listings that begin after this moment. */
export const listings: Action<RowScene> = {
  name: 'two comparisons with ListVolumes',
  run: async (_, { driver }) => {
    const before = driver.callsOf('ListVolumes').length
    // The fourth call comes after the comparison with the third one, and the first one may have begun earlier.
    await eventually('four listings', () => driver.callsOf('ListVolumes').length >= before + 4)
  },
}

/** A volume whose calls need the Secret `secret`. */
export const WITH_SECRET: AttachParts = {
  pv: (t) => ({ csi: { controllerPublishSecretRef: { name: t.name('secret'), namespace: t.namespace } } }),
}
