import type { Clock } from '@csi-sidecars/base'
import { type Backlog, type Controller, failureLog, presentKey, type Waker, wakeOn } from '@csi-sidecars/controller'
import type { Driver } from '@csi-sidecars/csi'
import type { Recorder } from '@csi-sidecars/events'
import type { KubeClient } from '@csi-sidecars/kube-client'
import { namespacedRef } from '@csi-sidecars/kube-types'
import { type Logger, objectRef } from '@csi-sidecars/telemetry'
import type { FifoOrder } from '@csi-sidecars/workqueue'
import type { Informers } from './caches/open.ts'
import type { ResizerClaimDeps } from './claim/run.ts'
import type { ResizerWakeKind } from './claim/wake-events.ts'

/** The command line of the resizer. Times are in milliseconds. */
export interface ResizerSettings {
  readonly driverName: string
  readonly workers: number
  readonly retryStartMs: number
  readonly retryMaxMs: number
  /** The deadlines of one expansion and of one modification. */
  readonly resizeTimeoutMs: number
  readonly modifyTimeoutMs: number
  readonly handleInUse: boolean
  readonly annotateFsResize: boolean
  readonly extraMetadata: boolean
  /** True with `--node-deployment`. A volume that is not cached then belongs to another node. */
  readonly nodeDeployment: boolean
}

/** The parts of the resizer that all its controllers share. */
export interface ResizerParts extends Informers {
  readonly settings: ResizerSettings
  /** The part of the driver that expands volumes. Undefined: no volume is expanded. */
  readonly expands: 'driver' | 'node' | undefined
  readonly client: KubeClient
  readonly driver: Driver
  readonly recorder: Recorder
  /** The pending work of this process. */
  readonly backlog: Backlog
  readonly clock: Clock
  readonly log: Logger
}

/** The dependencies of the controllers of a leader. After a lost Lease, their clients refuse writes and calls. */
export interface ResizerTerm extends ResizerParts {
  readonly assertLeading: () => void
  /** The dependencies that the resize controller and the modify controller share. */
  readonly claimDeps: Omit<ResizerClaimDeps, 'notifyCallStarted'>
  /**
   * The order of each controller's queue. If one controller calls the driver for a claim, the claim moves to the front
   * of the other queue. So both calls for a claim run together even if thousands of claims wait.
   */
  readonly orders: { readonly resize: FifoOrder; readonly modify: FifoOrder }
}

/** Returns the queue name in metrics. Both controllers use the same name, so that their numbers are added up. */
export function queueName(driverName: string): string {
  return `${driverName}-pvc`
}

/** Returns the options that the resize controller and the modify controller share. */
export function claimController(
  { settings, log }: ResizerTerm,
  order: FifoOrder,
): Pick<Controller, 'name' | 'workers' | 'order' | 'backoff' | 'onFailure' | 'onEnd'> {
  const { driverName, retryStartMs, retryMaxMs } = settings
  return {
    name: queueName(driverName),
    workers: order.capacity,
    order,
    backoff: { baseMs: retryStartMs, maxMs: retryMaxMs },
    onFailure: (key, cause) =>
      failureLog(cause, log)?.error(cause, 'Error syncing PVC', { PVC: objectRef(namespacedRef(key)) }),
    onEnd: () => log.info('Shutting down external resizer', { controller: driverName }),
  }
}

/** Wakes a waiting claim when its PersistentVolume is created or changed. */
export function volumeWaker({ volumes }: Pick<Informers, 'volumes'>): Waker<ResizerWakeKind> {
  const source = wakeOn(volumes, (event) => presentKey(event).map((name) => ({ kind: 'volume', name }) as const))
  return { object: 'PersistentVolume', reason: 'VolumeNotUsable', source }
}
