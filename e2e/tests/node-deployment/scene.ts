import {
  CSI_NODES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  STORAGE_CLASSES,
} from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { storageClass, volume } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { type Bound, type BoundParts, bound, expandedReply, getVolume } from '../resizer/scene.ts'

export type NodeAffinity = NonNullable<PersistentVolume['spec']>['nodeAffinity']

/** One node with its driver and its resizer. */
export interface Site {
  readonly node: string
  readonly driver: Driver
  readonly resizer: RunningSidecar
}

/** The rules of the chart for --node-deployment: no lease among them. */
export const RULES = [
  ...FACTS.resizer.rules.filter(({ resources }) => !resources.includes('leases')),
  ...(FACTS.resizer.nodeRules ?? []),
]

export const nodeKey = (t: TestContext): string => `${t.driverName}/node`
export const zoneKey = (t: TestContext): string => `${t.driverName}/zone`

/** A Node with the labels of the driver's topology: its own name, and a zone that all nodes share. */
export async function createNode(
  t: TestContext,
  node: string,
  labels?: Readonly<Record<string, string>>,
): Promise<void> {
  const topology = labels ?? { [nodeKey(t)]: node, [zoneKey(t)]: 'east' }
  await t.create(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: node, labels: { ...topology } } })
}

export async function register(t: TestContext, node: string): Promise<void> {
  const driver = { name: t.driverName, nodeID: node, topologyKeys: [nodeKey(t), zoneKey(t)] }
  await t.create(CSI_NODES, {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: node },
    spec: { drivers: [driver] },
  })
}

export async function nodeDriver(t: TestContext): Promise<Driver> {
  const driver = await t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
  driver.on('ControllerExpandVolume', (call) => expandedReply(call))
  return driver
}

export async function startResizer(
  t: TestContext,
  node: string,
  setup: SidecarSetup & { readonly driver: Driver },
): Promise<RunningSidecar> {
  const { args = [], ...rest } = setup
  return await t.sidecar({ ...rest, args: ['--node-deployment', ...args], env: { NODE_NAME: node } })
}

/** Nodes of these names, each with its driver and its resizer, which is ready. */
export async function sites(t: TestContext, ...names: readonly string[]): Promise<readonly Site[]> {
  const user = await userWith(t, RULES)
  await t.create(STORAGE_CLASSES, storageClass(t.name('class'), t.driverName))
  return await Promise.all(
    names.map(async (name): Promise<Site> => {
      const node = t.name(name)
      await createNode(t, node)
      await register(t, node)
      const driver = await nodeDriver(t)
      const resizer = await startResizer(t, node, { driver, user })
      await t.watching(resizer, 'persistentvolumeclaims', 'persistentvolumes')
      return { node, driver, resizer }
    }),
  )
}

/** What a driver with this topology writes into its volumes. */
export function onNodes(t: TestContext, ...nodes: readonly string[]): NodeAffinity {
  return selecting(nodeKey(t), ...nodes)
}

export function selecting(key: string, ...values: readonly string[]): NodeAffinity {
  const matchExpressions = [{ key, operator: 'In', values: [...values] }]
  return { required: { nodeSelectorTerms: [{ matchExpressions }] } }
}

export function boundOn(t: TestContext, nodeAffinity: NodeAffinity, parts: BoundParts = {}): Promise<Bound> {
  return bound(t, { ...parts, pv: { ...parts.pv, ...(nodeAffinity && { nodeAffinity }) } })
}

/** The handles of the expanded volumes, sorted. */
export function expanded({ driver }: Pick<Site, 'driver'>): string[] {
  return driver
    .callsOf('ControllerExpandVolume')
    .map(({ request }) => String(request['volume_id']))
    .sort()
}

/** Deletes the volume at once, although its claim is bound. */
export async function removeVolume(t: TestContext, pv: string): Promise<void> {
  await t.api.delete(PERSISTENT_VOLUMES, { name: pv })
  await t.api.merge(PERSISTENT_VOLUMES, { name: pv }, { metadata: { finalizers: null } }).catch(() => undefined)
  await t.api.untilGone(PERSISTENT_VOLUMES, { name: pv })
}

/** Creates the volume of this claim again, on another node. */
export async function recreateOn(t: TestContext, { pvc, pv }: Bound, nodeAffinity: NodeAffinity): Promise<void> {
  const { spec } = await getVolume(t, pv)
  await removeVolume(t, pv)
  const uid = (await t.api.get(PERSISTENT_VOLUME_CLAIMS, { namespace: t.namespace, name: pvc })).metadata?.uid
  const claimRef = { ...spec?.claimRef, uid, resourceVersion: undefined }
  const again = volume(pv, t.driverName, { storageClassName: t.name('class'), claimRef, nodeAffinity })
  await t.api.create(PERSISTENT_VOLUMES, again)
}
