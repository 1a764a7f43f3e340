import { deepStrictEqual as equal } from 'node:assert'
import { CSI_NODES, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS, type VolumeAttachment } from '@csi-sidecars/kube-types'
import { attachment, csiNode, volume } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Capabilities, Driver } from '../../harness/driver/driver.ts'
import { pause, WATCHES_DIFFER_MS, type WaitOptions } from '../../harness/waiting.ts'

export const ATTACH: Capabilities['controller'] = ['PUBLISH_UNPUBLISH_VOLUME']
export const NODE_ID_ANNOTATION = 'csi.alpha.kubernetes.io/node-id'

export interface AttacherScene {
  readonly driver: Driver
  readonly attacher: RunningSidecar
  readonly node: string
  readonly finalizer: string
}

export interface AttacherSceneSetup extends SidecarSetup {
  readonly controller?: Capabilities['controller']
  /** Prepares the driver before the attacher starts. */
  readonly prepare?: (driver: Driver) => void
}

/** A node with the driver, the driver, and the attacher, watching. */
export async function scene(
  t: TestContext,
  { controller = ATTACH, prepare, ...setup }: AttacherSceneSetup = {},
): Promise<AttacherScene> {
  const driver = setup.driver ?? (await t.driver({ controller }))
  prepare?.(driver)
  const node = t.name('node')
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: `${node}-id` }))
  const attacher = await t.sidecar({ ...setup, driver })
  await t.watching(attacher, 'volumeattachments', 'persistentvolumes', ...(controller.length > 0 ? ['csinodes'] : []))
  return { driver, attacher, node, finalizer: finalizerOf(t.driverName) }
}

export function finalizerOf(driverName: string): string {
  const sanitised = driverName.replace(/[^A-Za-z0-9-]/gu, '-')
  return `external-attacher/${sanitised}${sanitised.endsWith('-') ? 'X' : ''}`
}

/** A volume and its attachment to the scene's node, under the names `pv` and `va`. */
export async function attach(
  t: TestContext,
  { node }: Pick<AttacherScene, 'node'>,
  { pv, va = {}, suffix = '' }: { pv?: Parameters<typeof volume>[2]; va?: object; suffix?: string } = {},
): Promise<{ pv: string; va: string }> {
  const names = { pv: t.name(`pv${suffix}`), va: t.name(`va${suffix}`) }
  await t.create(PERSISTENT_VOLUMES, volume(names.pv, t.driverName, pv))
  await pause(WATCHES_DIFFER_MS)
  await t.create(VOLUME_ATTACHMENTS, attachment(names.va, t.driverName, { pv: names.pv, node, ...va }))
  return names
}

export function attached(t: TestContext, va = t.name('va'), wait: WaitOptions = {}): Promise<VolumeAttachment> {
  return t.api.until(VOLUME_ATTACHMENTS, { name: va, ...wait }, ({ status }) => status?.attached === true)
}

export function attachFailed(t: TestContext, text = '', va = t.name('va')): Promise<VolumeAttachment> {
  const holds = ({ status }: VolumeAttachment): boolean => status?.attachError?.message?.includes(text) === true
  return t.api.until(VOLUME_ATTACHMENTS, { name: va }, holds)
}

/**
 * The change of a patch, without the uid. Ours apply to one object only: each merge patch contains the uid, and JSON
 * patches test it. The originals have neither.
 */
export function changeOf(t: TestContext, request: WireRequest | undefined): unknown {
  const body = request?.body
  if (!t.ours) return body
  if (Array.isArray(body)) {
    const [test, ...operations] = body
    equal([test?.op, test?.path, typeof test?.value], ['test', '/metadata/uid', 'string'])
    return operations
  }
  const { metadata, ...change } = body as { metadata: { uid?: unknown } }
  const { uid, ...others } = metadata
  equal(typeof uid, 'string')
  return Object.keys(others).length === 0 ? change : { metadata: others, ...change }
}

/** What removing a finalizer from the list of a VolumeAttachment looks like: the originals write the whole list. */
export function finalizerRemoved(
  t: TestContext,
  { finalizer }: Pick<AttacherScene, 'finalizer'>,
  { place, others }: { readonly place: number; readonly others: readonly string[] },
): unknown {
  if (!t.ours) return { metadata: { finalizers: others.length === 0 ? null : others } }
  const path = `/metadata/finalizers/${place}`
  return [
    { op: 'test', path, value: finalizer },
    { op: 'remove', path },
  ]
}

/** Calls that do something to a volume. */
export function volumeCalls({ calls }: Driver): readonly Call[] {
  return calls.filter(({ method }) => method === 'ControllerPublishVolume' || method === 'ControllerUnpublishVolume')
}

/** One line for each write, for a readable comparison. The originals often process a new attachment twice. */
export function outline(t: TestContext, requests: readonly WireRequest[]): string[] {
  const once = requests.filter(
    ({ method, path, bytes }, index) =>
      t.ours || !requests.slice(0, index).some((e) => e.method === method && e.path === path && e.bytes.equals(bytes)),
  )
  return once.map(({ method, resource, code }) => `${method} ${resource} ${code}`)
}

/** Milliseconds from the end of each call to the start of the next. */
export function gapsOf(calls: readonly Call[]): number[] {
  return calls.slice(1).map(({ start }, index) => start - (calls[index]?.end ?? start))
}
