import {
  CSI_NODES,
  EVENTS,
  type Event,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type PersistentVolumeSpec,
  STORAGE_CLASSES,
  type StorageClass,
} from '@csi-sidecars/kube-types'
import type { Ref } from '../../harness/api/api.ts'
import { claim, csiNode } from '../../harness/api/objects.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Call, Capabilities, FakeDriver } from '../../harness/driver/driver.ts'
import { eventually } from '../../harness/waiting.ts'

export const GI = 1024 ** 3
export const OWNER = 'volume.kubernetes.io/storage-provisioner'
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
export const FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer'
export const LATE = { volumeBindingMode: 'WaitForFirstConsumer' } as const
const CREATES: Capabilities['controller'] = ['CREATE_DELETE_VOLUME']

/** A running provisioner and its driver. */
export interface ProvisionerScene {
  readonly driver: FakeDriver
  readonly sidecar: RunningSidecar
}

/**
 * The differences of a provisioner's scene from the default: a driver without topology, and a StorageClass that binds
 * at once.
 */
export interface ProvisionerSetup extends SidecarSetup {
  /** Controller capabilities of the driver in addition to the capability to create and delete volumes. */
  readonly controller?: Capabilities['controller']
  /** True if the driver reports topology. Default: false. */
  readonly topology?: boolean
  /** Fields of the StorageClass. */
  readonly class?: Partial<StorageClass>
  /** Prepares the driver before the provisioner starts. */
  readonly prepare?: (driver: FakeDriver) => void
}

/** The fields in which an unbound claim differs from the default: the name `pvc`, and the StorageClass of the test. */
export interface ClaimParts {
  readonly suffix?: string
  readonly annotations?: Readonly<Record<string, string | undefined>>
  readonly finalizers?: string[]
  readonly spec?: Partial<NonNullable<PersistentVolumeClaim['spec']>>
}

/** Creates a class, and starts a driver and the provisioner. Returns when the provisioner watches. */
export async function scene(t: TestContext, setup: ProvisionerSetup = {}): Promise<ProvisionerScene> {
  const { controller = [], topology = false, prepare, ...rest } = setup
  const driver = setup.driver ?? (await t.driver({ controller: [...CREATES, ...controller], topology }))
  prepare?.(driver)
  await createClass(t, setup.class)
  const sidecar = await t.sidecar({ ...rest, driver })
  await t.watching(sidecar, 'persistentvolumeclaims', 'persistentvolumes', 'storageclasses')
  return { driver, sidecar }
}

export async function createClass(t: TestContext, fields: Partial<StorageClass> = {}, suffix = 'class'): Promise<void> {
  const metadata = { name: t.name(suffix) }
  const head = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata }
  await t.create(STORAGE_CLASSES, { ...head, provisioner: t.driverName, ...fields })
}

/** Returns the class parameters that name a Secret. `use` is a part of their keys, such as `provisioner-`, or empty. */
export function secretParameters(use: string, { name, namespace }: { name: string; namespace: string }) {
  return { [`csi.storage.k8s.io/${use}secret-name`]: name, [`csi.storage.k8s.io/${use}secret-namespace`]: namespace }
}

export function claimRef(t: TestContext, suffix = ''): Ref & { readonly namespace: string } {
  return { namespace: t.namespace, name: t.name(`pvc${suffix}`) }
}

/** Creates a claim with the annotation of the PV controller for this driver. Returns its UID. */
export async function createClaim(t: TestContext, fields: ClaimParts = {}): Promise<string> {
  const { suffix, annotations, finalizers = [], spec } = fields
  const ref = claimRef(t, suffix)
  const metadata = { annotations: { [OWNER]: t.driverName, ...annotations }, finalizers }
  const made = claim(ref.namespace, ref.name, { metadata, storageClassName: t.name('class'), ...spec })
  return (await t.create(PERSISTENT_VOLUME_CLAIMS, made)).metadata?.uid ?? ''
}

/** Waits for the PersistentVolume of a claim, and returns it. */
export function provisionedVolume(t: TestContext, uid: string, within?: number): Promise<PersistentVolume> {
  return t.api.until(PERSISTENT_VOLUMES, { name: `pvc-${uid}`, within }, () => true)
}

/** Creates a claim and waits for its PersistentVolume. */
export async function provision(t: TestContext, fields: ClaimParts = {}): Promise<PersistentVolume> {
  return await provisionedVolume(t, await createClaim(t, fields))
}

/** Creates a claim of this class, perhaps for a node, and waits until the provisioner has stored its volume, or a warning. */
export async function claimOfClass(
  t: TestContext,
  name: string,
  { storageClass, driver, node }: { storageClass: string; driver: string; node?: string | undefined },
): Promise<void> {
  const suffix = `-${name}`
  const spec = { storageClassName: t.name(storageClass) }
  const annotations = { [OWNER]: driver, ...(node && { [SELECTED_NODE]: t.name(node) }) }
  const uid = await createClaim(t, { suffix, annotations, spec })
  await eventually(`the result of claim ${suffix}`, async () => {
    const volumes = await t.api.list(PERSISTENT_VOLUMES)
    if (volumes.some(({ spec }) => spec?.claimRef?.uid === uid)) return true
    return (await eventsOf(t, claimRef(t, suffix).name)).some(({ type }) => type === 'Warning')
  })
}

/** Waits until the driver has got `count` calls. */
export function calls(driver: FakeDriver, method: string, count = 1): Promise<Call[]> {
  return eventually(`${count} calls of ${method}`, () => {
    const found = driver.callsOf(method)
    return found.length >= count && found
  })
}

/** Sets the phase of a volume, as the PV controller does. */
export async function setPhase(t: TestContext, name: string, phase: string): Promise<void> {
  await t.api.merge(PERSISTENT_VOLUMES, { name, subresource: 'status' }, { status: { phase } })
}

/** Creates a released volume of the driver. Returns its name. */
export async function released(
  t: TestContext,
  { suffix = 'pv', annotations = {}, spec = {} }: { suffix?: string; annotations?: object; spec?: object } = {},
): Promise<string> {
  const metadata = {
    annotations: { [PROVISIONED_BY]: t.driverName, ...annotations },
    finalizers: [FINALIZER],
  }
  const name = await t.createVolume(suffix, { metadata, persistentVolumeReclaimPolicy: 'Delete', ...spec })
  await setPhase(t, name, 'Released')
  return name
}

export async function eventsOf(t: TestContext, name: string): Promise<readonly Event[]> {
  return (await t.api.list(EVENTS, t.namespace)).filter(({ involvedObject }) => involvedObject.name === name)
}

/** Waits for an event about an object whose message contains the text. */
export function eventOf(t: TestContext, name: string, text: string): Promise<Event> {
  return eventually(`an event of ${name}: ${text}`, async () =>
    (await eventsOf(t, name)).find(({ message }) => message?.includes(text)),
  )
}

/** Waits for an event about the claim whose message contains the text. */
export function claimEvent(t: TestContext, text: string, suffix?: string): Promise<Event> {
  return eventOf(t, claimRef(t, suffix).name, text)
}

/** The objects of one node, which the provisioner reads to find the topology of the driver. */
export interface Site {
  /** The labels of the Node. Undefined: the Node does not exist. */
  readonly labels?: Readonly<Record<string, string>>
  /** The topology keys in the CSINode. Undefined: the driver is not registered on the node. */
  readonly keys?: readonly string[]
}

/** Creates Nodes and CSINodes, and waits until a running provisioner knows. */
export async function createNodes(t: TestContext, sites: Readonly<Record<string, Site>>): Promise<void> {
  for (const [site, { labels, keys }] of Object.entries(sites)) {
    const name = t.name(site)
    if (labels !== undefined) {
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { ...labels } } }
      await t.received(NODES, await t.create(NODES, node))
    }
    const ids: Record<string, string> = keys === undefined ? {} : { [t.driverName]: name }
    await t.received(CSI_NODES, await t.create(CSI_NODES, csiNode(name, ids, keys)))
  }
}

/** Returns the node affinity of a volume that is reachable from these values of a topology key. */
export function affinityTo(key: string, ...values: string[]): PersistentVolumeSpec['nodeAffinity'] {
  return { required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values }] }] } }
}

/** Waits until the provisioner has deleted the volume. Finalizers of Kubernetes may still keep the object. */
export function deleted(t: TestContext, name: string, within?: number): Promise<boolean> {
  const isDeleted = async (): Promise<boolean> => {
    const pv = await t.api.find(PERSISTENT_VOLUMES, { name })
    const { deletionTimestamp, finalizers = [] } = pv?.metadata ?? {}
    return pv === undefined || (deletionTimestamp != null && !finalizers.includes(FINALIZER))
  }
  return eventually(`${name} deleted`, isDeleted, { within })
}
