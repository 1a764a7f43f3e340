import { CSI_STORAGE_CAPACITIES } from '@csi-sidecars/kube-types'
import { type AppParts, cacheOf, FATAL, StartError } from '@csi-sidecars/sidecar'
import type { DriverNames } from '../caches/names.ts'
import type { ProvisionerCaches } from '../caches/open.ts'
import { CapacityItems, OBJECTS_BY_ITEM, type SegmentSource } from './items.ts'
import { managerName } from './manager-name.ts'
import { type CapacitySettings, capacityProjection, DRIVER_LABEL, MANAGER_LABEL } from './object.ts'
import { lookUpOwner } from './owner.ts'
import type { CapacityParts } from './run.ts'

/** The flags and the parts of the process that the publication of capacities needs. */
export interface OpenCapacity
  extends Pick<AppParts, 'env' | 'caches' | 'client' | 'metrics' | 'clock' | 'log' | 'signal'> {
  readonly values: {
    readonly 'capacity-for-immediate-binding': boolean
    readonly 'capacity-ownerref-level': number
    readonly 'capacity-poll-interval': number
    readonly 'capacity-threads': number
    readonly 'kube-api-capacity-burst': number
    readonly 'kube-api-capacity-qps': number
  }
  readonly explicitFlags: ReadonlySet<string>
  readonly names: DriverNames
  /** The node of this process with `--node-deployment`. Undefined otherwise. */
  readonly node: string | undefined
  readonly segments: SegmentSource
  readonly classes: ProvisionerCaches['classes']
}

/** Looks up the owner of CSIStorageCapacity objects, and opens their cache and metrics. Throws StartError. */
export async function openCapacity(options: OpenCapacity): Promise<CapacityParts> {
  const { names, segments, classes, caches, metrics, clock } = options
  const settings = await settingsOf(options)
  // RBAC roles allow CSIStorageCapacity objects in one namespace only, so other sidecars cannot share this watch.
  const objects = caches.create({
    resource: CSI_STORAGE_CAPACITIES,
    namespace: settings.namespace,
    labelSelector: `${DRIVER_LABEL}=${settings.driverName},${MANAGER_LABEL}=${settings.managedBy}`,
    project: capacityProjection(settings),
    indexes: { [OBJECTS_BY_ITEM]: ({ itemKey }) => [itemKey] },
    resyncMs: 0,
  })
  caches.add(cacheOf('CSIStorageCapacities', objects, clock))
  const items = new CapacityItems({ classes, segments, objects, names, immediate: settings.immediate })
  items.registerMetrics(metrics)
  return { settings, items, objects, segments }
}

async function settingsOf(options: OpenCapacity): Promise<CapacitySettings> {
  const { values, explicitFlags, env, names, node } = options
  const namespace = env['NAMESPACE'] ?? ''
  if (namespace === '') {
    throw new StartError('need NAMESPACE env variable for CSIStorageCapacity objects', { exitCode: FATAL })
  }
  const isLimited = explicitFlags.has('kube-api-capacity-qps') || explicitFlags.has('kube-api-capacity-burst')
  return {
    driverName: names.driver,
    managedBy: managerName(node),
    owner: await lookUpOwner(options, namespace),
    namespace,
    threads: values['capacity-threads'],
    pollMs: values['capacity-poll-interval'],
    immediate: values['capacity-for-immediate-binding'],
    limits: isLimited ? { qps: values['kube-api-capacity-qps'], burst: values['kube-api-capacity-burst'] } : undefined,
  }
}
