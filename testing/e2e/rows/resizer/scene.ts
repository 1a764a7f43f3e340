import {
  EVENTS,
  type Event,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  PODS,
  VOLUME_ATTRIBUTES_CLASSES,
} from '@csi-sidecars/kube-types'
import type { Ref } from '../../harness/api/api.ts'
import { attributesClass, claim, pod, referenceTo, type VolumeParts, volume } from '../../harness/api/objects.ts'
import type { WireRequest } from '../../harness/api/wire.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Capabilities, DriverReply, FakeDriver } from '../../harness/driver/driver.ts'
import { eventually } from '../../harness/waiting.ts'

export const GI = 1024 ** 3
export const EXPAND: Capabilities['controller'] = ['EXPAND_VOLUME']
export const PRE_RESIZE = 'volume.alpha.kubernetes.io/pre-resize-capacity'
export const NO_NODE_STEP = 'volume.kubernetes.io/node-expansion-not-required'
/** The answer of a driver whose volumes the kubelet must also expand on the node. */
export const NODE_STEP = { reply: { nodeExpansionRequired: true } } as const

/** A running resizer and its driver. */
export interface ResizerScene {
  readonly driver: FakeDriver
  readonly resizer: RunningSidecar
}

/** The differences of a resizer's scene from the default: a driver that expands volumes without a step on the node. */
export interface ResizerSetup extends SidecarSetup {
  readonly controller?: Capabilities['controller']
  readonly node?: Capabilities['node']
  /** Prepares the driver before the resizer starts. */
  readonly prepare?: (driver: FakeDriver) => void
  /** The resources that must be watched before the test continues. Default: claims and volumes. */
  readonly watches?: readonly string[]
}

/** The fields in which a bound claim and its volume differ from the default. Their names end with `suffix`. */
export interface BoundParts {
  /** Default: `1Gi`. */
  readonly size?: string
  /** The size of the volume, if it differs from the size of the claim. */
  readonly volumeSize?: string
  readonly pv?: VolumeParts
  readonly claim?: Partial<Parameters<typeof claim>[2]>
  readonly status?: object
  readonly suffix?: string
  /** Default: the namespace of the test. */
  readonly namespace?: string
}

/** The names of a claim and of the PersistentVolume that it is bound to. */
export interface BoundClaim {
  readonly pvc: string
  readonly pv: string
}

/** Starts a driver that expands to the requested size, and a resizer. Waits until the resizer watches. */
export async function scene(
  t: TestContext,
  { controller = EXPAND, node = [], prepare, watches, ...setup }: ResizerSetup = {},
): Promise<ResizerScene> {
  const driver = setup.driver ?? (await t.driver({ controller, node }))
  prepare?.(driver)
  await t.createClass()
  const resizer = await t.sidecar({ ...setup, driver })
  await t.watching(resizer, ...(watches ?? ['persistentvolumeclaims', 'persistentvolumes']))
  return { driver, resizer }
}

/** Creates a claim that is bound to a volume, as the PersistentVolume controller binds them. */
export async function createBoundClaim(t: TestContext, fields: BoundParts = {}): Promise<BoundClaim> {
  const { size = '1Gi', volumeSize = size, suffix = '', namespace = t.namespace } = fields
  const names = { pvc: t.name(`pvc${suffix}`), pv: t.name(`pv${suffix}`) }
  const storageClassName = t.name('class')
  const made = await t.create(
    PERSISTENT_VOLUME_CLAIMS,
    claim(namespace, names.pvc, { storageClassName, volumeName: names.pv, size, ...fields.claim }),
  )
  await t.create(
    PERSISTENT_VOLUMES,
    volume(names.pv, t.driverName, {
      capacity: { storage: volumeSize },
      storageClassName,
      claimRef: referenceTo(made),
      ...fields.pv,
    }),
  )
  const phase = { status: { phase: 'Bound' } }
  const boundVolume = await t.api.merge(PERSISTENT_VOLUMES, { name: names.pv, subresource: 'status' }, phase)
  await t.received(PERSISTENT_VOLUMES, boundVolume)
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: size }, ...fields.status }
  await t.received(PERSISTENT_VOLUME_CLAIMS, await patchStatus(t, { namespace, name: names.pvc }, { status }))
  return names
}

export function patchStatus(t: TestContext, pvc: string | Ref, body: object): Promise<PersistentVolumeClaim> {
  const { namespace = t.namespace, name } = typeof pvc === 'string' ? { name: pvc } : pvc
  return t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace, name, subresource: 'status' }, body)
}

/** Requests a size for the claim `pvc`. Its name may include a namespace: `ns/name`. */
export async function ask(t: TestContext, size: string, pvc = t.name('pvc')): Promise<void> {
  const [name = '', namespace = t.namespace] = pvc.split('/').reverse()
  const body = { spec: { resources: { requests: { storage: size } } } }
  await t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, body)
}

type RaisedParts = Omit<BoundParts, 'namespace'> & { readonly to?: string }

/** Creates a bound claim, and then requests a larger size. */
export async function raised(t: TestContext, { to = '2Gi', ...fields }: RaisedParts = {}): Promise<BoundClaim> {
  const made = await createBoundClaim(t, fields)
  await ask(t, to, made.pvc)
  return made
}

/** Creates a bound claim, requests a larger size, and waits until the claim has the new size. */
export async function grown(
  t: TestContext,
  fields: RaisedParts = {},
): Promise<BoundClaim & { readonly claim: PersistentVolumeClaim }> {
  const made = await raised(t, fields)
  return { ...made, claim: await resized(t, fields.to ?? '2Gi', made.pvc) }
}

/** The calls and the writes of a resizer, without those for the claims of `afterLaterWork`. */
export interface ResizerRecord {
  readonly calls: readonly Call[]
  readonly writes: readonly WireRequest[]
}

const LATER_SUFFIX = '-later-'

/**
 * Requests a larger size for another claim, and waits until the resizer has stored the result, also an error. Returns
 * what the resizer did for all other claims until then: earlier events had their effect before.
 */
export async function afterLaterWork(t: TestContext, at: ResizerScene): Promise<ResizerRecord> {
  const { pvc } = await raised(t, { suffix: `${LATER_SUFFIX}${at.resizer.gate.requests.length}` })
  const isStored = (each: PersistentVolumeClaim): boolean =>
    each.status?.capacity?.['storage'] === '2Gi' ||
    statusWord(each) === 'NodeResizePending' ||
    conditionsOf(each).includes('ControllerResizeError=True')
  await untilClaim(t, isStored, pvc)
  const calls = expands(at).filter(({ request }) => !String(request['volume_id']).includes(LATER_SUFFIX))
  const writes = (await at.resizer.gate.settledWrites()).filter(({ name = '' }) => !name.includes(LATER_SUFFIX))
  return { calls, writes }
}

/**
 * Lets the driver refuse the expansion of another claim four times with a final error, which is retried soon, and give
 * `answer` to all other calls. Returns these other calls until then.
 */
export async function triesBeforeOthers(
  t: TestContext,
  at: ResizerScene,
  answer: DriverReply,
): Promise<readonly Call[]> {
  const suffix = `-refused-${expands(at).length}`
  const isRefused = ({ request }: Call): boolean => String(request['volume_id']).includes('-refused-')
  at.driver.on('ControllerExpandVolume', (call) => (isRefused(call) ? { code: 13, message: 'no' } : answer))
  const { pv } = await raised(t, { suffix })
  const tries = (): number => expands(at).filter(({ request }) => request['volume_id'] === `${pv}-handle`).length
  await eventually('four tries for the other claim', () => tries() >= 4)
  return expands(at).filter((call) => !isRefused(call))
}

export function editClaim(t: TestContext, body: object, name = t.name('pvc')): Promise<PersistentVolumeClaim> {
  return t.api.merge(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name }, body)
}

/** Creates a pod that uses a claim, and waits until the resizer knows it. */
export async function usedBy(t: TestContext, suffix = 'pod', pvc = t.name('pvc')): Promise<void> {
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: pvc } }]
  await t.received(PODS, await t.create(PODS, pod(t.namespace, t.name(suffix), volumes)))
}

export function getClaim(t: TestContext, pvc = t.name('pvc')): Promise<PersistentVolumeClaim> {
  return t.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: pvc })
}

export function untilClaim(
  t: TestContext,
  holds: (claim: PersistentVolumeClaim) => boolean | undefined,
  pvc = t.name('pvc'),
): Promise<PersistentVolumeClaim> {
  return t.api.until(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: pvc }, holds)
}

export function resized(t: TestContext, size: string, pvc = t.name('pvc')): Promise<PersistentVolumeClaim> {
  return untilClaim(t, ({ status }) => status?.capacity?.['storage'] === size, pvc)
}

/** Returns the conditions in their order, for example `Resizing=True`. */
export function conditionsOf({ status }: PersistentVolumeClaim): string[] {
  return (status?.conditions ?? []).map(({ type, status: value }) => `${type}=${value}`)
}

export function statusWord({ status }: PersistentVolumeClaim): string | undefined {
  return status?.allocatedResourceStatuses?.['storage']
}

export function expands({ driver }: ResizerScene): readonly Call[] {
  return driver.callsOf('ControllerExpandVolume')
}

/** Writes the status that the kubelet writes after it has expanded the file system. */
export function kubeletFinishes(t: TestContext, size: string): Promise<PersistentVolumeClaim> {
  const status = { capacity: { storage: size }, allocatedResourceStatuses: null, conditions: null }
  return patchStatus(t, t.name('pvc'), { status })
}

/** Returns the events about an object as `Type Reason Message`, oldest first. */
export async function eventsOf(t: TestContext, name = t.name('pvc')): Promise<string[]> {
  const events = (await t.api.list(EVENTS, t.namespace)).filter(({ involvedObject }) => involvedObject.name === name)
  const sorted = [...events].sort((a, b) => orderOf(a).localeCompare(orderOf(b)))
  return sorted.map(({ type, reason, message }) => `${type} ${reason} ${message}`)
}

/** Returns the end of an event's name, which contains the time of the event in hexadecimal nanoseconds. */
function orderOf({ metadata }: Event): string {
  return metadata.name?.split('.').at(-1) ?? ''
}

export async function warningsOf(t: TestContext, name = t.name('pvc')): Promise<string[]> {
  return (await eventsOf(t, name)).filter((event) => event.startsWith('Warning'))
}

export function untilEvent(t: TestContext, text: string, name = t.name('pvc')): Promise<string> {
  return eventually(`an event with ${text}`, async () => (await eventsOf(t, name)).find((each) => each.includes(text)))
}

const WATCHES = ['persistentvolumeclaims', 'persistentvolumes', 'volumeattributesclasses']

/** Starts a resizer whose driver modifies volumes. Creates a bound claim, and the classes gold and silver. */
export async function startModification(
  t: TestContext,
  setup: ResizerSetup & { readonly boundFields?: BoundParts } = {},
): Promise<ResizerScene> {
  const { boundFields, ...rest } = setup
  for (const name of ['gold', 'silver']) await createTier(t, name)
  const at = await scene(t, { controller: ['MODIFY_VOLUME'], watches: WATCHES, ...rest })
  await createBoundClaim(t, boundFields)
  return at
}

/** Creates a VolumeAttributesClass with this tier as its parameter. */
export async function createTier(t: TestContext, tier: string, driver = t.driverName): Promise<string> {
  await t.create(VOLUME_ATTRIBUTES_CLASSES, attributesClass(t.name(tier), driver, { tier }))
  return t.name(tier)
}

export async function want(t: TestContext, className: string | null): Promise<void> {
  await editClaim(t, { spec: { volumeAttributesClassName: className } })
}

/** Requests the class of this tier, and waits until the claim has it. */
export async function modify(t: TestContext, tier: string): Promise<PersistentVolumeClaim> {
  await want(t, t.name(tier))
  return modifiedClaim(t, t.name(tier))
}

export function modifiedClaim(t: TestContext, className: string): Promise<PersistentVolumeClaim> {
  return untilClaim(
    t,
    ({ status }) => status?.currentVolumeAttributesClassName === className && status.modifyVolumeStatus === undefined,
  )
}

export const modifies = ({ driver }: ResizerScene): readonly Call[] => driver.callsOf('ControllerModifyVolume')

export function untilState(t: TestContext, word: string): Promise<PersistentVolumeClaim> {
  return untilClaim(t, ({ status }) => status?.modifyVolumeStatus?.status === word)
}
