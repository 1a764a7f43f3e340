import { CSI_NODES, NODES, PERSISTENT_VOLUMES, type PersistentVolume } from '@csi-sidecars/kube-types'
import { FACTS } from '@csi-sidecars/sidecars/facts'
import { csiNode, volume } from '../../harness/api/objects.ts'
import { userWith } from '../../harness/api/user.ts'
import type { RunningSidecar, SidecarSetup, TestContext } from '../../harness/context.ts'
import type { Driver } from '../../harness/driver/driver.ts'
import { type Bound, type BoundParts, bound, getClaim, getVolume } from '../resizer/scene.ts'

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
  await t.create(CSI_NODES, csiNode(node, { [t.driverName]: node }, [nodeKey(t), zoneKey(t)]))
}

export function nodeDriver(t: TestContext): Promise<Driver> {
  return t.driver({ controller: ['EXPAND_VOLUME', 'MODIFY_VOLUME'] })
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
  await t.createClass()
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

/** Returns the node affinity that a driver with this topology writes into its volumes. */
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

/** Creates the volume of this claim again, on another node. */
export async function recreateOn(t: TestContext, { pvc, pv }: Bound, nodeAffinity: NodeAffinity): Promise<void> {
  const { spec } = await getVolume(t, pv)
  await t.strip(PERSISTENT_VOLUMES, { name: pv })
  const uid = (await getClaim(t, pvc)).metadata?.uid
  const claimRef = { ...spec?.claimRef, uid, resourceVersion: undefined }
  const again = volume(pv, t.driverName, { storageClassName: t.name('class'), claimRef, nodeAffinity })
  await t.api.create(PERSISTENT_VOLUMES, again)
}
