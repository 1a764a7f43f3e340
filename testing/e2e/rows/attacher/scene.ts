import { PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { partOf } from '../../harness/api/gate.ts'
import { attachment, type VolumeParts } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Capabilities, FakeDriver } from '../../harness/driver/driver.ts'
import type { WaitOptions } from '../../harness/waiting.ts'

export const ATTACH: Capabilities['controller'] = ['PUBLISH_UNPUBLISH_VOLUME']
export const LISTS: Capabilities['controller'] = [...ATTACH, 'LIST_VOLUMES', 'LIST_VOLUMES_PUBLISHED_NODES']
export const NODE_ID_ANNOTATION = 'csi.alpha.kubernetes.io/node-id'

/** A running attacher with its driver, a node and the name of its finalizer. */
export interface AttacherScene {
  readonly driver: FakeDriver
  readonly attacher: RunningSidecar
  readonly node: string
  readonly finalizer: string
}

/** The differences of an attacher's scene from the default: a driver that attaches volumes but does not list them. */
export interface AttacherSceneSetup extends SidecarSetup {
  readonly controller?: Capabilities['controller']
  /** Prepares the driver before the attacher starts. */
  readonly prepare?: (driver: FakeDriver) => void
}

/** Starts a driver and an attacher, and creates a node with the driver. Waits until the attacher watches. */
export async function scene(
  t: TestContext,
  { controller = ATTACH, prepare, ...setup }: AttacherSceneSetup = {},
): Promise<AttacherScene> {
  const driver = setup.driver ?? (await t.driver({ controller }))
  prepare?.(driver)
  const node = await t.createNode('node', { driver: driver.name })
  const attacher = await t.sidecar({ ...setup, driver })
  await t.watching(attacher, 'volumeattachments', 'persistentvolumes', ...(controller.length > 0 ? ['csinodes'] : []))
  return { driver, attacher, node, finalizer: finalizerOf(driver.name) }
}

export function finalizerOf(driverName: string): string {
  const sanitised = driverName.replace(/[^A-Za-z0-9-]/gu, '-')
  return `external-attacher/${sanitised}${sanitised.endsWith('-') ? 'X' : ''}`
}

/** The node and the driver of an attachment. The default driver is the driver of the test. */
type AttachSite = Pick<AttacherScene, 'node'> & { readonly driver?: { readonly name: string } }

interface AttachParts {
  readonly pv?: VolumeParts
  readonly va?: object
  readonly suffix?: string
}

/** Creates the volume `pv`, and the VolumeAttachment `va` to the node. `suffix` is added to both names. */
export async function attach(
  t: TestContext,
  { node, driver }: AttachSite,
  { pv: fields, va = {}, suffix = '' }: AttachParts = {},
): Promise<{ pv: string; va: string }> {
  const pv = await t.createVolume(`pv${suffix}`, fields)
  await t.received(PERSISTENT_VOLUMES, await t.api.get(PERSISTENT_VOLUMES, { name: pv }))
  const object = attachment(t.name(`va${suffix}`), driver?.name ?? t.driverName, { pv, node, ...va })
  await t.create(VOLUME_ATTACHMENTS, object)
  return { pv, va: t.name(`va${suffix}`) }
}

export function attached(t: TestContext, va = t.name('va'), wait: WaitOptions = {}): Promise<VolumeAttachment> {
  return t.api.until(VOLUME_ATTACHMENTS, { name: va, ...wait }, ({ status }) => status?.attached === true)
}

/** Attaches a volume, and waits until it is attached. */
export async function attachAndWait(
  t: TestContext,
  at: AttachSite,
  { within, ...fields }: AttachParts & Pick<WaitOptions, 'within'> = {},
): Promise<{ readonly pv: string; readonly va: string; readonly object: VolumeAttachment }> {
  const names = await attach(t, at, fields)
  return { ...names, object: await attached(t, names.va, { within }) }
}

/** Returns the suffixes `-0`, `-1` and so on. */
export function suffixes(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `-${index}`)
}

/** Attaches a volume for each suffix, and waits until all are attached. */
export async function attachAll(t: TestContext, at: AttachSite, all: readonly string[]): Promise<void> {
  await Promise.all(all.map((suffix) => attach(t, at, { suffix })))
  await allAttached(t, all)
}

export async function allAttached(t: TestContext, all: readonly string[]): Promise<void> {
  for (const suffix of all) await attached(t, t.name(`va${suffix}`))
}

/** Deletes an attachment, and waits until it is gone. */
export async function detachAndWait(t: TestContext, va = t.name('va'), wait?: WaitOptions): Promise<void> {
  await t.api.delete(VOLUME_ATTACHMENTS, { name: va })
  await t.api.untilGone(VOLUME_ATTACHMENTS, { name: va }, wait)
}

/** The calls and the writes of an attacher, without those for the volumes of `afterLaterWork`. */
export interface AttacherRecord {
  readonly calls: readonly Call[]
  readonly writes: readonly WireRequest[]
}

const LATER_SUFFIX = '-later-'

/**
 * Attaches another volume, and waits until the attacher has stored the result, also an error. Returns what the attacher
 * did for all other volumes until then: earlier events had their effect before.
 */
export async function afterLaterWork(t: TestContext, at: AttacherScene): Promise<AttacherRecord> {
  const suffix = `${LATER_SUFFIX}${at.attacher.gate.requests.length}`
  const { va } = await attach(t, at, { suffix })
  await untilAttachment(t, ({ status }) => status?.attached === true || status?.attachError !== undefined, va)
  const calls = volumeCalls(at.driver).filter(({ request }) => !String(request['volume_id']).includes(LATER_SUFFIX))
  const writes = (await at.attacher.gate.settledWrites()).filter(({ name = '' }) => !name.includes(LATER_SUFFIX))
  return { calls, writes }
}

export function attachFailed(t: TestContext, text = '', va = t.name('va')): Promise<VolumeAttachment> {
  return untilAttachment(t, ({ status }) => status?.attachError?.message?.includes(text), va)
}

export function getAttachment(t: TestContext, va = t.name('va')): Promise<VolumeAttachment> {
  return t.api.get(VOLUME_ATTACHMENTS, { name: va })
}

export function untilAttachment(
  t: TestContext,
  holds: (attachment: VolumeAttachment) => boolean | undefined,
  va = t.name('va'),
): Promise<VolumeAttachment> {
  return t.api.until(VOLUME_ATTACHMENTS, { name: va }, holds)
}

export function editAttachment(t: TestContext, body: object, va = t.name('va')): Promise<VolumeAttachment> {
  return t.api.merge(VOLUME_ATTACHMENTS, { name: va }, body)
}

export function editStatus(t: TestContext, status: object, va = t.name('va')): Promise<VolumeAttachment> {
  return t.api.merge(VOLUME_ATTACHMENTS, { name: va, subresource: 'status' }, { status })
}

export function publishes({ driver }: Pick<AttacherScene, 'driver'>): readonly Call[] {
  return driver.callsOf('ControllerPublishVolume')
}

export function unpublishes({ driver }: Pick<AttacherScene, 'driver'>): readonly Call[] {
  return driver.callsOf('ControllerUnpublishVolume')
}

/** Reports whether a patch has written only the time of an error. */
export function writesTimeAlone({ attacher }: AttacherScene, error: 'attachError' | 'detachError'): boolean {
  const writes = attacher.gate.writes('volumeattachments/status')
  return writes.some((write) => Object.keys(Object(partOf(write, 'status', error))).join() === 'time')
}

/** Returns the calls of ControllerPublishVolume and ControllerUnpublishVolume. */
export function volumeCalls({ calls }: FakeDriver): readonly Call[] {
  return calls.filter(({ method }) => method === 'ControllerPublishVolume' || method === 'ControllerUnpublishVolume')
}

/** Returns one line for each write. Omits equal writes of the Go sidecars, which often try an attach twice. */
export function outline(t: TestContext, requests: readonly WireRequest[]): string[] {
  const once = requests.filter(
    ({ method, path, bytes }, index) =>
      t.ours || !requests.slice(0, index).some((e) => e.method === method && e.path === path && e.bytes.equals(bytes)),
  )
  return once.map(({ method, resource, code }) => `${method} ${resource} ${code}`)
}

/** Returns the milliseconds from the end of each call to the start of the next call. */
export function gapsOf(calls: readonly Call[]): number[] {
  return calls.slice(1).map(({ start }, index) => start - (calls[index]?.end ?? start))
}

type Attached = AttacherScene & { readonly va: string; readonly pv: string; readonly position: number }

/** Starts an attacher and attaches a volume. `mark` in the result is the number of writes that the attach took. */
export async function attachedScene(
  t: TestContext,
  { pv = {}, va = {}, ...setup }: AttacherSceneSetup & { pv?: object; va?: object } = {},
): Promise<Attached> {
  const at = await scene(t, setup)
  const names = await attachAndWait(t, at, { pv, va })
  const writes = t.ours ? at.attacher.gate.writes() : (await afterLaterWork(t, at)).writes
  return { ...at, ...names, position: writes.length }
}

export const detachFailed = (t: TestContext, text = '') =>
  untilAttachment(t, ({ status }) => status?.detachError?.message?.includes(text))
