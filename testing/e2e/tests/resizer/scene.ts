import {
  EVENTS,
  type Event,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
} from '@csi-sidecars/kube-types'
import type { Ref } from '../../harness/api/api.ts'
import { claim, pod, type VolumeParts, volume } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import { type Call, type Capabilities, type Driver, requiredBytes } from '../../harness/driver/driver.ts'
import { eventually, pause, WATCHES_DIFFER_MS } from '../../harness/waiting.ts'

export const GI = 1024 ** 3
export const EXPAND: Capabilities['controller'] = ['EXPAND_VOLUME']
export const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
export const NO_NODE_STEP = 'volume.kubernetes.io/node-expansion-not-required'
/** The answer of a driver whose volumes need a step on the node. */
export const NODE_STEP = { reply: { nodeExpansionRequired: true } } as const

export interface ResizerScene {
  readonly driver: Driver
  readonly resizer: RunningSidecar
}

export interface SceneSetup extends SidecarSetup {
  readonly controller?: Capabilities['controller']
  readonly node?: Capabilities['node']
  readonly prepare?: (driver: Driver) => void
  readonly watches?: readonly string[]
}

/** A driver that expands to the requested size, and the resizer, watching. */
export async function scene(
  t: TestContext,
  { controller = EXPAND, node = [], prepare, watches, ...setup }: SceneSetup = {},
): Promise<ResizerScene> {
  const driver = setup.driver ?? (await t.driver({ controller, node }))
  prepare?.(driver)
  await t.createClass()
  const resizer = await t.sidecar({ ...setup, driver })
  await t.watching(resizer, ...(watches ?? ['persistentvolumeclaims', 'persistentvolumes']))
  return { driver, resizer }
}

export interface BoundParts {
  readonly size?: string
  /** The size of the volume, if it differs from the size of the claim. */
  readonly volumeSize?: string
  readonly pv?: VolumeParts
  readonly claim?: Partial<Parameters<typeof claim>[2]>
  readonly status?: object
  readonly suffix?: string
  readonly namespace?: string
}

export interface Bound {
  readonly pvc: string
  readonly pv: string
}

/** A claim bound to a volume, as the volume controller writes them. */
export async function bound(t: TestContext, parts: BoundParts = {}): Promise<Bound> {
  const { size = '1Gi', volumeSize = size, suffix = '', namespace = t.namespace } = parts
  const names = { pvc: t.name(`pvc${suffix}`), pv: t.name(`pv${suffix}`) }
  const storageClassName = t.name('class')
  const made = await t.create(
    PERSISTENT_VOLUME_CLAIMS,
    claim(namespace, names.pvc, { storageClassName, volumeName: names.pv, size, ...parts.claim }),
  )
  await t.create(
    PERSISTENT_VOLUMES,
    volume(names.pv, t.driverName, {
      capacity: { storage: volumeSize },
      storageClassName,
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name: names.pvc,
        uid: made.metadata?.uid,
      },
      ...parts.pv,
    }),
  )
  await t.api.merge(PERSISTENT_VOLUMES, { name: names.pv, subresource: 'status' }, { status: { phase: 'Bound' } })
  await pause(WATCHES_DIFFER_MS)
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: size }, ...parts.status }
  await patchStatus(t, { namespace, name: names.pvc }, { status })
  return names
}

export function patchStatus(t: TestContext, pvc: string | Ref, body: object): Promise<PersistentVolumeClaim> {
  const { namespace = t.namespace, name } = typeof pvc === 'string' ? { name: pvc } : pvc
  return t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace, name, subresource: 'status' }, body)
}

/** Requests a size; `pvc` may include another namespace: `ns/name`. */
export async function ask(t: TestContext, size: string, pvc = t.name('pvc')): Promise<void> {
  const [name = '', namespace = t.namespace] = pvc.split('/').reverse()
  const body = { spec: { resources: { requests: { storage: size } } } }
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, body)
}

type RaisedParts = Omit<BoundParts, 'namespace'> & { readonly to?: string }

/** A bound claim that requests more. */
export async function raised(t: TestContext, { to = '2Gi', ...parts }: RaisedParts = {}): Promise<Bound> {
  const made = await bound(t, parts)
  await ask(t, to, made.pvc)
  return made
}

/** The claim with its new size. */
export async function grown(
  t: TestContext,
  parts: RaisedParts = {},
): Promise<Bound & { readonly claim: PersistentVolumeClaim }> {
  const made = await raised(t, parts)
  return { ...made, claim: await resized(t, parts.to ?? '2Gi', made.pvc) }
}

export function editClaim(t: TestContext, body: object, name = t.name('pvc')): Promise<PersistentVolumeClaim> {
  return t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name }, body)
}

/** A pod that uses a claim. */
export function usedBy(t: TestContext, what = 'pod', pvc = t.name('pvc')): Promise<unknown> {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: pvc } }]
  return t.create(PODS, pod(t.namespace, t.name(what), volumes))
}

export function getClaim(t: TestContext, pvc = t.name('pvc')): Promise<PersistentVolumeClaim> {
  return t.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: pvc })
}

export function getVolume(t: TestContext, pv = t.name('pv')): Promise<PersistentVolume> {
  return t.api.get(PERSISTENT_VOLUMES, { name: pv })
}

export function untilClaim(
  t: TestContext,
  holds: (claim: PersistentVolumeClaim) => boolean | undefined,
  pvc = t.name('pvc'),
): Promise<PersistentVolumeClaim> {
  return t.api.until(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: pvc }, holds)
}

export function untilVolume(t: TestContext, holds: (volume: PersistentVolume) => boolean): Promise<PersistentVolume> {
  return t.api.until(PERSISTENT_VOLUMES, { name: t.name('pv') }, holds)
}

export function resized(t: TestContext, size: string, pvc = t.name('pvc')): Promise<PersistentVolumeClaim> {
  return untilClaim(t, ({ status }) => status?.capacity?.['storage'] === size, pvc)
}

/** Additional metadata of a patch: ours contains the uid of the object, the originals' does not. */
export function aimed(
  t: TestContext,
  { metadata }: PersistentVolume | PersistentVolumeClaim,
): { readonly uid?: string } {
  return t.ours ? { uid: metadata?.uid ?? '' } : {}
}

/** How a patch removes the last known key of a map. The originals remove the map, and with it what others have added. */
export function withoutKey(t: TestContext, key: string): object | null {
  return t.ours ? { [key]: null } : null
}

/** The body of a patch, without an empty `metadata`. */
export function bodyOf(metadata: object, rest: object = {}): object {
  return Object.keys(metadata).length > 0 ? { metadata, ...rest } : rest
}

/** `Resizing=True`, in the order of the list. */
export function conditionsOf({ status }: PersistentVolumeClaim): string[] {
  return (status?.conditions ?? []).map(({ type, status: value }) => `${type}=${value}`)
}

export function statusWord({ status }: PersistentVolumeClaim): string | undefined {
  return status?.allocatedResourceStatuses?.['storage']
}

export function expands({ driver }: ResizerScene): readonly Call[] {
  return driver.callsOf('ControllerExpandVolume')
}

/** The requested sizes of the calls, in GiB. */
export function sizesOf(at: ResizerScene): number[] {
  return expands(at).map(({ request }) => Number(requiredBytes(request)) / GI)
}

/** The status that kubelet writes after it has grown the file system. */
export function kubeletFinishes(t: TestContext, size: string): Promise<PersistentVolumeClaim> {
  const status = { capacity: { storage: size }, allocatedResourceStatuses: null, conditions: null }
  return patchStatus(t, t.name('pvc'), { status })
}

/** Events about this object, `Type Reason Message xCount`, oldest first. */
export async function eventsOf(t: TestContext, name = t.name('pvc')): Promise<string[]> {
  const events = (await t.api.list(EVENTS, t.namespace)).filter(({ involvedObject }) => involvedObject.name === name)
  const sorted = [...events].sort((a, b) => orderOf(a).localeCompare(orderOf(b)))
  return sorted.map(({ type, reason, message }) => `${type} ${reason} ${message}`)
}

/** Names end in the nanoseconds of the first time, in hexadecimal. */
function orderOf({ metadata }: Event): string {
  return metadata.name?.split('.').at(-1) ?? ''
}

export async function warningsOf(t: TestContext, name = t.name('pvc')): Promise<string[]> {
  return (await eventsOf(t, name)).filter((event) => event.startsWith('Warning'))
}

export function untilEvent(t: TestContext, text: string, name = t.name('pvc')): Promise<string> {
  return eventually(`an event with ${text}`, async () => (await eventsOf(t, name)).find((each) => each.includes(text)))
}

/** One line for each write to the test's own objects: each resizer also tidies volumes that are not its own. */
export function outline(t: TestContext, requests: readonly WireRequest[]): string[] {
  return requests
    .filter(({ name = '' }) => name.startsWith(`${t.id}-`))
    .map(({ method, resource, code }) => `${method} ${resource} ${code}`)
}
